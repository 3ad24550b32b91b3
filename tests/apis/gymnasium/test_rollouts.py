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
from parallel_pool._apis.common import rollout_storage
from parallel_pool._engine import frames, rollouts
from parallel_pool._engine.trees import map_leaves
from parallel_pool.compat.gymnasium import ProcessVectorEnv, Rollout
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


@pytest.mark.sanitizers
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


def zeros_of_tuple(observations: Any) -> Any:
    return zeros(observations[0])


@pytest.mark.sanitizers
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


@pytest.mark.sanitizers
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


def test_given_observations_must_have_the_shape_of_those_of_a_step() -> None:
    for case in ("array", "process"):
        with made(case, 3) as envs:
            first, _ = envs.reset(seed=1)
            buffer = envs.rollout(2)
            for wrong in (np.zeros(4, np.float32), first[:1], first[:, :2]):
                with pytest.raises(ValueError, match=r"give \(3, 4\)"):
                    buffer.collect(zeros, wrong)
            with pytest.raises(ValueError, match="tree"):
                buffer.collect(zeros, {"position": first})
            with pytest.raises(TypeError, match="give float32"):
                buffer.collect(zeros, first.astype(np.complex64))
            rollout = buffer.collect(zeros, first.astype(np.float64))
            assert_same(rollout.observations[0], first, case)
    with pictures(3, NEXT) as envs:
        first, _ = envs.reset(seed=1)
        buffer = envs.rollout(2, frames=True)
        for _ in range(2):
            for wrong in (first[:1], first[:, :2], first[..., None]):
                with pytest.raises(ValueError, match=r"give (\(2, )?\(?3, 8, 8\)|give 2"):
                    buffer.collect(zeros, wrong)
            buffer.collect(zeros, first)
    with made("process tuple", 3) as envs:
        first, _ = envs.reset(seed=1)
        with pytest.raises(ValueError, match=r"give \(3,\)"):
            envs.rollout(2).collect(zeros_of_tuple, (*first[:2], first[2][:1]))
        rollout = envs.rollout(2).collect(zeros_of_tuple, first)
        assert_same(tuple(array[0] for array in rollout.observations), first, "tuple")


def test_map_changes_arrays_only() -> None:
    with made("array", 3) as envs:
        envs.reset(seed=1)
        rollout = envs.rollout(5).collect(lambda one: (zeros(one), {"value": one}))
        lists = rollout.map(np.ndarray.tolist)
        assert lists.rewards == rollout.rewards.tolist()
        assert lists.extras["value"] == rollout.extras["value"].tolist()
        assert lists.infos is rollout.infos
        assert lists.final_observations is None


# ----------------------------------------------------------------------------------- extras --


def acts(values: list[dict[str, Any]]) -> Any:
    """Returns a policy that returns these extras, one dict at each step."""
    each = iter(values)
    return lambda observations: (zeros(observations), next(each))


def collected(*rollouts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the extras of rollouts, all of which use the same memory."""
    with made("array", 3) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(len(rollouts[0]))
        found = []
        for values in rollouts:
            rollout = buffer.collect(acts(values))
            found.append(map_leaves(np.ndarray.copy, rollout.extras))
            del rollout
        return found


def test_extras_are_those_of_this_rollout() -> None:
    ones = np.ones(3)
    found = collected(
        [{"value": ones, "old": ones}] * 4,
        [{"value": 2 * ones}] * 4,
        [{}, {"old": 3 * ones}, {}, {"value": ones, "old": 4 * ones}],
    )
    assert [list(extras) for extras in found] == [["value", "old"], ["value"], ["old", "value"]]
    np.testing.assert_array_equal(found[1]["value"], np.full((4, 3), 2.0))
    # what was left out is 0
    np.testing.assert_array_equal(found[2]["old"], np.outer([0, 3, 0, 4], ones))
    np.testing.assert_array_equal(found[2]["value"], np.outer([0, 0, 0, 1], ones))


def test_texts_and_trees_that_are_left_out_are_empty() -> None:
    row: dict[str, Any] = {"text": np.array(["on"] * 3), "tree": {"a": np.ones(3)}, "none": None}
    _, last = collected([row] * 3, [row, {}, row])
    assert last["text"].tolist() == [["on"] * 3, [""] * 3, ["on"] * 3]
    np.testing.assert_array_equal(last["tree"]["a"], np.outer([1, 0, 1], np.ones(3)))
    assert last["none"].tolist() == [None, 0, None]


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        ([np.zeros(3, np.int64), np.full(3, 0.7), np.full(3, 2**53)], np.float64),
        ([np.full(3, 0.7), np.zeros(3, np.int64), np.ones(3, np.bool_)], np.float64),
        ([np.full(3, 0.7, np.float32), np.full(3, 0.7), np.zeros(3, np.int8)], np.float64),
        ([np.zeros(3, np.uint8), np.full(3, -1), np.full(3, 2**40)], np.int64),
        ([0, 0.7, 1], np.float64),
        ([np.array(["a", "b", "c"]), np.array(["hello"] * 3), np.array(["d"] * 3)], "<U5"),
        ([np.zeros(3), np.array([None, "a", 1], object), np.ones(3)], object),
    ],
)
def test_extras_are_exact_whatever_their_dtypes(rows: list[Any], dtype: Any) -> None:
    floats = [np.full(3, 0.5)] * 3
    each = [[{"value": row} for row in one] for one in (rows, floats, rows)]
    first, second, third = collected(*each)
    assert second["value"].dtype == np.float64
    for found in (first, third):
        assert found["value"].dtype == dtype
        assert found["value"].tolist() == [np.asarray(row).tolist() for row in rows]
    np.testing.assert_array_equal(second["value"], floats)


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        ([np.zeros(3), np.array(["a"] * 3)], TypeError, "extra value of <U1 after float64"),
        ([np.full(3, 2**53 + 1), np.zeros(3)], ValueError, "integers beyond 2\\*\\*53"),
        ([np.zeros(3), np.full(3, -(2**53) - 1)], ValueError, "integers beyond 2\\*\\*53"),
        ([np.zeros(3), 0.0], ValueError, "extra value of shape \\(\\) .* of \\(3,\\) before"),
        ([np.zeros(3), np.zeros((1, 3))], ValueError, "of shape \\(1, 3\\)"),
        ([{"a": np.zeros(3)}, {"b": np.zeros(3)}], ValueError, "give the same keys"),
        ([np.zeros(3), (np.zeros(3), np.zeros(3))], ValueError, "give the same keys"),
    ],
)
def test_extras_that_do_not_belong_together_are_refused(
    rows: list[Any], error: type[Exception], match: str
) -> None:
    with made("array", 3) as envs:
        envs.reset(seed=1)
        buffer = envs.rollout(2)
        with pytest.raises(error, match=match):
            buffer.collect(acts([{"value": row} for row in rows]))
        # the next one may have others
        for row in rows:
            buffer.collect(acts([{"value": row}] * 2))


# ----------------------------------------------------------------------------------- frames --


class Pictures(gymnasium.Env[Any, Any]):
    """Shows pictures, none of which shares a frame with another, in episodes of a length."""

    observation_space = gymnasium.spaces.Box(0, 255, (3, 8, 8), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int) -> None:
        self.length, self.left, self.shown = length, 0, 0

    def _picture(self) -> Any:
        self.shown += 1
        return np.random.default_rng(self.shown).integers(0, 256, (3, 8, 8), np.uint8)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.left = self.length
        return self._picture(), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        return self._picture(), 1.0, self.left == 0, False, {}


def pictures(length: int, mode: AutoresetMode) -> Any:
    return closing(
        ProcessVectorEnv([partial(Pictures, length)] * 2, num_workers=0, autoreset_mode=mode)
    )


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=["next", "same"])
@pytest.mark.parametrize("length", [1, 3])
def test_stacks_that_share_no_frames_have_the_bits_of_arrays(
    length: int, mode: AutoresetMode
) -> None:
    with pictures(length, mode) as envs, pictures(length, mode) as twin:
        envs.reset(seed=1)
        twin.reset(seed=1)
        rollout, wanted = (
            envs.rollout(16, frames=True).collect(zeros),
            twin.rollout(16).collect(zeros),
        )
        for name in ("observations", "next_observations"):
            assert_same(np.array(getattr(rollout, name)), getattr(wanted, name), name)
        if mode is SAME:
            ended = np.nonzero(wanted.terminations)
            final = wanted.final_observations[ended]
            assert_same(rollout.final_observations[ended], final, "final")


def test_frames_may_take_all_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of Pong fit in a third of the memory of all stacks; of pictures that do not follow
    each other there are more."""
    with closing(parallel_pool.PoolVectorEnv("Pong-v5", 2, autoreset_mode=SAME)) as envs:
        envs.reset(seed=1)
        whole = envs.rollout(30).collect(zeros).observations.nbytes
        limit(monkeypatch, whole // 3)
        stacks = envs.rollout(30, frames=True).collect(zeros).observations
        assert stacks.frames.nbytes < 0.3 * whole
        limit(monkeypatch, whole // 5)
        with pytest.raises(MemoryError, match="choose fewer steps"):
            envs.rollout(30, frames=True).collect(zeros)
    with pictures(3, NEXT) as envs:
        envs.reset(seed=1)
        limit(monkeypatch, 16 * 2 * 3 * 8 * 8 // 2)
        buffer = envs.rollout(16, frames=True)
        for _ in range(2):
            with pytest.raises(MemoryError, match="choose fewer steps"):
                buffer.collect(zeros)


def limit(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Lets rollouts use so many bytes."""
    for module in (frames, rollouts, rollout_storage):
        monkeypatch.setattr(module, "usable_memory", lambda: size)


@pytest.mark.quick(2, sanitizers=True)
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
