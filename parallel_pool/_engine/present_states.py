"""Present states: what native environments show between their steps, and who has changed that."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.named_batch import NamedBatch, batch_class, field_names
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._engine.buffers import Array, Column
    from parallel_pool._engine.pool import Pool


class Restores:
    """The calls of a pool's `set_state`, after which the last results no longer show the states.

    Attributes:
        count: calls until now, also those that failed, as they may have changed environments.
    """

    __slots__ = ("_report", "count")

    def __init__(self) -> None:
        self.count = 0
        self._report: weakref.WeakMethod[Callable[[], None]] | None = None

    def report_to(self, method: Callable[[], None]) -> None:
        """Calls a method after each call that succeeds, as long as its object lives."""
        self._report = weakref.WeakMethod(method)

    def report(self) -> None:
        """Calls the method of `report_to`, if there is one."""
        method = None if self._report is None else self._report()
        if method is not None:
            method()


def restores_of(pool: BasePool) -> Restores:
    """Returns the calls of a pool's `set_state`; of pools that have no such method, none."""
    found: Restores = getattr(pool, "_restores", None) or Restores()
    return found


def have_states(pool: Pool) -> bool:
    """Returns whether all environments can go on: each was reset, or has a snapshot's state."""
    try:
        pool.observe()
    except StateError:
        return False
    return True


def find_resets(pool: Pool) -> Array:
    """Returns which environments the next step resets, or refuses, bool (n,).

    Raises:
        StateError: one of them is in flight.
    """
    return np.array([pool.needs_reset(env_id) for env_id in range(pool.num_envs)], np.bool_)


def observe_columns(
    pool: Pool, columns: Sequence[Column], env_ids: Sequence[int], *, skips: bool = False
) -> tuple[Array, ...]:
    """Returns what environments show now, (len(env_ids), *shape) for each column.

    Args:
        pool: of the environments.
        columns: those that are not the environments' present fields are zeros.
        env_ids: the environments.
        skips: whether environments in flight, and those without a state, have rows of zeros.

    Raises:
        StateError: an environment is in flight, or was never reset; not if it skips them.
    """
    arrays = tuple(np.zeros((len(env_ids), *it.shape), it.dtype) for it in columns)
    rows = ffi.new("void *[]", len(pool.spec.fields))
    for i, env_id in enumerate(env_ids):
        for column, array in zip(columns, arrays, strict=True):
            if column.field >= 0 and not column.is_final:
                rows[column.field] = ffi.from_buffer(array) + i * array[0].nbytes
        status = lib.pp_pool_observe(pool._handle, env_id, rows, error_slot.raw)
        if not skips or status != lib.PP_ERR_STATE:
            check(status)
    return arrays


def present_batch(pool: Pool) -> NamedBatch:
    """Returns the present states of all environments as a batch of steps that ended no episode.

    Rewards are 0, and so are the rows of environments that are in flight or have no state.
    """
    env_ids = range(pool.num_envs)
    arrays = observe_columns(pool, pool.columns, env_ids, skips=True)
    batch = batch_class(field_names(pool.columns))._make(arrays)
    batch.env_id[:] = env_ids
    # at 0 an episode would begin
    batch.elapsed_step[:] = 1
    return batch
