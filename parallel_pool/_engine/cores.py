"""Cores: how many of the machine's the pools of this process may keep busy."""

from __future__ import annotations

from parallel_pool._engine.arguments import check_count
from parallel_pool._native import lib


def limit_cores(count: int) -> None:
    """Limits the cores of pools that this process makes from now on.

    For a process that shares its machine with others by agreement, as the actors of a cluster do:
    affinity and control groups, which pools see themselves, do not tell them of it. By default a
    pool then uses at most `count` threads or worker processes, and its threads spin, instead of
    sleeping, only while at most `count` of them are awake. Threads are not pinned to cores.

    Args:
        count: cores; 0 for all that affinity and control groups leave.

    Raises:
        TypeError, ValueError: count is not an integer from 0 on.

    Example:
        >>> parallel_pool.limit_cores(1)
        >>> with parallel_pool.Pool("CartPole-v1", 64) as pool:
        ...     pool.num_threads
        1
        >>> parallel_pool.limit_cores(0)
    """
    lib.pp_limit_cores(check_count("count", count, 0))
