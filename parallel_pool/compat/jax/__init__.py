"""JAX: a pool's calls as functions for jitted programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.jax.programs import Functions as Functions
    from parallel_pool.compat.jax.programs import xla as xla

__getattr__, __dir__ = lazy(
    __name__,
    {"Functions": f"{__name__}.programs", "xla": f"{__name__}.programs"},
)
