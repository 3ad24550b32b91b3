"""PlayerBatches: batches of a pool of native environments as arrays of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common.vector_infos import of_last_steps
from parallel_pool._apis.gymnasium.infos import VectorInfos
from parallel_pool._apis.pettingzoo.failures import without_failed
from parallel_pool._engine.buffers import engine_indices

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._apis.pettingzoo.players import PlayerColumns
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Batch, Pool
    from parallel_pool.errors import EnvError


class PlayerBatches:
    """Converts batches of one pool, each of which may hold any of its environments."""

    def __init__(self, pool: Pool, columns: PlayerColumns, mode: AutoresetMode) -> None:
        """
        Args:
            pool: with rewards of float64.
            columns: of the pool.
            mode: of the pool.
        """
        self._columns = columns
        self._restarts = mode is AutoresetMode.SAME_STEP
        self._infos = VectorInfos(pool.spec, pool.columns)
        self._engine = engine_indices(pool.columns)
        self._finals = [i for i, column in enumerate(pool.columns) if column.is_final]

    def arrays(self, batch: Batch, live: Array) -> AgentArrays:
        """Returns the arrays of a batch.

        Args:
            batch: of the pool.
            live: bool (num_envs, k): which agents of all environments acted before.
        """
        env_ids, rewards, terminated, truncated, elapsed = (
            batch[self._engine[name]]
            for name in ("env_id", "reward", "terminated", "truncated", "elapsed_step")
        )
        ended = terminated | truncated
        infos = self._infos.of_step(batch, (elapsed == 0) | (ended & self._restarts))
        if self._restarts and ended.any():
            last = self._observations(batch, self._finals[0])
            infos |= of_last_steps(last, ended, self._infos.of_ends(batch, ended))
        return self._columns.arrays(
            self._observations(batch, 0),
            rewards,
            terminated,
            truncated,
            infos,
            env_ids,
            live[env_ids],
            restarts=self._restarts,
        )

    def of_failure(self, failure: EnvError, live: Array) -> AgentArrays:
        """Returns the arrays of a failure's batch; `live` as for `arrays`."""
        return without_failed(self.arrays(failure.batch, live), failure.env_ids)

    def _observations(self, batch: Any, first: int) -> Any:
        """Returns the observations in the columns from `first` on: an array, or a dict of them."""
        keys = self._columns.keys
        if len(keys) == 1:
            return batch[first]
        return {key: batch[first + i] for i, key in enumerate(keys)}
