"""Quadrupeds: a small robot with eight motors must walk as a command says, in vectorised Python.

The command is a velocity along the robot's own x axis and a rate of turn. It is drawn anew about
every four seconds. With `Randomised`, each episode has a friction, a payload and gains of its own,
and the robot is pushed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool.mujoco_batch import Task

MODEL = Path(__file__).parents[2] / "tests" / "families" / "robots" / "quadruped.xml"
FRAME_SKIP, SECONDS = 5, 10
# of the motors in rest, hip and knee of each leg; how far an action moves their targets
REST, REACH = np.tile([0.35, -0.7], 4), 0.5
# metres a second, radians a second
SPEEDS, TURNS = (0.0, 0.8), (-0.8, 0.8)
# probability that a step draws a new command, or a push
CHANGE = 0.005
ACTIONS = 8

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Ranges:
    """What differs between episodes: the least and the greatest value.

    Attributes:
        friction: factor of all sliding frictions.
        payload: kilogrammes on the trunk.
        gain: factor of the motors' gains.
        push: metres a second that a push adds, at most.
    """

    friction: tuple[float, float] = (1.0, 1.0)
    payload: tuple[float, float] = (0.0, 0.0)
    gain: tuple[float, float] = (1.0, 1.0)
    push: float = 0.0


class Quadrupeds(Task):
    """Follows commands; see the module."""

    model, frame_skip = MODEL, FRAME_SKIP
    max_episode_steps = SECONDS * 50
    action_space = spaces.Box(-1, 1, (ACTIONS,), np.float32)
    own: Mapping[str, Sequence[int]] = {"command": (2,), "action": (ACTIONS,), "before": (ACTIONS,)}
    varies = ("geom_friction", "body_mass", "actuator_gainprm", "actuator_biasprm")
    diverged_reward = -1.0

    def __init__(self, ranges: Ranges | None = None, seed: int = 0) -> None:
        """
        Args:
            ranges: what differs between episodes; None: nothing does.
            seed: of commands and pushes during episodes.
        """
        self.ranges = ranges or Ranges()
        self.rng = np.random.default_rng(seed)
        # a command for all worlds, of tests
        self.fixed: Array | None = None

    def prepare(self, batch: Any) -> None:
        model = batch.model
        self.torso = model.body("torso").id
        # where the robot stands with bent legs
        self.start = model.qpos0.copy()
        self.start[2], self.start[7:] = 0.29, REST

    # -------------------------------------------------------------------------------- steps --

    def act(self, batch: Any, actions: Array) -> None:
        self.before[:] = self.action
        self.action[:] = np.clip(actions, -1, 1)
        batch.ctrl[:] = REST + REACH * self.action
        count = batch.nsim
        if self.fixed is None:
            new = self.rng.random(count) < CHANGE
            self.command[new] = self.drawn(self.rng.random((int(new.sum()), 2)))
        if self.ranges.push:
            pushed = self.rng.random(count) < CHANGE
            size = self.ranges.push * (2 * self.rng.random((int(pushed.sum()), 2)) - 1)
            batch.qvel[pushed, :2] += size

    @staticmethod
    def drawn(numbers: Array) -> Array:
        """Returns commands (n, 2) for numbers (n, 2) from 0 to 1."""
        low, high = np.array([SPEEDS, TURNS]).T
        command: Array = low + (high - low) * numbers
        # a third of them stands still or walks straight on
        command[numbers[:, 1] < 1 / 6, 1] = 0
        command[numbers[:, 0] < 1 / 6] = 0
        return command

    def observe(self, batch: Any) -> Array:
        local = self.rotated(batch)
        seen = [
            *(local["velocity"], 0.25 * local["turn"], local["up"]),
            *(batch.qpos[:, 7:] - REST, 0.05 * batch.qvel[:, 6:], self.action, self.command),
        ]
        return np.concatenate(seen, axis=1).astype(np.float32)

    def reward(self, batch: Any) -> Array:
        local = self.rotated(batch)
        velocity, turn = local["velocity"], local["turn"]
        follows = np.exp(-np.square(velocity[:, 0] - self.command[:, 0]) / 0.12)
        turns = np.exp(-np.square(turn[:, 2] - self.command[:, 1]) / 0.25)
        sideways = np.square(velocity[:, 1:]).sum(axis=1)
        tilts = np.square(turn[:, :2]).sum(axis=1)
        jerks = np.square(self.action - self.before).sum(axis=1)
        effort = np.square(self.action).sum(axis=1)
        bonus = follows + 0.5 * turns
        cost = 0.5 * sideways + 0.02 * tilts + 0.01 * jerks + 0.01 * effort
        found: Array = bonus - cost
        return found

    def terminated(self, batch: Any) -> Array:
        up = self.rotated(batch)["up"][:, 2]
        fallen: Array = (up < 0.6) | (batch.qpos[:, 2] < 0.14)
        return fallen

    @staticmethod
    def rotated(batch: Any) -> dict[str, Array]:
        """Returns velocity, rate of turn and the direction upwards in the robot's own axes."""
        w, x, y, z = batch.qpos[:, 3:7].T
        # the columns of the rotation, of which each row of a result is a product
        axes = np.stack(
            [
                np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], 1),
                np.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], 1),
                np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], 1),
            ],
            axis=1,
        )
        return {
            "velocity": np.einsum("nij,nj->ni", axes, batch.qvel[:, :3]),
            # MuJoCo's is in the robot's axes
            "turn": batch.qvel[:, 3:6].copy(),
            "up": axes[:, :, 2],
        }

    # -------------------------------------------------------------------------------- resets --

    def vary(self, batch: Any, ids: Array, rng: Any) -> None:
        ranges = self.ranges
        batch.expand("geom_friction")[ids, :, 0] *= rng.uniform(*ranges.friction)[:, None]
        batch.expand("body_mass")[ids, self.torso] += rng.uniform(*ranges.payload)
        gain = rng.uniform(*ranges.gain)[:, None]
        batch.expand("actuator_gainprm")[ids, :, 0] *= gain
        batch.expand("actuator_biasprm")[ids, :, 1] *= gain

    def reset_worlds(self, batch: Any, ids: Array, rng: Any) -> None:
        batch.qpos[ids] = self.start
        batch.qpos[ids, 7:] += rng.uniform(-0.1, 0.1, ACTIONS)
        batch.qvel[ids] = rng.uniform(-0.1, 0.1, batch.model.nv)
        # whatever direction: a robot does not know where north is
        half = rng.uniform(-np.pi / 2, np.pi / 2)
        batch.qpos[ids, 3], batch.qpos[ids, 6] = np.cos(half), np.sin(half)
        self.command[ids] = self.drawn(rng.random(2)) if self.fixed is None else self.fixed
