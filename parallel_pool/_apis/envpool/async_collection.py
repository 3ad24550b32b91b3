"""AsyncCollection: one rollout of an asynchronous pool while it is collected."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.rollout_buffer import named_values
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.rollouts import count_batches
from parallel_pool._engine.trees import map_leaves, put_rows
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from parallel_pool._apis.common.rollout_storage import Recorded
    from parallel_pool._apis.envpool.sorted_storage import SortedStorage
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.named_batch import NamedBatch


class AsyncCollection:
    """One rollout while it is collected: which environments are in flight, and at which step."""

    def __init__(
        self,
        envs: Any,
        steps: int,
        policy: Callable[[Any, Array], Any],
        storage: SortedStorage,
        recorded: Recorded,
    ) -> None:
        """
        Args:
            envs: a `GymnasiumEnvPool`.
            steps: of each environment.
            policy: as of `AsyncRolloutBuffer.collect`.
            storage: for the rows of the pool.
            recorded: for what the policy returns.
        """
        self._envs, self._rows = envs, envs._rows
        self._pool: BasePool = envs.pool
        self._steps, self._num_envs = steps, envs.pool.num_envs
        self._policy = policy
        self._storage, self._recorded = storage, recorded
        # steps that each environment has made, -1: it has not shown its first observation
        self._made = np.full(self._num_envs, -1, np.intp)
        self._in_flight = self._pool.in_flight
        # how many batches the pool has delivered; None until the first, if some are in flight: an
        # exception may have lost that one after it was counted
        self._batches = None if self._in_flight else count_batches(self._pool)

    def run(self, observations: Any) -> int:
        """Lets each environment make its steps.

        Args:
            observations: of all environments; None if some are in flight.

        Returns:
            How many batches the pool has delivered now, if nobody else has received any.
        """
        self._storage.clear()
        try:
            if self._in_flight < self._num_envs:
                self._act_for_all(self._completed() if observations is None else observations)
            while self._in_flight:
                self._act_next()
        except Exception:
            # later calls would get these results as theirs
            with suppress(Exception):
                for _ in drain(self._pool):
                    pass
            raise
        assert self._batches is not None
        return self._batches

    def _completed(self) -> Any:
        """Receives what is in flight; returns the present observations of all environments."""
        while self._in_flight:
            self._receive()
        found = map_leaves(lambda array: array[0], self._storage.observations())
        others = np.flatnonzero(self._made < 0)
        put_rows(found, others, self._envs._observe(others))
        return found

    def _act_for_all(self, observations: Any) -> None:
        """Lets the policy act in environments all of which have shown these observations."""
        first = self._storage.begin(observations)
        self._made[:] = 0
        env_ids, size = np.arange(self._num_envs, dtype=np.int32), self._pool.batch_size
        for start in range(0, self._num_envs, size):
            part = slice(start, start + size)
            self._act(_rows_of(first, part), env_ids[part])

    def _act_next(self) -> None:
        """Receives a batch, and lets the policy act in those that have steps to make."""
        batch = self._receive()
        observations, env_ids = self._rows.observations(batch), batch.env_id
        left = np.flatnonzero(self._made[env_ids] < self._steps)
        if len(left) < len(env_ids):
            observations, env_ids = _rows_of(observations, left), env_ids[left]
        if len(left):
            self._act(observations, env_ids)

    def _receive(self) -> NamedBatch:
        """Receives a batch, or the rest if that is less, and stores its rows."""
        pool = self._pool
        try:
            if self._in_flight >= pool.batch_size:
                batch = pool.recv()
            else:
                batch = pool.recv(min_rows=self._in_flight).rows()
        except EnvError as error:
            found: Any = error.batch
            error.batch = self._rows.results(found.rows())
            raise
        env_ids = batch.env_id
        self._storage.put(self._made[env_ids], env_ids, batch)
        self._made[env_ids] += 1
        self._in_flight -= len(env_ids)
        self._batches = count_batches(pool) if self._batches is None else self._batches + 1
        return batch

    def _act(self, observations: Any, env_ids: Array) -> None:
        """Lets the policy act in environments with these observations."""
        # the policy may write to what it is given
        values = named_values(self._policy(observations, env_ids.copy()))
        self._envs.send(values["actions"], env_ids)
        self._in_flight += len(env_ids)
        steps, shape = self._made[env_ids], (self._steps, self._num_envs)
        for name, value in values.items():
            self._recorded.put_rows(name, steps, env_ids, value, shape)


def _rows_of(tree: Any, rows: Any) -> Any:
    return map_leaves(lambda array: array[rows], tree)
