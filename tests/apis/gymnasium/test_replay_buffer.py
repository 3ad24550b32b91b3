"""ReplayBuffer: transitions with the bits that were stored, and only those that are there."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool.compat.gymnasium import ReplayBuffer
from parallel_pool.errors import NotResetError, StateError

NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP


def make(mode: AutoresetMode = NEXT, limit: int = 9) -> Any:
    return parallel_pool.PoolVectorEnv(
        "Pong-v5", 3, backend="native", autoreset_mode=mode, max_episode_steps=limit
    )


def key(observation: Any, action: Any) -> tuple[bytes, int]:
    return np.asarray(observation).tobytes(), int(action)


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=["next", "same"])
@pytest.mark.parametrize("capacity", [30, 90])
def test_samples_are_the_last_transitions(mode: AutoresetMode, capacity: int) -> None:
    with closing(make(mode)) as envs:
        envs.action_space.seed(2)
        before, _ = envs.reset(seed=1)
        buffer = ReplayBuffer(envs, capacity, seed=0)
        stored: list[list[tuple[Any, ...]]] = []
        ended = np.zeros(3, np.bool_)
        for number in range(70):
            actions = envs.action_space.sample()
            result = envs.step(actions)
            # every other time as a copy
            buffer.add(before if number % 9 else before.copy(), actions, result)
            after, rewards, terminated, truncated, infos = result
            row = []
            for i in range(3):
                following = infos["final_obs"][i] if "final_obs" in infos else None
                following = after[i] if following is None else following
                if not (mode is NEXT and ended[i]):
                    facts = (rewards[i], terminated[i], truncated[i])
                    row.append((before[i].copy(), actions[i], following.copy(), facts))
            stored.append(row)
            before, ended = after, terminated | truncated
        rows = 0
        while sum(map(len, stored[len(stored) - rows :])) < len(buffer):
            rows += 1
        known = [each for row in stored[len(stored) - rows :] for each in row]
        assert len(known) == len(buffer) <= capacity
        # resets store whole stacks, so some of the oldest are gone
        assert len(buffer) >= capacity // 3
        found = {(key(a, b), key(c, 0), facts) for a, b, c, facts in known}
        batch = buffer.sample(600)
        drawn = {
            (key(a, b), key(c, 0), facts)
            for a, b, c, *facts_list in zip(
                batch.observations,
                batch.actions,
                batch.next_observations,
                batch.rewards,
                batch.terminations,
                batch.truncations,
                strict=True,
            )
            for facts in [tuple(facts_list)]
        }
        assert drawn <= found
        assert len(drawn) > 0.9 * len(found)
        assert len({a for (a, _), _, _ in found}) > len(known) // 2


def test_collect_goes_on() -> None:
    with closing(make()) as envs, closing(make()) as twin:
        envs.reset(seed=1)
        twin.reset(seed=1)
        actions = np.array([2, 3, 2])
        one, other = ReplayBuffer(envs, 300, seed=0), ReplayBuffer(twin, 300, seed=0)
        before = twin.pool.observe()[0]
        for steps in (3, 1, 4):
            one.collect(lambda observations: actions, steps)
            for _ in range(steps):
                result = twin.step(actions)
                other.add(before, actions, result)
                before = result[0]
            envs.step(actions)
            before = twin.step(actions)[0]
        assert len(one) == len(other)
        first, second = one.sample(50), other.sample(50)
        for name in ("observations", "next_observations", "rewards", "actions"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_memory_of_a_million_transitions() -> None:
    with closing(make(limit=-1)) as envs:
        envs.reset(seed=1)
        buffer = ReplayBuffer(envs, 3000)
        buffer.add(envs.pool.observe()[0], np.zeros(3, np.int64), envs.step(np.zeros(3, np.int64)))
        # the frames of two more steps do not depend on the capacity
        extra = 2 * 3 * 5 * 84 * 84
        assert (buffer.nbytes - extra) / 3000 <= 7500


def test_samples_that_are_held_never_change() -> None:
    with closing(make()) as envs:
        envs.reset(seed=1)
        buffer = ReplayBuffer(envs, 300, seed=0)
        buffer.collect(lambda observations: np.array([2, 3, 2]), 40)
        held = []
        for number in range(8):
            batch = buffer.sample(8)
            one = batch.observations if number % 2 else batch.next_observations
            held.append((one, one.copy()))
        for one, copy in held:
            np.testing.assert_array_equal(one, copy)
        addresses = [buffer.sample(8).observations.ctypes.data for _ in range(6)]
        assert len(set(addresses)) == 1


def test_refusals() -> None:
    with closing(make()) as envs:
        buffer = ReplayBuffer(envs, 30)
        with pytest.raises(NotResetError):
            buffer.collect(lambda observations: np.zeros(3, np.int64), 2)
        with pytest.raises(StateError, match="no transitions"):
            buffer.sample(3)
        observations, _ = envs.reset(seed=1)
        result = envs.step([0, 0, 0])
        with pytest.raises(TypeError, match=r"step\(\)"):
            buffer.add(observations, [0, 0, 0], result[:4])
        with pytest.raises(ValueError, match="stacks of"):
            buffer.add(observations[:, :2], [0, 0, 0], result)
        buffer.add(observations, [0, 0, 0], result)
        with pytest.raises(ValueError, match="batch_size=0"):
            buffer.sample(0)
        with pytest.raises(MemoryError, match="smaller capacity"):
            ReplayBuffer(envs, 2**31 - 1)
    vectors = parallel_pool.PoolVectorEnv("CartPole-v1", 3)
    with closing(vectors), pytest.raises(ValueError, match="no arrays"):
        ReplayBuffer(vectors, 30)
