"""What a player plays, a `Task`, and who may play it: a `Contender`, a library used in one way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parallel_pool._bench.rounds import Player

# Number of rows of actions; they are drawn beforehand, and all players repeat them.
ROWS = 128


@dataclass(frozen=True)
class Task:
    """The environments to step, and the setting.

    Attributes:
        task_id: the name in parallel_pool and EnvPool.
        batch_size: rows of one result; synchronous if it equals num_envs.
        num_threads: number of threads that step.
        num_actions: of a Discrete action space; 0 for a Box.
        max_episode_steps: the time limit, in agent steps.
        frame_skip: frames of one agent step; 1 without frames.
        action_size: size of a one-dimensional Box; 0 for a Discrete space.
        action_bound: the Box has values from -action_bound to action_bound.
    """

    task_id: str
    num_envs: int
    batch_size: int
    num_threads: int
    num_actions: int
    max_episode_steps: int
    frame_skip: int = 1
    action_size: int = 0
    action_bound: float = 1.0

    @property
    def is_async(self) -> bool:
        """Whether a result holds only the environments that finished first."""
        return self.batch_size < self.num_envs

    @property
    def game(self) -> str:
        """The game's name: "Pong" of "Pong-v5"."""
        return self.task_id.rpartition("-")[0]

    @property
    def is_atari(self) -> bool:
        """Whether it is an Atari game."""
        return self.frame_skip > 1

    @property
    def is_mujoco(self) -> bool:
        """Whether it is a MuJoCo task."""
        from parallel_pool._engine import registry

        return registry.find(self.task_id).family == "mujoco"

    def all_actions(self) -> np.ndarray[Any, Any]:
        """Returns rows of num_envs uniform actions, the same for all players."""
        random, rows = np.random.default_rng(0), (ROWS, self.num_envs)
        if self.num_actions:
            return random.integers(self.num_actions, size=rows)
        # rounded to float32, as samples of a Box are, even for players that take float64
        bound = self.action_bound
        return random.uniform(-bound, bound, (*rows, self.action_size)).astype(np.float32)

    def actions(
        self, integer: type[np.integer[Any]], real: type[np.floating[Any]] = np.float32
    ) -> list[np.ndarray[Any, Any]]:
        """Returns rows of batch_size actions in the integer or floating type of an API."""
        dtype = integer if self.num_actions else real
        return [np.ascontiguousarray(row[: self.batch_size], dtype) for row in self.all_actions()]

    def settings(self) -> list[Task]:
        """Returns the settings among which a rival's best is chosen."""
        batches = sorted({max(1, self.num_envs // part) for part in (1, 2, 4)}, reverse=True)
        return [
            replace(self, num_threads=threads, batch_size=batch)
            for threads in (1, 2, 3)
            for batch in batches
        ]


@dataclass(frozen=True)
class Contender:
    """A library and one way to use it, to be measured.

    Attributes:
        name: the name in tables.
        family: "ours", or the family's name in --vs.
        make: makes the environments of a task, reset and ready to step.
        package: the package that must be installed.
        tunable: whether threads and batch size can be chosen.
        num_envs: fixed number of environments; 0 for the task's.
        num_threads: fixed number of threads; 0 for the task's.
        workers: returns the number of worker processes for a task; None if threads or the caller
            step the environments.
        parts: the batch size is always num_envs / parts; 0 for the task's batch size.
        needs: "module:name" that must be importable.
        folder: a separate folder that holds the package; the Makefile fills it.
    """

    name: str
    family: str
    make: Callable[[Task], Player]
    package: str
    tunable: bool
    num_envs: int = 0
    num_threads: int = 0
    workers: Callable[[Task], int] | None = None
    parts: int = 0
    needs: str = ""
    folder: str = ""

    def task(self, task: Task) -> Task:
        """Returns a scene's task with the fixed numbers of this contender."""
        if self.num_envs:
            task = replace(task, num_envs=self.num_envs)
        if self.num_threads:
            task = replace(task, num_threads=self.num_threads)
        return replace(task, batch_size=task.num_envs // self.parts) if self.parts else task

    @property
    def place(self) -> Path:
        """The path of the folder, if there is one."""
        return Path(sys.prefix) / self.folder


Maker = Callable[[Task], Player]

CONTENDERS: dict[str, Contender] = {}
# The functions that make the player in its own process, by the contender's name. For contenders
# that are not here, `Contender.make` does it.
MAKERS: dict[str, Maker] = {}


def maker(name: str) -> Maker:
    """Returns the function that makes a contender's player in the process that steps it."""
    return MAKERS.get(name) or CONTENDERS[name].make


def contender(
    name: str, family: str, *, package: str, tunable: bool = False, **facts: Any
) -> Callable[[Maker], Contender]:
    """Decorates a function that makes a player; the facts are attributes of `Contender`."""

    def register(make: Maker) -> Contender:
        CONTENDERS[name] = Contender(name, family, make, package, tunable, **facts)
        return CONTENDERS[name]

    return register
