"""Pool arguments: checks of the arguments that only a pool of worker processes takes."""

from __future__ import annotations

import itertools
import math
import numbers
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from parallel_pool._engine.arguments import MAX_ENVS, a_type, check_count, quote, seconds
from parallel_pool._workers.data.messages import NamedFunction
from parallel_pool._workers.start import process_fd
from parallel_pool.errors import PoolError

# most functions that an iterable without a length may yield, and most worker processes
MAX_YIELDED = MAX_WORKERS = 1 << 16
# smallest default of start_timeout, in seconds, for a pool with a timeout
START_TIMEOUT = 60.0


def check_timeouts(timeout: float | None, start: float | None) -> tuple[float | None, float | None]:
    """Returns timeout and start_timeout, None for no limit; raises TypeError or ValueError."""
    for name, value in (("timeout", timeout), ("start_timeout", start)):
        if isinstance(value, numbers.Real) and not value > 0:
            raise ValueError(
                f"{name}={quote(value)}: choose more than 0 seconds, or None for no limit"
            )
    timeout, start = seconds(timeout), seconds(start, "start_timeout")
    if timeout == math.inf:
        timeout = None
    if start is None and timeout is not None:
        start = max(START_TIMEOUT, timeout)
    return timeout, None if start == math.inf else start


def check_local(**options: Any) -> None:
    """Raises ValueError for an option that needs worker processes, of a pool without any."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"{name}={quote(value)} is for worker processes, and num_workers=0 has none: leave"
                f" {name} out, or choose num_workers >= 1"
            )


def check_branches(num_workers: int, num_envs: int) -> None:
    """Raises an exception if the workers of a pool can't branch.

    Raises:
        ValueError: environments share workers.
        PoolError: the system lacks what branches need.
    """
    if num_workers != num_envs:
        raise ValueError(
            f"max_branches, with num_workers={num_workers} for {num_envs} environments: a branch is"
            " a copy of a worker process, so let each environment have its own"
        )
    if not process_fd.HAS_PIDFD or not os.path.exists("/proc/self/stat"):
        raise PoolError(
            "max_branches: branches need Linux 5.3 or newer, with pidfds and /proc: leave it out"
        )


def check_prepared(num_workers: int, num_envs: int, episode_seeds: bool, max_branches: int) -> None:
    """Raises an exception if the resets of a pool can't be prepared.

    Raises:
        ValueError: another argument does not go with it.
        PoolError: the system lacks what it needs.
    """
    if not episode_seeds:
        raise ValueError(
            "prepare_resets=True without episode_seeds=True: an episode can be begun early only if"
            " its seed does not depend on the episode before it. Give both; with episode_seeds=True"
            " alone results are the same"
        )
    if num_workers != num_envs:
        raise ValueError(
            f"prepare_resets=True, with num_workers={num_workers} for {num_envs} environments: let"
            f" each have a worker: num_workers={num_envs}, or leave num_workers out"
        )
    if max_branches:
        raise ValueError(
            f"prepare_resets=True, with max_branches={max_branches}: leave one of them out"
        )
    if not sys.platform.startswith("linux"):
        raise PoolError("prepare_resets=True needs Linux: leave it out")


def listed(env_fns: Any) -> list[Any]:
    """Returns env_fns as a list; refuses an iterable that may never end.

    Raises:
        TypeError: env_fns is not iterable.
        ValueError: there are too many functions.
    """
    try:
        count = len(env_fns) if hasattr(env_fns, "__len__") else None
        functions = iter(env_fns)
    except TypeError:
        raise TypeError(
            f"env_fns={quote(env_fns)} is {a_type(env_fns)}: give a list of functions"
        ) from None
    if count is not None:
        check_count("num_envs", count or 1, 1, MAX_ENVS)
        return list(functions)
    fns = list(itertools.islice(functions, MAX_YIELDED + 1))
    if len(fns) > MAX_YIELDED:
        raise ValueError(
            f"env_fns is {a_type(env_fns)} that yields more than {MAX_YIELDED} functions,"
            " perhaps without end: give a list"
        )
    return fns


def function_of(fn: Any) -> Any:
    """Returns the function that a name, "module:function", stands for; anything else as it is."""
    if isinstance(fn, str) and re.fullmatch(r"[\w.]+:\w+", fn):
        return NamedFunction(fn)
    return fn


def check_functions(env_fns: Any) -> list[Callable[[], Any]]:
    """Returns env_fns as a list of functions; raises TypeError or ValueError."""
    fns = [function_of(fn) for fn in listed(env_fns)]
    if not fns:
        raise ValueError("env_fns is empty: give one function for each environment")
    for i, fn in enumerate(fns):
        if not callable(fn):
            raise TypeError(
                f"env_fns[{i}]={quote(fn)} is {a_type(fn)}: give functions that make an"
                " environment, such as lambda: gymnasium.make('CartPole-v1')"
            )
    return fns
