"""Tasks in vectorised Python on `mujoco.batch`."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

from parallel_pool.mujoco_batch import BatchVecEnv, BatchVectorEnv, Task, WorldRandom, WorldView

Array = np.ndarray[Any, np.dtype[Any]]


class Robot(Task):
    """Its attributes and methods have the types of Task's."""

    model = "robot.xml"
    frame_skip = 4
    max_episode_steps = 100
    varies = ("body_mass",)
    diverged_reward = -1.0

    def observe(self, batch: Any) -> Array:
        return np.asarray(batch.qpos)

    def reward(self, batch: Any) -> Array:
        return np.asarray(batch.qvel[:, 0])

    def reset_worlds(self, batch: Any, ids: Array, rng: WorldRandom) -> None:
        assert_type(rng.uniform(-1, 1, (2, 3)), Array)
        assert_type(rng.integers(5), Array)
        assert_type(rng.standard_normal(3), Array)
        assert_type(rng.generators[0].random(), float)


envs = BatchVectorEnv(Robot, 8, num_threads=2, render_mode="rgb_array", width=64)
assert_type(envs.task, Task)
assert_type(envs.pool.get_state(), list[bytes])
envs.pool.set_state(envs.pool.get_state([0]), [1])
view = envs.view(3)
assert_type(view, WorldView)
view.update()
assert_type(view.is_open, bool)
vec = BatchVecEnv(Robot(), n_envs=8, seed=1)
assert_type(vec.envs, BatchVectorEnv)
