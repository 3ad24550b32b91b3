"""ReplayBuffer: transitions with the bits that were stored, and only those that are there."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._engine import frames
from parallel_pool.compat.gymnasium import ProcessVectorEnv, ReplayBuffer
from parallel_pool.errors import NotResetError, StateError

NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP


def make(mode: AutoresetMode = NEXT, limit: int = 9) -> Any:
    return parallel_pool.PoolVectorEnv(
        "Pong-v5", 3, backend="native", autoreset_mode=mode, max_episode_steps=limit
    )


def key(observation: Any, action: Any) -> tuple[bytes, int]:
    return np.asarray(observation).tobytes(), int(action)


@pytest.mark.sanitizers
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


class Shows(gymnasium.Env[Any, Any]):
    """Shows pictures that are all different, or stacks of them, in episodes of a length."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, shape: tuple[int, ...], length: int, is_stack: bool) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        self.length, self.is_stack = length, is_stack
        self.shown = self.left = 0
        self.stack: Any = None

    def _show(self, is_first: bool) -> Any:
        self.shown += 1
        shape = self.observation_space.shape or ()
        drawn = np.random.default_rng(self.shown).integers(0, 256, shape, np.uint8)
        if self.is_stack:
            older = np.zeros(shape, np.uint8) if is_first else self.stack
            drawn = np.concatenate([older[1:], drawn[:1]])
        self.stack = drawn
        return drawn.copy()

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.left = self.length
        return self._show(True), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        return self._show(False), float(self.shown), self.left == 0, False, {}


def shows(num_envs: int, mode: AutoresetMode, *args: Any) -> Any:
    make = partial(Shows, *args)
    return closing(ProcessVectorEnv([make] * num_envs, num_workers=0, autoreset_mode=mode))


def check_transitions(envs: Any, buffer: ReplayBuffer, steps: int) -> None:
    """Adds steps; after each one, compares a sample with what was added."""
    known = {}
    before = envs.reset(seed=1)[0]
    for _ in range(steps):
        result = envs.step(np.zeros(envs.num_envs, np.int64))
        buffer.add(before, np.zeros(envs.num_envs, np.int64), result)
        finals = result[4].get("final_obs", [None] * envs.num_envs)
        for i in range(envs.num_envs):
            following = result[0][i] if finals[i] is None else finals[i]
            known[before[i].tobytes()] = following.tobytes(), result[1][i]
        before = result[0]
        assert len(buffer) > 0
        batch = buffer.sample(8)
        for i in range(8):
            after = batch.next_observations[i].tobytes(), batch.rewards[i]
            assert known[batch.observations[i].tobytes()] == after


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=["next", "same"])
@pytest.mark.parametrize("shape", [(24, 8, 3), (4, 8, 8)])
def test_observations_that_are_no_stacks_are_stored_whole(
    shape: tuple[int, ...], mode: AutoresetMode
) -> None:
    with shows(2, mode, shape, 20, False) as envs:
        buffer = ReplayBuffer(envs, 60, seed=0)
        check_transitions(envs, buffer, 100)
        # all of them but resets
        assert len(buffer) >= 54


@pytest.mark.quick(4, sanitizers=True)
@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("capacity", [1, 4, 40])
def test_episodes_of_a_step_leave_the_newest_transitions(
    capacity: int, length: int, num_envs: int
) -> None:
    with shows(num_envs, SAME, (4, 8, 8), length, True) as envs:
        check_transitions(envs, ReplayBuffer(envs, capacity, seed=0), 60)


def test_memory_that_whole_observations_need_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with shows(2, NEXT, (4, 8, 8), 20, False) as envs:
        envs.reset(seed=1)
        buffer = ReplayBuffer(envs, 4000)
        monkeypatch.setattr(frames, "usable_memory", lambda: 4000 * 3 * 64)
        act = lambda observations: np.zeros(2, np.int64)  # noqa: E731
        buffer.collect(act, 1)
        for _ in range(2):
            with pytest.raises(MemoryError, match=r"share no frames .* or stacks"):
                buffer.collect(act, 1)
        assert len(buffer) == 2


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
        for wrong in ([0.5] * 3, [0]):
            with pytest.raises(ValueError, match=r"give int64 \(3,\)"):
                buffer.add(observations, wrong, result)
    vectors = parallel_pool.PoolVectorEnv("CartPole-v1", 3)
    with closing(vectors), pytest.raises(ValueError, match="no arrays"):
        ReplayBuffer(vectors, 30)
