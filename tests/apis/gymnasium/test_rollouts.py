"""Rollouts: the same bits as stepping by hand, in memory that is never written twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool.compat.gymnasium import Rollout
from parallel_pool.errors import ClosedError, NotResetError
from tests.support.rollout_steps import check_step
from tests.support.same import assert_same, leaves

NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP
STEPS = 12

# id, backend and options of environments, whose episodes end now and then
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "array": ("CartPole-v1", "native", {}),
    "limit": ("Pendulum-v1", "native", {"max_episode_steps": 7}),
    "infos": ("Taxi-v4", "native", {"max_episode_steps": 9}),
    "tuple": ("Blackjack-v1", "native", {}),
    "statistics": (
        "CartPole-v1",
        "native",
        {"wrappers": (gymnasium.wrappers.RecordEpisodeStatistics,)},
    ),
    "clipped": (
        "Pendulum-v1",
        "native",
        {"wrappers": (gymnasium.wrappers.ClipReward,), "max_episode_steps": 7},
    ),
    "process": ("CartPole-v1", "process", {"num_workers": 2}),
    "process tuple": ("Blackjack-v1", "process", {"num_workers": 1}),
}


@contextmanager
def made(case: str, num_envs: int, mode: AutoresetMode = NEXT) -> Iterator[Any]:
    with closing(make(case, num_envs, mode)) as envs:
        yield envs


def make(case: str, num_envs: int, mode: AutoresetMode = NEXT) -> Any:
    env, backend, options = CASES[case]
    options = dict(options)
    if "wrappers" in options and options["wrappers"][0] is gymnasium.wrappers.ClipReward:
        options["wrappers"] = (partial(options["wrappers"][0], min_reward=-1.0),)
    return parallel_pool.PoolVectorEnv(
        env, num_envs, backend=backend, autoreset_mode=mode, **options
    )


def repeat(chosen: Iterator[Any], observations: Any) -> Any:
    """A policy that returns given actions."""
    return next(chosen)


def act(chosen: Iterator[Any], observations: Any) -> Any:
    """A policy that returns given actions, and the first number of each observation."""
    first = next(leaves(observations))
    return next(chosen), {"first": first.reshape(5, -1)[:, 0].astype(np.float64)}


@pytest.mark.quick(6, sanitizers=True)
@pytest.mark.parametrize("mode", [NEXT, SAME], ids=["next", "same"])
@pytest.mark.parametrize("case", CASES)
def test_same_bits_as_by_hand(case: str, mode: AutoresetMode) -> None:
    with made(case, 5, mode) as envs, made(case, 5, mode) as twin:
        envs.action_space.seed(1)
        before, _ = envs.reset(seed=3)
        before, _ = twin.reset(seed=3)
        buffer = envs.rollout(STEPS)
        ended = np.zeros(5, np.bool_)
        num_ended = 0
        for number in range(4):
            chosen = [envs.action_space.sample() for _ in range(STEPS)]
            rollout = buffer.collect(partial(act, iter(chosen)))
            for at in range(STEPS):
                step = twin.step(chosen[at])
                check_step(rollout, at, before, step, chosen[at], f"{case} {number} {at}")
                np.testing.assert_array_equal(rollout.resets[at], ended & (mode is NEXT))
                seen = next(leaves(before)).reshape(5, -1)[:, 0]
                np.testing.assert_array_equal(rollout.extras["first"][at], seen)
                before, ended = step[0], step[2] | step[3]
                num_ended += int(ended.sum())
            # by hand in between: the next rollout goes on from there
            if number % 2:
                actions = envs.action_space.sample()
                envs.step(actions)
                step = twin.step(actions)
                before, ended = step[0], step[2] | step[3]
        assert num_ended > 3
        assert (rollout.final_observations is None) == (mode is NEXT)


def test_texts_are_arrays_of_objects() -> None:
    pytest.importorskip("minigrid")
    names = ("MiniGrid-Fetch-5x5-N2-v0", 3)
    envs, twin = parallel_pool.PoolVectorEnv(*names), parallel_pool.PoolVectorEnv(*names)
    with closing(envs), closing(twin):
        envs.reset(seed=1)
        before, _ = twin.reset(seed=1)
        actions = np.full(3, 2)
        rollout = envs.rollout(4).collect(lambda observations: actions)
        for at in range(4):
            seen = {name: array[at] for name, array in rollout.observations.items()}
            seen["mission"] = tuple(seen["mission"])
            assert_same(seen, before, str(at))
            before = twin.step(actions)[0]


def zeros(observations: Any) -> Any:
    return np.zeros(len(observations), np.int64)


@pytest.mark.parametrize("case", ["array", "process"])
def test_rollouts_that_are_held_never_change(case: str) -> None:
    with made(case, 3) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(5)
        held = []
        for _ in range(6):
            rollout = buffer.collect(zeros)
            # one array of each is enough
            held.append((rollout.rewards, rollout.next_observations, rollout.actions))
            held[-1] = (held[-1][len(held) % 3], held[-1][len(held) % 3].copy())
            del rollout
        for array, copy in held:
            np.testing.assert_array_equal(array, copy)
            addresses = {array.__array_interface__["data"][0] for array, _ in held}
        assert len(addresses) == len(held)


@pytest.mark.parametrize("case", ["array", "process"])
def test_memory_is_used_again(case: str) -> None:
    with made(case, 3) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(5)
        addresses = []
        last: Any = None
        for _ in range(8):
            # the last one is read while the next is collected
            last = buffer.collect(zeros)
            addresses.append(last.observations.__array_interface__["data"][0])
        assert len(set(addresses)) == 2


def test_arrays_are_contiguous_and_shared() -> None:
    with made("array", 3, SAME) as envs:
        envs.reset(seed=1)
        rollout = envs.rollout(5).collect(zeros)
        for array in leaves([getattr(rollout, name) for name in ("observations", "rewards")]):
            assert array.flags.c_contiguous
            assert np.shares_memory(array, array.reshape(-1, *array.shape[2:]))
        assert np.shares_memory(rollout.observations, rollout.next_observations)


def test_arrays_outlive_the_environments() -> None:
    envs = make("array", 3)
    envs.reset(seed=1)
    rollout = envs.rollout(5).collect(zeros)
    copy = rollout.observations.copy()
    envs.close()
    del envs
    np.testing.assert_array_equal(rollout.observations, copy)
    rollout.observations[:] = 1


def test_results_by_hand_are_not_of_a_rollout() -> None:
    with made("array", 3) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(2)
        for _ in range(3):
            rollout = buffer.collect(zeros)
            copy = rollout.next_observations.copy()
            kept = [envs.step([1, 1, 1])[0] for _ in range(6)]
            for one in kept:
                assert not np.shares_memory(one, rollout.observations)
            np.testing.assert_array_equal(rollout.next_observations, copy)
        assert len({one.__array_interface__["data"][0] for one in kept}) == 6


def test_given_observations_are_the_first() -> None:
    with made("array", 3) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(2)
        buffer.collect(zeros)
        states = envs.pool.get_state()
        first = envs.pool.observe().obs
        buffer.collect(zeros)
        envs.pool.set_state(states)
        rollout = buffer.collect(zeros, first)
        np.testing.assert_array_equal(rollout.observations[0], first)


def test_map_changes_arrays_only() -> None:
    with made("array", 3) as envs:
        envs.reset(seed=1)
        rollout = envs.rollout(5).collect(lambda one: (zeros(one), {"value": one}))
        lists = rollout.map(np.ndarray.tolist)
        assert lists.rewards == rollout.rewards.tolist()
        assert lists.extras["value"] == rollout.extras["value"].tolist()
        assert lists.infos is rollout.infos
        assert lists.final_observations is None


# ----------------------------------------------------------------------------------- frames --


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=["next", "same"])
@pytest.mark.parametrize("env", ["Pong-v5", "ALE/Breakout-v5"])
def test_stacks_have_the_bits_of_arrays(env: str, mode: AutoresetMode) -> None:
    options: dict[str, Any] = {"max_episode_steps": 9}
    if env.startswith("ALE/"):
        preprocessing = partial(gymnasium.wrappers.AtariPreprocessing, noop_max=3)
        stack = partial(gymnasium.wrappers.FrameStackObservation, stack_size=3, padding_type="zero")
        limit = partial(gymnasium.wrappers.TimeLimit, max_episode_steps=7)
        options = {"wrappers": (preprocessing, stack, limit), "frameskip": 1}
    make = partial(parallel_pool.PoolVectorEnv, env, 3, backend="native", autoreset_mode=mode)
    with closing(make(**options)) as envs, closing(make(**options)) as twin:
        envs.action_space.seed(1)
        envs.reset(seed=1)
        twin.reset(seed=1)
        buffer, plain = envs.rollout(8, frames=True), twin.rollout(8)
        held = []
        for number in range(4):
            chosen = [envs.action_space.sample() for _ in range(8)]
            rollout = buffer.collect(partial(repeat, iter(chosen)))
            wanted = plain.collect(partial(repeat, iter(chosen)))
            for name in ("observations", "next_observations"):
                array = getattr(wanted, name)
                assert_same(np.array(getattr(rollout, name)), array, f"{name} {number}")
                assert getattr(rollout, name).shape == array.shape
            for name in ("rewards", "terminations", "truncations", "resets", "actions"):
                assert_same(getattr(rollout, name), getattr(wanted, name), f"{name} {number}")
            rows = np.array([5, 0, 23, 5])
            flat = wanted.observations.reshape(-1, *wanted.observations.shape[2:])
            assert_same(rollout.observations.gather(rows), flat[rows], "rows")
            if mode is SAME:
                times, ids = np.nonzero(wanted.terminations | wanted.truncations)
                final = rollout.final_observations[times, ids]
                assert_same(final, wanted.final_observations[times, ids], "final")
            held.append((rollout.observations, wanted.observations))
            assert rollout.observations.nbytes < 0.9 * wanted.observations.nbytes
        for stacks, array in held:
            assert_same(np.array(stacks), array, "held")


def test_frames_need_stacks() -> None:
    with made("array", 3) as envs:
        envs.reset(seed=1)
        with pytest.raises(ValueError, match="frames=True"):
            envs.rollout(2, frames=True).collect(zeros)


# --------------------------------------------------------------------------------- failures --


def test_refusals() -> None:
    with made("array", 3) as envs:
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            envs.rollout(2).collect(zeros)
        with pytest.raises(ValueError, match="steps=0"):
            envs.rollout(0)
        with pytest.raises(TypeError, match="steps"):
            envs.rollout(2.5)
        envs.reset(seed=1)
        with pytest.raises(MemoryError, match="choose fewer steps"):
            envs.rollout(10**9).collect(zeros)
        with pytest.raises(TypeError, match="returned None"):
            envs.rollout(2).collect(lambda observations: None)
        with pytest.raises(TypeError, match="as a name"):
            envs.rollout(2).collect(lambda observations: (zeros(observations), {1: [0] * 3}))
        envs.step_async([0, 0, 0])
        with pytest.raises(parallel_pool.StateError, match="step_wait"):
            envs.rollout(2).collect(zeros)
        envs.step_wait()
        envs.rollout(2).collect(zeros)
    with pytest.raises(ClosedError):
        envs.rollout(2).collect(zeros)
    with made("array", 3, AutoresetMode.DISABLED) as envs, pytest.raises(ValueError, match="NEXT"):
        envs.rollout(2)


def test_copies_are_refused_that_do_not_fit() -> None:
    with made("process", 3) as envs:
        envs.reset(seed=1)
        with pytest.raises(MemoryError, match="choose fewer steps"):
            envs.rollout(10**9).collect(zeros)
        envs.rollout(2).collect(zeros)


@pytest.mark.parametrize("at", range(5))
def test_a_policy_that_fails_loses_only_the_rollout(at: int) -> None:
    with made("array", 3) as envs, made("array", 3) as twin:
        envs.reset(seed=1)
        twin.reset(seed=1)
        buffer = envs.rollout(4)
        held = buffer.collect(zeros)
        copy = held.observations.copy()
        calls = 0

        def policy(observations: Any) -> Any:
            nonlocal calls
            calls += 1
            return [7, 7, 7] if calls == at + 1 else zeros(observations)

        if at < 4:
            with pytest.raises(ValueError, match="7"):
                buffer.collect(policy)
        else:
            buffer.collect(policy)
        for _ in range(4 + at):
            twin.step([0, 0, 0])
        for _ in range(5):
            assert_same(envs.step([1, 1, 1]), twin.step([1, 1, 1]), "by hand")
        rollout = buffer.collect(zeros)
        for step in range(4):
            np.testing.assert_array_equal(rollout.next_observations[step], twin.step([0] * 3)[0])
        np.testing.assert_array_equal(held.observations, copy)


def test_close_within_a_policy() -> None:
    envs = make("array", 3)
    envs.reset(seed=1)

    def policy(observations: Any) -> Any:
        envs.close()
        return zeros(observations)

    with pytest.raises(ClosedError):
        envs.rollout(4).collect(policy)


@pytest.mark.parametrize("case", ["array", "process"])
def test_a_policy_must_not_step(case: str) -> None:
    with made(case, 3) as envs:
        envs.reset(seed=1)
        inner = envs.rollout(2)

        def policy(observations: Any) -> Any:
            inner.collect(zeros)
            return zeros(observations)

        def steps(observations: Any) -> Any:
            envs.step(zeros(observations))
            return zeros(observations)

        for wrong in (policy, steps):
            with pytest.raises(parallel_pool.StateError, match="stepped by others"):
                envs.rollout(4).collect(wrong)
            envs.rollout(4).collect(zeros)


def test_a_learner_in_another_thread() -> None:
    with made("array", 16) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(16)
        sums: list[tuple[float, float]] = []

        def learn(rollout: Rollout) -> None:
            first = float(rollout.observations.sum())
            sums.append((first, float(rollout.observations.sum())))

        threads = []
        for _ in range(20):
            rollout = buffer.collect(zeros)
            threads.append(threading.Thread(target=learn, args=(rollout,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        assert len(sums) == 20
        assert all(first == second for first, second in sums)
