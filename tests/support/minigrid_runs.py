"""Native MiniGrid beside minigrid: what to run, who plays, and that all results are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from tests.support.pairs import pair
from tests.support.same import assert_same

LEFT, RIGHT, FORWARD, PICK, DROP, TOGGLE, DONE = range(7)


@dataclass(frozen=True)
class Case:
    """What to make, and how long to run it."""

    id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 150
    num_envs: int = 4

    def __str__(self) -> str:
        return "-".join([self.id, *(f"{k}={v}" for k, v in self.options.items())])


class Player:
    """Acts so that doors open, things are picked up, and episodes end: half of the time at random,
    the other half by what minigrid's environments have in front of the agent."""

    def __init__(self, envs: Any, seed: int) -> None:
        self._envs, self._rng = envs, np.random.default_rng(seed)
        self._most = int(envs.single_action_space.n)

    def actions(self) -> Any:
        return np.array([self._action(env.unwrapped) for env in self._envs.envs]) % self._most

    def _action(self, env: Any) -> int:
        if self._rng.random() < 0.4:
            return int(self._rng.choice([LEFT, RIGHT, FORWARD, FORWARD, PICK, DROP, TOGGLE]))
        if self._rng.random() < 0.03:
            return DONE
        front = env.grid.get(*env.front_pos)
        if front is None:
            rare = env.carrying and self._rng.random() < 0.1
            return DROP if rare else self._rng.choice([FORWARD, FORWARD, FORWARD, LEFT, RIGHT])
        if front.type == "goal":
            return FORWARD
        if front.type == "door":
            return FORWARD if front.is_open else TOGGLE
        if front.type == "box":
            return int(self._rng.choice([TOGGLE, PICK, LEFT]))
        if front.can_pickup():
            return PICK if env.carrying is None else int(self._rng.choice([LEFT, RIGHT]))
        return int(self._rng.choice([LEFT, RIGHT]))


def as_arrays(value: Any) -> Any:
    """Returns a result whose Python ints are NumPy's: minigrid's directions are either."""
    if type(value) is dict:
        return {key: as_arrays(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(as_arrays, value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        found: Any = np.full(len(value), None, object)
        for i, each in enumerate(value):
            found[i] = as_arrays(each)
        return found
    return np.int64(value) if type(value) is int else value


def assert_same_run(
    case: Case,
    mode: AutoresetMode,
    seed: Any = 21,
    player: Callable[[Any, int], Any] = Player,
    **more: Any,
) -> float:
    """Returns the sum of all rewards."""
    total = 0.0
    vector_kwargs = {"autoreset_mode": mode}
    with pair(case.id, case.num_envs, vector_kwargs=vector_kwargs, **more, **case.options) as both:
        theirs, ours = both
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
        acts = player(theirs, 3)
        for step in range(case.steps):
            actions = acts.actions()
            expected = as_arrays(theirs.step(actions))
            assert_same(ours.step(actions), expected, f"step {step}")
            total += expected[1].sum()
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                mask = {"reset_mask": ended}
                again = theirs.reset(options=dict(mask))
                assert_same(ours.reset(options=dict(mask)), again, f"reset at {step}")
    return total
