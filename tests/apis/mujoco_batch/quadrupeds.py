"""A task that uses what a task can, on the quadruped of the robots' tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parallel_pool.mujoco_batch import Task

MODEL = Path(__file__).parents[2] / "families" / "robots" / "quadruped.xml"
FRAME_SKIP, LIMIT = 4, 25
GAIN, PUSH, LOW = 0.2, 20.0, 0.309


class Quadrupeds(Task):
    """Runs along x, with a payload, friction and gains of its own, pushes, and delayed actions."""

    model, frame_skip, max_episode_steps = MODEL, FRAME_SKIP, LIMIT
    own: Mapping[str, Sequence[int]] = {"x": (), "late": (8,), "push": (3,)}
    varies = ("body_mass", "geom_friction", "actuator_gainprm")
    diverged_reward = -5.0

    def prepare(self, batch: Any) -> None:
        self.torso = batch.model.body("torso").id
        self.touch = batch.bind("sensordata")

    def act(self, batch: Any, actions: Any) -> None:
        self.x[:] = batch.qpos[:, 0]
        batch.ctrl[...] = self.late
        self.late[:] = actions
        # of an output: it is that of the last call
        batch.xfrc_applied[:, self.torso, :3] = self.push * (self.touch[:, :1] > 0)

    def observe(self, batch: Any) -> Any:
        seen = np.concatenate([batch.qpos[:, 2:], batch.qvel, self.touch], axis=1)
        return {"seen": seen.astype(np.float32), "late": self.late}

    def reward(self, batch: Any) -> Any:
        return batch.qpos[:, 0] - self.x

    def terminated(self, batch: Any) -> Any:
        return batch.qpos[:, 2] < LOW

    def vary(self, batch: Any, ids: Any, rng: Any) -> None:
        batch.expand("body_mass")[ids, self.torso] += rng.uniform(0, 2)
        batch.expand("geom_friction")[ids, :, 0] *= rng.uniform(0.5, 2)[:, None]
        batch.expand("actuator_gainprm")[ids, :, 0] *= rng.uniform(1 - GAIN, 1 + GAIN, 8)

    def reset_worlds(self, batch: Any, ids: Any, rng: Any) -> None:
        batch.qpos[ids, 7:] += rng.uniform(-0.1, 0.1, 8)
        batch.qvel[ids] += rng.normal(0, 0.1, 14)
        self.push[ids] = rng.uniform(-PUSH, PUSH, 3)

    def infos(self, batch: Any) -> Any:
        return {"mass": batch.expand("body_mass")[:, self.torso]}
