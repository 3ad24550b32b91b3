"""Checks of whether a pool can do what a call asks of it, for pools and for the APIs on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._engine.seeds import Seed


def check_usable(pool: BasePool) -> None:
    """Raises if the pool is closed, broken or forked: this comes before other errors."""
    status = lib.pp_pool_needs_reset(pool._handle, 0)
    if status in (lib.PP_ERR_FORKED, lib.PP_ERR_CLOSED, lib.PP_ERR_BROKEN):
        check(lib.pp_pool_get_state(pool._handle, 0, ffi.NULL, 0, error_slot.raw))


def check_idle(pool: BasePool) -> None:
    """Raises if another thread is receiving or stepping, or the pool can't be used."""
    check_usable(pool)
    if pool._is_busy():
        pool._raise_busy()


def check_reset(pool: BasePool, env_ids: Any = None, *, seed: Seed, options: Any) -> None:
    """Raises what these arguments of a reset would raise in any state of the pool."""
    check_usable(pool)
    pool._reset_sender(env_ids, seed, options)
