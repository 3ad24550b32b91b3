"""JAX: a pool's calls as functions for jitted programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.jax.gymnax_env import EnvParams, EnvState, GymnaxEnv, make_gymnax
    from parallel_pool._apis.jax.programs import Functions, xla

__all__ = ["EnvParams", "EnvState", "Functions", "GymnaxEnv", "make_gymnax", "xla"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.jax.gymnax_env": (
            "EnvParams",
            "EnvState",
            "GymnaxEnv",
            "make_gymnax",
        ),
        "parallel_pool._apis.jax.programs": (
            "Functions",
            "xla",
        ),
    },
)
