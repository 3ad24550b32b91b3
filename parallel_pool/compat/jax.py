"""JAX: a pool's calls as functions for jitted programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.jax.programs import Functions, xla

__all__ = ["Functions", "xla"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.jax.programs": (
            "Functions",
            "xla",
        )
    },
)
