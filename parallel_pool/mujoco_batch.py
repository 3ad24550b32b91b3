"""Tasks in vectorised Python on MuJoCo's own batches: `Task`, `BatchVectorEnv`, `BatchVecEnv`.

Needs MuJoCo 4.0 or newer: `pip install 'parallel_pool[mujoco-batch]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.mujoco_batch.task import Task
    from parallel_pool._apis.mujoco_batch.vector_env import BatchVectorEnv
    from parallel_pool._apis.mujoco_batch.world_random import WorldRandom
    from parallel_pool._apis.sb3.batch_vec_env import BatchVecEnv
    from parallel_pool._families.mujoco_viewer import WorldView

__all__ = ["BatchVecEnv", "BatchVectorEnv", "Task", "WorldRandom", "WorldView"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.mujoco_batch.task": ("Task",),
        "parallel_pool._apis.mujoco_batch.vector_env": ("BatchVectorEnv",),
        "parallel_pool._apis.mujoco_batch.world_random": ("WorldRandom",),
        "parallel_pool._apis.sb3.batch_vec_env": ("BatchVecEnv",),
        "parallel_pool._families.mujoco_viewer": ("WorldView",),
    },
)
