"""Results that an exception such as Ctrl-C has left in flight, and users who have no `recv`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.env_errors import env_error_of
from parallel_pool._engine.pool_checks import check_idle, check_reset
from parallel_pool.errors import NotResetError

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._engine.named_batch import NamedBatch
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.seeds import Seed

# begins the message of a step after a call that an exception ended
LOST = "an exception such as Ctrl-C ended the last call, whose results are lost"


def drain(pool: BasePool) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Receives what is in flight, batch by batch.

    Yields:
        A batch, and the ids of the environments that failed in it: no failure is raised.

    Raises:
        Exception: nothing could be received, as another thread does, for example.
    """
    while before := pool.in_flight:
        failed: tuple[int, ...] = ()
        # there may be fewer than a batch
        rows = min(before, pool.batch_size) if pool.is_async else None
        try:
            batch: Any = pool.recv(min_rows=rows)
        except Exception as error:
            failure = env_error_of(error)
            if pool.in_flight == before or failure is None:
                raise
            batch, failed = failure.batch, failure.env_ids
        yield batch, failed


def begin_again(
    pool: Pool, *, seed: Seed = None, options: Mapping[str, Any] | None = None
) -> NamedBatch:
    """Resets all environments and receives; drops what is in flight.

    If it is refused, nothing was dropped.
    """
    if pool.in_flight:
        check_reset(pool, seed=seed, options=options)
        for _ in drain(pool):
            pass
    return pool.reset(seed=seed, options=options)


def check_uninterrupted(pool: BasePool) -> None:
    """Raises if a step was left in flight, from where only a reset goes on, or as `check_idle`."""
    check_idle(pool)
    if pool.was_interrupted:
        raise NotResetError(f"{LOST}: call reset() first")
