"""SortedStorage: rollout memory to which rows are copied in the order in which they come."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.rollout_storage import checked_observations, make_log
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.frames import Stacks
from parallel_pool._engine.held import Held
from parallel_pool._engine.rollouts import check_room
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parallel_pool._engine.buffers import Array


class SortedStorage:
    """Memory of a rollout in which a row lies at its step and its environment, whenever it came.

    It has an array (steps + 1, num_envs, ...) for each of the pool's columns, so that each step is
    as a batch of all environments.
    """

    # how many of the first columns are stored elsewhere
    _num_elsewhere = 0

    def __init__(self, envs: Any, steps: int) -> None:
        """
        Args:
            envs: a `GymnasiumEnvPool`.
            steps: 1 or more.

        Raises:
            MemoryError: there is not so much memory.
        """
        columns = envs.pool.columns
        self._envs = envs
        self._steps = steps
        self._engine = engine_indices(columns)
        rows = steps + 1, envs.pool.num_envs
        shapes = [(*rows, *column.shape) for column in columns]
        shapes[: self._num_elsewhere] = [(*rows, 0)] * self._num_elsewhere
        made = list(zip(shapes, [column.dtype for column in columns], strict=True))
        check_room(sum(math.prod(shape) * kind.itemsize for shape, kind in made))
        self._memories = [Held(np.zeros(shape, kind)) for shape, kind in made]
        self._arrays = [memory.owner for memory in self._memories]
        for memory in self._memories:
            memory.settle()

    def is_free(self) -> bool:
        return all(memory.is_free() for memory in self._memories)

    def clear(self) -> None:
        """Forgets the rollout before."""

    def begin(self, observations: Any) -> Any:
        first = map_leaves(lambda array: array[0], self.observations())
        map_leaves(np.copyto, first, checked_observations(observations, first))
        return first

    def put(self, steps: Array, env_ids: Array, batch: Sequence[Array]) -> None:
        """Stores rows of the pool: what follows the steps of these numbers."""
        rows = (steps + 1, env_ids)
        for i in range(self._num_elsewhere, len(batch)):
            self._arrays[i][rows] = batch[i]

    def observations(self) -> Any:
        return map_leaves(np.ndarray.view, self._envs._observation_arrays(self._arrays))

    def column(self, name: str) -> Array:
        return self._arrays[self._engine[name]][1:]

    def finals(self) -> Any:
        return None

    def infos(self) -> list[dict[str, Any]]:
        """Returns the infos of each step, as a synchronous pool would return them."""
        build = self._envs._rows.results
        return [
            build(tuple([array[step] for array in self._arrays]))[4]
            for step in range(1, self._steps + 1)
        ]


class SortedFrameStorage(SortedStorage):
    """Such memory in which observations that are stacks of frames have each frame once."""

    _num_elsewhere = 1

    def __init__(self, envs: Any, steps: int) -> None:
        """
        Args:
            envs: a `GymnasiumEnvPool`.
            steps: 1 or more.

        Raises:
            ValueError: observations are no stacks of frames.
            MemoryError: there is not so much memory.
        """
        super().__init__(envs, steps)
        column, is_one = envs.pool.columns[0], len(envs.pool.spec.observations) == 1
        like = np.empty((envs.pool.num_envs, *column.shape), column.dtype) if is_one else None
        self._log = make_log(like, steps)
        self._frames = Held(self._log.frames)
        self._frames.settle()
        self.clear()

    def is_free(self) -> bool:
        return super().is_free() and self._frames.is_free()

    def clear(self) -> None:
        self._log.clear()
        # new ones, as users may hold the old ones
        shape = self._steps + 1, self._envs.pool.num_envs, self._log.stack
        self._places = np.zeros(shape, np.int32)

    def begin(self, observations: Any) -> Any:
        self._places[0] = self._log.put(observations)
        return observations

    def put(self, steps: Array, env_ids: Array, batch: Sequence[Array]) -> None:
        super().put(steps, env_ids, batch)
        self._places[steps + 1, env_ids] = self._log.put(batch[0], env_ids)

    def observations(self) -> Stacks:
        return Stacks(self._log, self._places)
