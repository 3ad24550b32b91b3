"""A small task on `mujoco.batch` for contract tests, and the same with an mjData of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium import spaces

from parallel_pool.mujoco_batch import Task
from tests.contract.small_envs import Gate

MODEL = """
<mujoco>
  <option timestep="0.05"/>
  <worldbody>
    <body>
      <joint name="x" type="slide" axis="1 0 0" damping="0.2"/>
      <geom size="0.1" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor joint="x" gear="4"/></actuator>
</mujoco>
"""
FRAME_SKIP, LIMIT, FAR = 3, 5, 0.55
ACTIONS = spaces.Discrete(3)


class Sliders(Task):
    """Pushes a body along x: far away an episode ends, and the fifth step cuts it."""

    model, frame_skip, max_episode_steps = MODEL, FRAME_SKIP, LIMIT
    action_space = ACTIONS
    own: Mapping[str, Sequence[int]] = {"before": (), "count": ()}
    knob = 0

    def __init__(self, gate: Gate | None = None) -> None:
        self.gate = gate

    def act(self, batch: Any, actions: Any) -> None:
        self.before[:] = batch.qpos[:, 0]
        self.count += 1
        batch.ctrl[:, 0] = actions

    def observe(self, batch: Any) -> Any:
        return np.concatenate([batch.qpos, batch.qvel, batch.xpos[:, 1, :1]], axis=1)

    def reward(self, batch: Any) -> Any:
        if self.gate is not None:
            self.gate.pass_through()
        return 1 + batch.qpos[:, 0] - self.before

    def terminated(self, batch: Any) -> Any:
        return (batch.qpos[:, 0] > FAR) & (self.count < LIMIT)

    def reset_worlds(self, batch: Any, ids: Any, rng: Any) -> None:
        if self.gate is not None:
            self.gate.pass_through()
        batch.qpos[ids, 0] = rng.uniform(0, 0.2)
        batch.qvel[ids, 0] = rng.normal(0, 0.1)


class Slider(gymnasium.Env[Any, Any]):
    """One world of `Sliders`, written for Gymnasium."""

    action_space = ACTIONS
    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)

    def __init__(self) -> None:
        self.model = mujoco.MjModel.from_xml_string(MODEL)
        self.data = mujoco.MjData(self.model)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.count = 0
        self.data.qpos[0] = 0.2 * self.np_random.random()
        self.data.qvel[0] = 0.1 * self.np_random.standard_normal()
        mujoco.mj_forward(self.model, self.data)
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = float(self.data.qpos[0])
        self.data.ctrl[0] = action
        mujoco.mj_step(self.model, self.data, FRAME_SKIP)
        self.count += 1
        is_far = self.data.qpos[0] > FAR and self.count < LIMIT
        return self._seen(), 1 + self.data.qpos[0] - before, is_far, self.count >= LIMIT, {}

    def _seen(self) -> Any:
        return np.concatenate([self.data.qpos, self.data.qvel, self.data.xpos[1, :1]])
