"""Sharing: lets compiled programs, which name pools by numbers, use a pool."""

from __future__ import annotations

from parallel_pool._engine.base_pool import BUSY, INTERRUPTED, SHARED, BasePool
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._native import ffi, lib


def is_shared(pool: BasePool) -> bool:
    """Returns whether compiled programs may use a pool."""
    return pool._keeper.number > 0


def is_used_by_programs(pool: BasePool) -> bool:
    """Returns whether compiled programs have made calls of a pool.

    Raises:
        ClosedError, ForkedError: compiled programs may use it, but it is closed, or belongs to
            another process.
    """
    if not is_shared(pool):
        return False
    # in a forked child C's lock may be held for ever
    check_usable(pool)
    return bool(lib.pp_xla_calls(pool._keeper.number))


def share(pool: BasePool) -> int:
    """Lets compiled programs use a pool; returns the number by which they name it.

    Raises:
        StateError: environments are in flight that another thread receives.
        ClosedError, ForkedError: the pool is closed, or belongs to another process.
    """
    check_usable(pool)
    keeper = pool._keeper
    if not keeper.number:
        if pool._receive_state == BUSY:
            pool._raise_busy()
        number = ffi.new("int32_t *")
        error = error_slot.raw
        if pool._ring.has_rollout:
            # an exception has ended it; programs know only blocks with memory of their own
            pool._ring.roll(None, ffi.NULL, (), error)
        was_interrupted = pool._receive_state == INTERRUPTED
        spare = pool._ring.share()
        try:
            check(lib.pp_xla_share(pool._handle, spare, number, error))
        finally:
            # after Ctrl-C too: a pool that is freed must not stay among those that programs may use
            if number[0]:
                keeper.number = number[0]
                pool._was_interrupted_beside = was_interrupted
                pool._receive_state = SHARED
        # another thread that has closed it since the check may not have seen the number
        if pool.closed:
            lib.pp_xla_unshare(keeper.number, 0)
            check_usable(pool)
    return keeper.number


def open_visits(pool: BasePool) -> int:
    """Makes a new pool one for compiled programs that bring the states of its environments.

    Returns:
        The least bytes of such a state: `pp_pool_open_visits` in pp_pool.h.

    Raises:
        StateError: the pool was used, or is not synchronous with autoreset="same_step".
        ValueError: its environments differ in their options.
    """
    size: int = lib.pp_pool_open_visits(pool._handle, error_slot.raw)
    check(min(size, 0))
    return size
