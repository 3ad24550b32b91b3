"""BatchVecEnv: a task in vectorised Python as a Stable-Baselines3 vector environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.vector import AutoresetMode

from parallel_pool._apis.mujoco_batch.vector_env import BatchVectorEnv
from parallel_pool._apis.sb3.batch import BatchBackend
from parallel_pool._apis.sb3.vec_env import PoolVecEnv
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._apis.mujoco_batch.task import Task


@public("mujoco_batch")
class BatchVecEnv(PoolVecEnv):
    """Many worlds of a `Task` on `mujoco.batch.Batch`, as a `VecEnv`.

    Attributes:
        num_envs: worlds.
        observation_space: of one world.
        action_space: of one world.
        envs: the `BatchVectorEnv` underneath.
        pool: what steps the worlds, for snapshots and statistics.
        backend: "process", as for all environments in Python.
        backend_reason: why it is that.

    Example:
        >>> class Balance(parallel_pool.mujoco_batch.Task):
        ...     model = gymnasium.__path__[0] + "/envs/mujoco/assets/inverted_pendulum.xml"
        ...     def observe(self, batch): return batch.qpos.copy()
        ...     def reward(self, batch): return np.cos(batch.qpos[:, 1])
        >>> envs = parallel_pool.mujoco_batch.BatchVecEnv(Balance, 4, seed=1)
        >>> envs.reset().shape
        (4, 2)
        >>> envs.close()
    """

    def __init__(
        self,
        task: Task | type[Task],
        num_envs: int = 1,
        *,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        """Makes the worlds.

        Args:
            task: a `Task`, or a class derived from it.
            num_envs: worlds.
            seed: the first reset seeds world i with seed + i, and the action space is seeded too.
                None: fresh entropy.
            options: further arguments of `BatchVectorEnv`.

        Raises:
            TypeError, ValueError: an argument is wrong.
            Exception: what `BatchVectorEnv` raises.
        """
        if "autoreset_mode" in options:
            raise TypeError("autoreset_mode: Stable-Baselines3 knows only SAME_STEP: leave it out")
        self.envs = BatchVectorEnv(
            task, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options
        )
        self._backend = BatchBackend(self.envs)
        self.backend, self.backend_reason = self.envs.backend, self.envs.backend_reason
        try:
            self._adopt(seed)
        except BaseException:
            self.envs.close()
            raise
