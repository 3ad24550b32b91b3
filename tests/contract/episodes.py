"""What an environment must return, episode by episode: a model of the autoreset modes.

The model plays one environment alone, through the API in which it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tests.support.same import assert_same

NEXT_STEP, SAME_STEP, DISABLED = "next_step", "same_step", "disabled"


class Row(NamedTuple):
    """What one environment returned; with several agents each value has an axis of agents."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    # of the episode that ended in this step, where the API adds it
    last_observation: Any = None


# by environment
Rows = dict[int, Row]


class Alone(Protocol):
    """One environment without an API that steps many."""

    def reset(self, seed: int | None = None) -> Any:
        """Begins an episode; returns the first observation."""

    def step(self, action: int) -> tuple[Any, Any, Any, Any]:
        """Returns the observation, reward, terminated and truncated."""


class AloneGymnasium:
    """One environment of Gymnasium's API."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def reset(self, seed: int | None = None) -> Any:
        return self._env.reset(seed=seed)[0]

    def step(self, action: int) -> tuple[Any, Any, Any, Any]:
        observation, reward, terminated, truncated, _ = self._env.step(action)
        return observation, reward, terminated, truncated


class AloneParallel:
    """One environment of PettingZoo's parallel API, all of whose agents act alike."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def reset(self, seed: int | None = None) -> Any:
        return self._stacked(self._env.reset(seed=seed)[0])

    def step(self, action: int) -> tuple[Any, Any, Any, Any]:
        found = self._env.step(dict.fromkeys(self._env.possible_agents, action))
        observation, reward, terminated, truncated = map(self._stacked, found[:4])
        return observation, reward, terminated, truncated

    def _stacked(self, by_agent: Mapping[Any, Any]) -> Any:
        return np.stack([by_agent[agent] for agent in self._env.possible_agents])


class AloneAtari:
    """An `AtariVectorEnv` of one environment, which is reset by hand."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def reset(self, seed: int | None = None) -> Any:
        return self._env.reset(seed=seed)[0][0]

    def step(self, action: int) -> tuple[Any, Any, Any, Any]:
        found = self._env.step(np.array([action]))
        observation, reward, terminated, truncated = (array[0] for array in found[:4])
        return observation, reward, terminated, truncated


@dataclass(frozen=True)
class Envs:
    """The environments of a case.

    Attributes:
        alone: makes one of them.
        is_python: whether they wait at the case's gate.
        are_only_truncated: whether no episode of a test terminates.
    """

    alone: Callable[[], Alone]
    is_python: bool = False
    are_only_truncated: bool = False


class Episodes:
    """The rows of one environment in an autoreset mode.

    Attributes:
        needs_reset: whether an episode is over that nothing but a reset goes on from.
        ends: the episodes that have ended, as (terminated, truncated).
    """

    def __init__(self, envs: Envs, mode: str) -> None:
        self._env, self._mode = envs.alone(), mode
        self._is_over = False
        self.ends: list[tuple[bool, bool]] = []

    @property
    def needs_reset(self) -> bool:
        return self._mode == DISABLED and self._is_over

    def reset(self, seed: int | None = None) -> Row:
        """Returns the row of a reset; without a seed the generator goes on."""
        self._is_over = False
        observation = self._env.reset(seed)
        return Row(observation, 0.0, False, False)

    def step(self, action: int) -> Row:
        """Returns the row of a step, which may be a reset that ignores the action."""
        assert not self.needs_reset
        if self._is_over:
            return self.reset()
        row = Row(*self._env.step(action))
        ended = bool(np.any(row.terminated)), bool(np.any(row.truncated))
        if not any(ended):
            return row
        self.ends.append(ended)
        if self._mode == SAME_STEP:
            return row._replace(observation=self._env.reset(), last_observation=row.observation)
        self._is_over = True
        return row


def assert_rows(actual: Rows, expected: Mapping[int, Row], where: str) -> None:
    """Fails unless these are rows of the same environments with the same values."""
    assert sorted(actual) == sorted(expected), where
    for i, row in actual.items():
        assert_row(row, expected[i], f"{where}: environment {i}")


def assert_row(actual: Row, expected: Row, where: str) -> None:
    """Fails unless the values are the same; numbers may have another dtype, observations not."""
    assert_same(actual.observation, expected.observation, f"{where}: observation")
    assert (actual.last_observation is None) == (expected.last_observation is None), where
    if actual.last_observation is not None:
        last = actual.last_observation, expected.last_observation
        assert_same(*last, f"{where}: last observation")
    for name in ("reward", "terminated", "truncated"):
        value, wanted = np.asarray(getattr(actual, name)), getattr(expected, name)
        wanted = np.broadcast_to(np.asarray(wanted).astype(value.dtype), value.shape)
        np.testing.assert_array_equal(value, wanted, f"{where}: {name}")
