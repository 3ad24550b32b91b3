"""An environment that raises a StateError of its own: it has failed, and nothing was refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool.errors import NotResetError, StateError
from parallel_pool.turns import PolicyLoop


class Nested(gymnasium.Env[Any, Any]):
    """Raises once in an episode, as one does that steps a closed pool of its own."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    failures = 0

    def reset(self, **_: Any) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        if action and not self.failures:
            self.failures += 1
            raise StateError("its own pool is closed")
        return np.ones(1, np.float32), 1.0, False, False, {}


def make(rows: range) -> Any:
    return parallel_pool.PoolVectorEnv([Nested] * len(rows), num_workers=0)


def test_a_state_error_of_an_environment_is_a_failure() -> None:
    with PolicyLoop(make, 2, lambda seen: np.ones(len(seen), np.int64), depth=2) as loop:
        loop.reset(seed=1)
        for _ in range(2):
            with pytest.raises(StateError, match="its own pool"):
                list(loop.play(1))
            with pytest.raises(NotResetError):
                list(loop.play(1))
            loop.reset(only_failed=True)
        assert [turn.rewards.tolist() for turn in loop.play(1)] == [[1.0], [1.0]]
