"""Inspection: what a pool and its workers are doing, for tests and for people who debug.

This is the one module that reads the private state of pools, so that no test does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from parallel_pool._engine.arguments import a_type
from parallel_pool._engine.base_pool import BUSY, IDLE, INTERRUPTED, SHARED, BasePool
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._lazy import public
from parallel_pool._native import ffi, lib
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.watch.failures import Death
from parallel_pool._workers.watch.supervisor import Supervisor

STATES = {IDLE: "idle", INTERRUPTED: "interrupted", BUSY: "receiving", SHARED: "shared"}

# what holds the pool, or the environment that does: in PoolVectorEnv and most others `pool`
HOLDERS = ("pool", "envs")
# more than any environment has in a row
MAX_HOLDERS = 8


@public("testing")
@dataclass(frozen=True)
class Inspection:
    """A pool at the moment of `inspect`; lanes are numbered as worker processes are.

    Attributes:
        pool: the `Pool` or `ProcessPool` that steps the environments.
        state: "idle"; "receiving": a thread waits for a batch; "interrupted": an exception ended
            the last wait for one; "shared": compiled programs may use the pool; "closed".
        in_flight: environments that were sent an action or a reset and not yet received.
        stepping: ids of the environments that are in a step or reset now; of those that a thread
            steps in one call, all. Not those that the caller's own thread steps. A row may be
            received a moment before its step has ended.
        blocks: blocks of memory that it holds for batches, those of results that you keep included.
        worker_pids: process ids, by lane; None while a lane has no worker.
        deaths: by lane, how its last worker died.
        lost: by lane, why it has no worker any more and gets none.
        restarting: the lanes in which a worker that died is being replaced.
        locks: by the name of what they guard, the locks that calls of the pool and threads take; a
            test holds one to see what waits for it.

    Example:
        >>> import parallel_pool
        >>> with parallel_pool.Pool("CartPole-v1", 2) as pool:
        ...     pool.send_reset()
        ...     parallel_pool.testing.inspect(pool).in_flight
        2
    """

    pool: BasePool
    state: str
    in_flight: int
    stepping: tuple[int, ...]
    blocks: int
    worker_pids: tuple[int | None, ...]
    deaths: Mapping[int, Death]
    lost: Mapping[int, str]
    restarting: tuple[int, ...]
    locks: Mapping[str, AbstractContextManager[Any]] = field(repr=False)


def inspect(source: Any) -> Inspection:
    """Returns what a pool is doing, without disturbing it; usable from any thread.

    Rows of workers whose deaths are in the result are complete.

    Args:
        source: a pool of this package, or its environment of any API, wrapped or not.

    Raises:
        TypeError: source has no pool in this process.
        ForkedError: the pool belongs to the parent process.
    """
    pool = _pool_of(source)
    if lib.pp_pool_needs_reset(pool._handle, 0) == lib.PP_ERR_FORKED:
        # a thread of the parent process may hold the locks for ever
        check_usable(pool)
    supervisor = pool._supervisor if isinstance(pool, ProcessPool) else None
    with supervisor._lock if isinstance(supervisor, Supervisor) else contextlib.nullcontext():
        return Inspection(
            pool,
            "closed" if pool.closed else STATES[pool._receive_state],
            pool.in_flight,
            tuple(_stepping(pool)),
            len(pool._ring),
            pool.worker_pids,
            MappingProxyType(dict(supervisor.deaths) if supervisor else {}),
            MappingProxyType(dict(supervisor.lost) if supervisor else {}),
            tuple(sorted(supervisor._starters)) if isinstance(supervisor, Supervisor) else (),
            MappingProxyType(_locks(supervisor) if isinstance(supervisor, Supervisor) else {}),
        )


def _pool_of(source: Any) -> BasePool:
    """Returns the pool of an environment."""
    inner = source
    # objects may hold one another, and stand-ins have every attribute
    for _ in range(MAX_HOLDERS):
        if isinstance(inner, BasePool):
            return inner
        inner = getattr(inner, "unwrapped", inner)
        held = (getattr(inner, name, None) for name in HOLDERS)
        inner = next((each for each in held if each is not None), None)
    raise TypeError(
        f"{a_type(source)} has no pool in this process: give a Pool, a ProcessPool, or an"
        " environment that has one"
    )


def _stepping(pool: BasePool) -> Iterator[int]:
    """Yields the ids of environments that threads or workers are stepping."""
    if isinstance(pool, ProcessPool):
        for lane in range(pool.num_workers):
            current = lib.pp_pool_current_env(pool._handle, lane)
            if current >= 0:
                yield current
        return
    room = pool.num_envs
    first, count = ffi.new("int32_t[]", room), ffi.new("int32_t[]", room)
    for i in range(lib.pp_pool_stepping(pool._handle, first, count, room)):
        yield from range(first[i], first[i] + count[i])


def _locks(supervisor: Supervisor) -> dict[str, AbstractContextManager[Any]]:
    workers = enumerate(supervisor._workers)
    return {
        "supervisor": supervisor._lock,
        "watcher": supervisor._watcher._thread._lock,
        **{f"worker {lane}": worker._lock for lane, worker in workers if worker is not None},
    }
