"""Small Python environments for contract tests, which wait at a gate when a test wants that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from tests.support.timeouts import wait_for


class Gate:
    """A file that holds the steps and resets of Python environments while it exists.

    Attributes:
        folder: of the file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path, self._reached = folder / "gate", folder / "reached"

    def pass_through(self) -> None:
        """Called by the environment."""
        if self._path.exists():
            self._reached.touch()
            wait_for(lambda: not self._path.exists())

    @contextlib.contextmanager
    def held(self) -> Iterator[Callable[[], None]]:
        """Closes the gate; yields a function that waits until an environment is there."""
        self._reached.unlink(missing_ok=True)
        self._path.touch()
        try:
            yield lambda: wait_for(self._reached.exists)
        finally:
            self._path.unlink()


class Walker(gymnasium.Env[Any, Any]):
    """Adds up its actions: a sum of 3 in three steps ends an episode, a fourth step cuts it."""

    observation_space: ClassVar[Any] = spaces.Box(-1e6, 1e6, (3,), np.float64)
    action_space: ClassVar[Any] = spaces.Discrete(3)

    def __init__(self, gate: Gate | None = None) -> None:
        self.gate, self.knob = gate, 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if self.gate is not None:
            self.gate.pass_through()
        self.count, self.sum = 0, 0.0
        return self._seen(), {"options": len(options or {})}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.gate is not None:
            self.gate.pass_through()
        self.count += 1
        self.sum += float(np.sum(action))
        is_end, is_late = self.sum >= 3 and self.count < 4, self.count == 4
        return self._seen(), self.sum, is_end, is_late, {"count": self.count}

    def _seen(self) -> Any:
        return np.array([self.sum, self.count, self.np_random.random()])

    def twice(self, number: int) -> int:
        return 2 * number + self.knob


def walkers(gate: Gate) -> list[Any]:
    return [partial(Walker, gate)] * 3


class Talkers:
    """A PettingZoo parallel environment of two agents, made like `Walker`."""

    possible_agents: ClassVar[list[str]] = ["a", "b"]
    metadata: ClassVar[dict[str, Any]] = {}
    render_mode = None

    def __init__(self, gate: Gate | None) -> None:
        self.envs = {"a": Walker(gate), "b": Walker()}
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return Walker.observation_space

    def action_space(self, agent: str) -> Any:
        return Walker.action_space

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = self.possible_agents[:]
        found = {agent: env.reset(seed=seed) for agent, env in self.envs.items()}
        return {a: found[a][0] for a in found}, {a: found[a][1] for a in found}

    def step(self, actions: Mapping[str, Any]) -> Any:
        found = {agent: self.envs[agent].step(actions[agent]) for agent in self.agents}
        if any(result[2] or result[3] for result in found.values()):
            self.agents = []
        return tuple({agent: found[agent][i] for agent in found} for i in range(5))

    def state(self) -> Any:
        return np.zeros(2)

    def twice(self, number: int) -> int:
        return 2 * number

    def close(self) -> None:
        pass


def talkers(gate: Gate, count: int = 3) -> list[Any]:
    return [partial(Talkers, gate)] * count
