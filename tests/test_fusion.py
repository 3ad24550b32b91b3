"""Gymnasium's wrappers that native environments replace, exactly; and the choice of a backend."""

from __future__ import annotations

import functools
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import (
    AtariPreprocessing,
    ClipReward,
    FrameStackObservation,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeAwareObservation,
    TimeLimit,
    TransformReward,
)

import parallel_pool
from parallel_pool import registry
from parallel_pool.compat import env_specs
from parallel_pool.compat.gymnasium import PoolVectorEnv, backends, fusion
from parallel_pool.compat.gymnasium.fusion import Chain, Limit, Refusal, Statistics, recognise
from parallel_pool.errors import EnvError
from tests.same import assert_same

MODES = list(AutoresetMode)
SPEC = EnvSpec("Made-v0", entry_point="nowhere:Made")


def spec_with(*added: WrapperSpec, **kwargs: Any) -> EnvSpec:
    return EnvSpec("Made-v0", entry_point="nowhere:Made", additional_wrappers=added, **kwargs)


def twice(reward: Any) -> Any:
    return 2 * reward


class MyTimeLimit(TimeLimit):  # type: ignore[type-arg]
    """A wrapper that Gymnasium does not have."""


class MyPartial(functools.partial):  # type: ignore[type-arg]
    """A wrapper that may call anything."""


# --------------------------------------------------------------------------------- recognition --


def test_chain_is_recognised() -> None:
    spec = spec_with(
        TimeLimit.wrapper_spec(max_episode_steps=9),
        WrapperSpec("its name is no matter", "gymnasium.wrappers:ClipReward", {"max_reward": 1}),
        PassiveEnvChecker.wrapper_spec(),
    )
    outer = [
        RecordEpisodeStatistics,
        OrderEnforcing,
        partial(partial(TransformReward), func=partial(np.clip, a_min=0, a_max=np.float32(0.5))),
        partial(TimeLimit, max_episode_steps=5),
        partial(RecordEpisodeStatistics, stats_key="outer", buffer_length=None),
    ]
    chain = recognise(outer, spec)
    assert isinstance(chain, Chain)
    assert chain.names == (
        *("TimeLimit", "ClipReward", "PassiveEnvChecker", "RecordEpisodeStatistics"),
        *("OrderEnforcing", "TransformReward", "TimeLimit", "RecordEpisodeStatistics"),
    )
    limit, clip, inner, transform, outer_limit, last = chain.layers
    assert (limit, outer_limit) == (Limit(9), Limit(5))
    assert (inner, last) == (Statistics("episode", 100), Statistics("outer", None))
    rewards = np.array([-3.0, 0.75, 3.0])
    assert clip.clip(rewards).tolist() == [-3, 0.75, 1]  # type: ignore[union-attr]
    assert transform.clip(rewards).tolist() == [0, 0.5, 0.5]  # type: ignore[union-attr]
    assert [chain.limit(own) for own in (None, 0, 3, 7)] == [5, 5, 3, 5]
    assert recognise(None, SPEC) == recognise((), SPEC) == Chain()
    assert Chain().limit(None) is None


REFUSED: dict[str, tuple[Any, str]] = {
    "another": (TimeAwareObservation, "TimeAwareObservation is none of the wrappers"),
    "subclass": (MyTimeLimit, "MyTimeLimit is none of the wrappers"),
    "lambda": (lambda env: TimeLimit(env, 5), "lambda.* could do anything"),
    "partial of a lambda": (partial(lambda env: TimeLimit(env, 5)), "lambda.* could do anything"),
    "subclass of partial": (MyPartial(TimeLimit, max_episode_steps=5), "could do anything"),
    "by position": (partial(ClipReward, -1, 1), "by position"),
    "generic": (ClipReward[Any, Any], "could do anything"),
    "number": (3, "3 is a function that could do anything"),
    "vector wrapper": (gymnasium.wrappers.vector.ClipReward, "ClipReward is none of"),
    # arguments
    "no limit": (TimeLimit, "TimeLimit: missing .*max_episode_steps"),
    "limit 0": (partial(TimeLimit, max_episode_steps=0), "max_episode_steps=0"),
    "limit 5.0": (partial(TimeLimit, max_episode_steps=5.0), "max_episode_steps=5.0"),
    "limit of NumPy": (partial(TimeLimit, max_episode_steps=np.int64(5)), "max_episode_steps"),
    "long limit": (partial(TimeLimit, max_episode_steps=2**31), "max_episode_steps=2147483648"),
    "unknown": (partial(OrderEnforcing, disable=True), "OrderEnforcing: .*'disable'"),
    "the environment": (partial(PassiveEnvChecker, env=1), "PassiveEnvChecker: .*'env'"),
    "key": (partial(RecordEpisodeStatistics, stats_key=1), "stats_key=1"),
    "mask": (partial(RecordEpisodeStatistics, stats_key="_episode"), "stats_key='_episode'"),
    "final": (partial(RecordEpisodeStatistics, stats_key="final_info"), "stats_key='final_info'"),
    "length": (partial(RecordEpisodeStatistics, buffer_length=-1), "buffer_length=-1"),
    # clips
    "no bound": (ClipReward, r"ClipReward\(None, None\) has no bound"),
    "wrong way": (partial(ClipReward, min_reward=1, max_reward=0), "wrong way round"),
    "nan": (partial(ClipReward, min_reward=np.nan), "nan is no plain number"),
    "narrow nan": (partial(ClipReward, min_reward=np.float32(np.nan)), "nan.* is no plain number"),
    "array": (partial(ClipReward, min_reward=np.zeros(1)), "array.* is no plain number"),
    "array without axes": (partial(ClipReward, min_reward=np.array(0.0)), "is no plain number"),
    "bool": (partial(ClipReward, min_reward=True), "True is no plain number"),
    "text": (partial(ClipReward, min_reward="0"), "'0' is no plain number"),
    "long int": (partial(ClipReward, max_reward=2**60), "is no plain number"),
    "longdouble": (partial(ClipReward, max_reward=np.longdouble(1)), "is no plain number"),
    # transforms
    "function": (partial(TransformReward, func=twice), "twice.* could do anything"),
    "np.clip alone": (partial(TransformReward, func=np.clip), "could do anything"),
    "bounds by position": (
        partial(TransformReward, func=partial(np.clip, -1, 1)),
        "could do anything",
    ),
    "half a clip": (
        partial(TransformReward, func=partial(np.clip, a_min=0)),
        "TransformReward.*a_max",
    ),
    "clip into an array": (
        partial(TransformReward, func=partial(np.clip, a_min=0, a_max=1, out=np.zeros(()))),
        "does more than clip",
    ),
    "clip to an array": (
        partial(TransformReward, func=partial(np.clip, a_min=0, a_max=np.ones(2))),
        "is no plain number",
    ),
    # Atari
    "stack": (partial(FrameStackObservation, stack_size=4), "FrameStackObservation can't be"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exactly_known_is_refused(name: str) -> None:
    wrapper, reason = REFUSED[name]
    refusal = recognise([RecordEpisodeStatistics, wrapper], SPEC)
    assert isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(refusal.reason)


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        (WrapperSpec("TimeLimit", "mine:TimeLimit", {"max_episode_steps": 3}), "mine:TimeLimit"),
        (TimeAwareObservation.wrapper_spec(), "TimeAwareObservation .* is none of the wrappers"),
        (WrapperSpec("OrderEnforcing", "gymnasium.wrappers:OrderEnforcing", None), "arguments"),
        (ClipReward.wrapper_spec(), "has no bound"),
        (TransformReward.wrapper_spec(func=twice), "could do anything"),
    ],
)
def test_wrapper_specs_are_refused(added: WrapperSpec, reason: str) -> None:
    refusal = recognise(None, spec_with(added))
    assert isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(refusal.reason)


def test_statistics_of_one_name_are_refused() -> None:
    refusal = recognise([RecordEpisodeStatistics] * 2, SPEC)
    assert isinstance(refusal, Refusal)
    assert "one stats_key" in refusal.reason


def test_wrapper_that_another_gymnasium_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper with an additional argument is not recognised."""

    def init(self: Any, env: Any, max_episode_steps: int, grace: int = 0) -> None: ...

    monkeypatch.setattr(TimeLimit, "__init__", init)
    refusal = recognise([partial(TimeLimit, max_episode_steps=3)], SPEC)
    assert isinstance(refusal, Refusal)
    assert "has other parameters than the one known here" in refusal.reason


PICTURES = partial(AtariPreprocessing, frame_skip=4)
STACK = partial(FrameStackObservation, stack_size=4)


def test_atari_wrappers_become_options() -> None:
    ends = [RecordEpisodeStatistics, partial(TimeLimit, max_episode_steps=5)]
    for wrappers in ([PICTURES, STACK, *ends], [OrderEnforcing, PICTURES, *ends, STACK]):
        chain = recognise(wrappers, SPEC)
        assert isinstance(chain, Chain)
        assert [type(layer) for layer in chain.layers] == [Statistics, Limit]
        assert chain.options == {
            "preprocessing": True,
            "noop_max": 30,
            "frame_skip": 4,
            "screen_width": 84,
            "screen_height": 84,
            "terminal_on_life_loss": False,
            "grayscale_obs": True,
            "grayscale_newaxis": False,
            "scale_obs": False,
            "stack_size": 4,
            "stack_padding_zero": False,
        }
    alone = recognise([partial(AtariPreprocessing, screen_size=(60, 100))], SPEC)
    assert isinstance(alone, Chain)
    assert (alone.options["screen_width"], alone.options["screen_height"]) == (60, 100)
    assert "stack_size" not in alone.options


def test_limits_of_atari_wrappers_are_those_of_c() -> None:
    options = registry.find("ALE/Pong-v5").options
    assert options["screen_width"].high == options["screen_height"].high == fusion.MOST_PIXELS
    assert options["frame_skip"].high == options["noop_max"].high == fusion.MOST_FRAMES
    assert options["stack_size"].high == fusion.MOST_STACKED


@pytest.mark.parametrize(
    ("wrappers", "reason"),
    [
        ([STACK, PICTURES], "FrameStackObservation and AtariPreprocessing can't be native"),
        ([PICTURES, STACK, STACK], "the innermost"),
        ([PICTURES, PICTURES], "the innermost"),
        ([RecordEpisodeStatistics, PICTURES], "the innermost"),
        ([partial(TimeLimit, max_episode_steps=9), PICTURES], "the innermost"),
        ([partial(AtariPreprocessing, frame_skip=0)], "frame_skip=0.* can.t be native"),
        ([partial(AtariPreprocessing, noop_max=-1)], "noop_max=-1.* can.t be native"),
        ([partial(AtariPreprocessing, noop_max=True)], "noop_max=True.* can.t be native"),
        ([partial(AtariPreprocessing, scale_obs=1)], "scale_obs=1.* can.t be native"),
        ([partial(AtariPreprocessing, screen_size=(8, 8, 8))], r"\(8, 8, 8\).* can.t be native"),
        ([partial(AtariPreprocessing, screen_size=[8, 8])], r"\[8, 8\].* can.t be native"),
        ([partial(AtariPreprocessing, screen_size=2049)], "2049 is too large"),
        ([PICTURES, partial(FrameStackObservation, stack_size=65)], "no stack of 1 to 64"),
        ([PICTURES, partial(FrameStackObservation, stack_size=0)], "no stack of 1 to 64"),
        ([PICTURES, partial(STACK, padding_type="last")], "padding type other"),
        ([PICTURES, partial(STACK, padding_type=np.zeros((84, 84), np.uint8))], "padding type"),
    ],
)
def test_atari_wrappers_that_c_can_not_replace(wrappers: Any, reason: str) -> None:
    refusal = recognise(wrappers, SPEC)
    assert isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(refusal.reason)


@pytest.mark.parametrize("wrappers", [TimeLimit, 3, (each for each in [TimeLimit])])
def test_wrappers_that_are_no_sequence(wrappers: Any) -> None:
    with pytest.raises(TypeError, match="give a sequence"):
        parallel_pool.make_vec("CartPole-v1", 2, wrappers=wrappers)


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, None), (-0.0, None), (None, 0.0), (None, -0.0), (-0.0, 0.0), (0, 0), (-1, 0.5)],
)
def test_arrays_are_clipped_as_numbers_are(low: Any, high: Any) -> None:
    """With and without vector instructions, including the sign of zero."""
    chain = recognise([partial(ClipReward, min_reward=low, max_reward=high)], SPEC)
    assert isinstance(chain, Chain)
    (layer,) = chain.layers
    values = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324]
    for size in range(1, 40):
        rewards = np.resize(values, size)
        each = [np.float64(np.clip(reward, low, high)) for reward in rewards.tolist()]
        clipped = layer.clip(rewards)  # type: ignore[union-attr]
        assert clipped.tobytes() == np.array(each).tobytes()


# -------------------------------------------------------------------------------------- results --

IDS = ["CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1", "InvertedPendulum-v5"]

clip = partial(ClipReward, min_reward=-0.5, max_reward=0.5)
record = RecordEpisodeStatistics
record_outer = partial(RecordEpisodeStatistics, stats_key="outer", buffer_length=3)


def limit(steps: int) -> Callable[..., Any]:
    return partial(TimeLimit, max_episode_steps=steps)


CHAINS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "statistics": ([record], {"max_episode_steps": 9}),
    "clip": ([clip], {"max_episode_steps": 9}),
    # the reward in a reset's row is not clipped
    "clip above 0": ([partial(ClipReward, min_reward=0.25)], {"max_episode_steps": 9}),
    "clip below 0": ([partial(ClipReward, max_reward=-0.25)], {"max_episode_steps": 9}),
    "raw rewards counted": ([record, clip], {"max_episode_steps": 9}),
    "clipped rewards counted": ([clip, record], {"max_episode_steps": 9}),
    "both counted": ([record, clip, record_outer], {"max_episode_steps": 9}),
    "transform": (
        [partial(TransformReward, func=partial(np.clip, a_min=np.float32(0.1), a_max=2)), record],
        {"max_episode_steps": 9},
    ),
    "limit": ([limit(6)], {}),
    "limit and no other": ([limit(6), record], {"max_episode_steps": -1}),
    "longer limit": ([limit(8), record], {"max_episode_steps": 5}),
    # statistics do not see a truncation by a limit outside of them
    "limit outside": ([record, limit(6)], {}),
    "limits on both sides": (
        [limit(7), record, limit(6), record_outer, limit(11)],
        {"max_episode_steps": 30},
    ),
    "limit 1": ([clip, limit(1), record], {}),
    "all": (
        [
            *(PassiveEnvChecker, record, OrderEnforcing, limit(12), clip, PassiveEnvChecker),
            *(record_outer, partial(OrderEnforcing, disable_render_order_enforcing=True)),
        ],
        {"max_episode_steps": 20, "disable_env_checker": True},
    ),
}


@contextmanager
def pair(
    env: str | EnvSpec, num_envs: int, wrappers: Sequence[Any] | None = None, **kwargs: Any
) -> Iterator[tuple[VectorEnv, PoolVectorEnv]]:
    """Gymnasium's vector environment and ours, from the same call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (
            gymnasium.make_vec(env, num_envs, mode, wrappers=wrappers, **kwargs)
            for mode in ("sync", "parallel_pool")
        )
        assert isinstance(ours, PoolVectorEnv)
        assert ours.backend == "native"
        try:
            yield theirs, ours
        finally:
            theirs.close()
            ours.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock, in seconds, which the test sets."""
    now = [1000.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def assert_equal_results(actual: Any, expected: Any, where: str) -> None:
    """Also compares the order of an episode's infos."""
    assert_same(actual, expected, where)
    for ours, theirs in zip(find_episodes(actual[-1]), find_episodes(expected[-1]), strict=True):
        assert list(ours) == list(theirs), where


def find_episodes(infos: dict[str, Any]) -> list[dict[str, Any]]:
    where = infos.get("final_info", infos)
    return [where[key] for key in ("episode", "outer") if key in where]


ATTRIBUTES = (
    *("return_queue", "length_queue", "time_queue", "episode_count"),
    *("episode_returns", "episode_lengths", "episode_start_time"),
)


def assert_equal_attributes(ours: Any, theirs: Any, chain: Sequence[Any]) -> None:
    if any(getattr(each, "func", each) is RecordEpisodeStatistics for each in chain):
        for name in ATTRIBUTES:
            assert ours.get_attr(name) == theirs.get_attr(name), name
            assert ours.call(name) == theirs.call(name), name


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("env_id", IDS)
def test_fused_chain_is_that_of_sync(
    env_id: str, name: str, mode: AutoresetMode, clock: list[float]
) -> None:
    """Across ends of episodes and partial resets with seeds, at any step."""
    chain, kwargs = CHAINS[name]
    rng = np.random.default_rng(4)
    ended_ever = 0
    with pair(env_id, 4, chain, vector_kwargs={"autoreset_mode": mode}, **kwargs) as (theirs, ours):
        assert_equal_results(ours.reset(seed=5), theirs.reset(seed=5), "reset")
        theirs.action_space.seed(6)
        for step in range(60):
            action = theirs.action_space.sample()
            clock[0] += rng.random()
            expected = theirs.step(action)
            actual = ours.step(action.copy())
            assert_equal_results(actual, expected, f"step {step}")
            assert_equal_attributes(ours, theirs, chain)
            ended = expected[2] | expected[3]
            ended_ever += int(ended.sum())
            # writing to results must not change later ones
            actual[1][:] = 1e9
            for episode in find_episodes(actual[-1]):
                for array in episode.values():
                    array[:] = 1
            must = ended if mode is AutoresetMode.DISABLED else np.zeros(4, np.bool_)
            if must.any() or rng.random() < 0.1:
                mask = must | (rng.random(4) < 0.4)
                mask[rng.integers(4)] = True
                seed = [None, 17, [3, None, 5, None]][rng.integers(3)]
                if rng.random() < 0.2:
                    mask[:] = True
                options = [{"reset_mask": mask.copy()} for _ in range(2)]
                clock[0] += rng.random()
                again = theirs.reset(seed=seed, options=options[0])
                again_ours = ours.reset(seed=seed, options=options[1])
                assert_equal_results(again_ours, again, f"reset at {step}")
                assert_equal_attributes(ours, theirs, chain)
    assert ended_ever > 8


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_termination_on_the_step_of_the_limit(mode: AutoresetMode, clock: list[float]) -> None:
    """Both flags are set, and statistics inside the limit see only the termination."""
    both = 0
    vector_kwargs = {"autoreset_mode": mode}
    for steps in range(8, 14):
        chain = [record, limit(steps)]
        with pair("CartPole-v1", 64, chain, vector_kwargs=vector_kwargs) as (theirs, ours):
            theirs.reset(seed=1)
            ours.reset(seed=1)
            for step in range(steps):
                action = np.ones(64, np.int64)
                expected = theirs.step(action)
                assert_equal_results(ours.step(action), expected, f"step {step} of {steps}")
                both += int((expected[2] & expected[3]).sum())
                if (expected[2] | expected[3]).any() and mode is AutoresetMode.DISABLED:
                    break
    assert both > 0


def test_wrappers_of_a_spec_are_fused(clock: list[float]) -> None:
    """The spec of a wrapped environment names its wrappers; make_vec's are outside them."""
    wrapped = record(clip(gymnasium.make("Pendulum-v1", max_episode_steps=4)))
    spec = wrapped.spec
    assert spec is not None
    assert len(spec.additional_wrappers) == 2
    with pair(spec, 3, [partial(ClipReward, max_reward=-0.75), record_outer]) as (theirs, ours):
        assert "ClipReward, RecordEpisodeStatistics, ClipReward" in ours.backend_reason
        assert_equal_results(ours.reset(seed=2), theirs.reset(seed=2), "reset")
        for step in range(12):
            action = np.full((3, 1), 0.1, np.float32)
            assert_equal_results(ours.step(action), theirs.step(action), f"step {step}")
    wrapped.close()


def test_spec_makes_the_same_again() -> None:
    chain = [limit(7), clip, record]
    with pair("Pendulum-v1", 3, chain) as (theirs, ours):
        assert ours.spec is not None
        assert theirs.spec is not None
        assert ours.spec.kwargs["wrappers"] == theirs.spec.kwargs["wrappers"] == chain
        assert PoolVectorEnv("Pendulum-v1", 3, wrappers=chain).spec == ours.spec
        for again in (gymnasium.make_vec(ours.spec), PoolVectorEnv(ours.spec)):
            # partials are copied with the spec, and compare by identity
            assert str(again.spec) == str(ours.spec)
            assert again.pool.max_episode_steps == 7
            assert again.get_attr("return_queue") == (deque(),) * 3
            again.close()


def test_pictures_of_wrapped_environments() -> None:
    kwargs: dict[str, Any] = {"render_mode": "rgb_array_list", "max_episode_steps": 4}
    with pair("CartPole-v1", 2, [clip, record], **kwargs) as (theirs, ours):
        for env in (ours, theirs):
            env.reset(seed=1)
            env.step(np.array([0, 1]))
        actual, expected = ours.render(), theirs.render()
        assert_same([list(each) for each in actual], [list(each) for each in expected], "frames")


def test_infos_are_the_callers_own() -> None:
    env = parallel_pool.make_vec("CartPole-v1", 2, wrappers=[record], max_episode_steps=1)
    env.reset()
    *_, terminated, truncated, infos = env.step([0, 1])
    arrays = [terminated, truncated, infos["_episode"], *infos["episode"].values()]
    assert len(arrays) == 9
    for i, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[:i])
    env.close()


def test_plain_steps_stay_plain() -> None:
    """If no wrapper acts on a step, the pool's own step is used."""
    chains: list[Any] = [None, [], [limit(3)], [PassiveEnvChecker, OrderEnforcing]]
    for chain in chains:
        env = parallel_pool.make_vec("CartPole-v1", 2, wrappers=chain)
        env.reset()
        assert env._plain_step == env.pool.step_shown
        env.close()
    env = parallel_pool.make_vec("CartPole-v1", 2, wrappers=[clip])
    env.reset()
    assert env._plain_step is None
    env.close()


# ------------------------------------------------------------------------------- when it fails --


@pytest.mark.parametrize(
    ("env_id", "wrappers", "limit", "width", "steps"),
    [("Pendulum-v1", [clip, record], 3, 1, 5), ("Hopper-v5", [record], 1, 3, 3)],
    ids=["episodes-go-on", "episodes-end"],
)
def test_interrupted_step_is_counted(
    clock: list[float], env_id: str, wrappers: list[Any], limit: int, width: int, steps: int
) -> None:
    """A step whose result was not received is counted.

    If it ended an episode, the next row is a reset's, infos included.
    """
    with pair(env_id, 2, wrappers, max_episode_steps=limit) as (theirs, ours):
        action = np.zeros((2, width), np.float32)
        for env in (theirs, ours):
            env.reset(seed=1)
        ours.pool.send(action)
        theirs.step(action)
        only_second = np.array([False, True])
        expected = theirs.reset(seed=5, options={"reset_mask": only_second.copy()})
        assert_equal_results(ours.reset(seed=5, options={"reset_mask": only_second}), expected, "")
        for step in range(steps):
            assert_equal_results(ours.step(action), theirs.step(action), f"step {step}")


def test_interrupted_reset_of_some(clock: list[float]) -> None:
    with pair("Pendulum-v1", 3, [record], max_episode_steps=3) as (theirs, ours):
        action = np.zeros((3, 1), np.float32)
        for env in (theirs, ours):
            env.reset(seed=1)
            env.step(action)
        first, last = np.array([True, False, False]), np.array([False, False, True])
        ours.pool.send_reset([2], seed=[8])
        theirs.reset(seed=6, options={"reset_mask": last})
        expected = theirs.reset(seed=5, options={"reset_mask": first.copy()})
        assert_equal_results(ours.reset(seed=5, options={"reset_mask": first}), expected, "")
        for step in range(5):
            assert_equal_results(ours.step(action), theirs.step(action), f"step {step}")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_failure_of_one_environment(mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others' returns continue; that of the failed one starts from 0."""
    # no environment of Gymnasium's: its wrappers would be refused
    monkeypatch.setattr(env_specs, "reference_of", lambda *_: gymnasium.spec("CartPole-v1"))
    env = PoolVectorEnv(
        "test/Fault-v0",
        3,
        wrappers=[partial(ClipReward, min_reward=2), record],
        autoreset_mode=mode,
        fail_on="step",
        fail_at_step=2,
        fail_env=1,
    )
    env.reset(seed=1)
    env.step([0, 1, 0])
    with pytest.raises(EnvError) as caught:
        env.step([0, 1, 0])
    # the exception's batch is clipped too, and a row without a step has no reward
    assert caught.value.batch[env._reward].tolist() == [2, 0, 2]
    assert env.get_attr("episode_returns") == (4, 0, 4)
    if mode is AutoresetMode.DISABLED:
        env.reset(options={"reset_mask": np.array([False, True, False])})
    again = 2 if mode is AutoresetMode.DISABLED else 0
    assert env.step([1, 1, 1])[1].tolist() == [2, again, 2]
    assert env.get_attr("episode_returns") == (6, again, 6)
    assert env.get_attr("episode_lengths") == (3, again // 2, 3)
    env.close()


def test_failure_of_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments reset in the same call start from 0."""
    env = parallel_pool.make_vec("Pendulum-v1", 2, wrappers=[record], max_episode_steps=3)
    env.reset(seed=1)
    env.step(np.ones((2, 1)))
    reset = env.pool.reset

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise EnvError("made up", (0,), reset(*args, **kwargs))

    with monkeypatch.context() as patch:
        patch.setattr(env.pool, "reset", fail)
        with pytest.raises(EnvError):
            env.reset()
    rewards = sum(env.step(np.ones((2, 1)))[1] for _ in range(2))
    *_, last, _, _, infos = env.step(np.ones((2, 1)))
    assert infos["episode"]["r"].tolist() == (rewards + last).tolist()
    env.close()


def test_statistics_with_the_name_of_an_info() -> None:
    wrapper = partial(RecordEpisodeStatistics, stats_key="x_position")
    with pytest.raises(ValueError, match=r"stats_key='x_position'.*Ant-v5 has an info"):
        parallel_pool.make_vec("Ant-v5", 2, wrappers=[wrapper])


# ------------------------------------------------------------------------------------- backends --


def test_vector_options_beside_others() -> None:
    """Vector options may be given in either place; our specs hold them together."""
    beside = parallel_pool.make_vec("Pendulum-v1", 2, num_threads=1, backend="native", g=3.0)
    within = parallel_pool.make_vec(
        "Pendulum-v1", 2, vector_kwargs={"num_threads": 1, "backend": "native"}, g=3.0
    )
    assert beside.spec == within.spec
    # Gymnasium's make_vec passes them among the environments' options
    by_gymnasium = gymnasium.make_vec("parallel_pool/Pendulum-v1", 2, num_threads=1, g=3.0)
    for spec in (beside.spec, by_gymnasium.spec):
        again = PoolVectorEnv(spec)
        assert (again.num_envs, again.pool.num_threads) == (2, 1)
        assert again.get_attr("g") == (3.0, 3.0)
    with pytest.raises(TypeError, match="num_threads is given twice, also in vector_kwargs"):
        parallel_pool.make_vec("Pendulum-v1", vector_kwargs={"num_threads": 1}, num_threads=2)


class Workers(gymnasium.vector.SyncVectorEnv):  # type: ignore[type-arg]
    """A stand-in for worker processes, which other files test."""

    def __init__(
        self,
        env_fns: Any,
        *,
        num_workers: int = 0,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        super().__init__(env_fns, copy=copy, autoreset_mode=autoreset_mode)
        self.num_workers = num_workers


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "process_class", lambda: Workers)


def test_native_is_chosen_if_possible() -> None:
    choice = backends.choose("CartPole-v1")
    assert (choice.backend, choice.reason) == ("native", "CartPole-v1 is native")
    assert backends.choose("Pong-v5", ()).backend == "native"
    choice = backends.choose("CartPole-v1", [clip], {"backend": "native", "num_threads": 1})
    assert choice.reason == "CartPole-v1 is native, and does ClipReward itself"
    with pytest.raises(gymnasium.error.NameNotFound):
        backends.choose("CartPool-v1", None, {"backend": "process"})
    # a family's other option names are native, and a wrong value is no reason for processes
    for options in ({"healthy_z_range": (0.1, 2)}, {"healthy_z_range": 3}, {"width": 9}):
        assert backends.choose("Ant-v5", options=options).backend == "native"


@pytest.mark.parametrize(
    ("env", "wrappers", "reason"),
    [
        ("Blackjack-v1", None, "Blackjack-v1 has no native environment"),
        ("CartPole-v1", [TimeAwareObservation], "TimeAwareObservation is none of the wrappers"),
        ("Pong-v5", [clip], "Pong-v5 is no environment of Gymnasium's"),
        (EnvSpec("CartPole-v1", "other:CartPole"), None, "entry_point='other:CartPole'"),
        ([lambda: gymnasium.make("CartPole-v1")], None, "made by functions"),
    ],
)
def test_processes_are_chosen_otherwise(env: Any, wrappers: Any, reason: str) -> None:
    choice = backends.choose(env, wrappers)
    assert choice.backend == "process"
    assert reason in choice.reason
    with pytest.raises(ValueError, match=r"backend='native', but .*: choose 'auto' or 'process'"):
        backends.choose(env, wrappers, {"backend": "native"})
    with pytest.raises(ValueError, match="choose 'auto', 'native' or 'process'"):
        backends.choose(env, wrappers, {"backend": "thread"})


def test_option_that_only_python_knows(monkeypatch: pytest.MonkeyPatch, workers: None) -> None:
    options = parallel_pool.registry.find("CartPole-v1").options
    monkeypatch.delitem(options, "sutton_barto_reward")
    with parallel_pool_env("CartPole-v1", 2, sutton_barto_reward=True) as env:
        assert env.backend == "process"
        assert env.backend_reason == "the native CartPole-v1 has no option sutton_barto_reward"
        assert env.get_attr("_sutton_barto_reward") == (True, True)
    with pytest.raises(TypeError, match="CartPole-v1 has no option sutton_barto_reward"):
        PoolVectorEnv("CartPole-v1", 2, backend="native", sutton_barto_reward=True)
    # an option unknown to both is an error of the native environment
    with pytest.raises(TypeError, match="CartPole-v1 has no option heigh"):
        PoolVectorEnv("CartPole-v1", 2, heigh=1)


@contextmanager
def parallel_pool_env(*args: Any, **kwargs: Any) -> Iterator[Any]:
    env = PoolVectorEnv(*args, **kwargs)
    try:
        yield env
    finally:
        env.close()


def test_functions_are_given_to_processes(workers: None) -> None:
    env_fns = [lambda: gymnasium.make("CartPole-v1")] * 3
    mode = AutoresetMode.SAME_STEP
    with parallel_pool_env(env_fns, num_workers=2, autoreset_mode=mode, num_threads=0) as env:
        assert type(env) is Workers
        assert isinstance(env, PoolVectorEnv)
        assert (env.num_envs, env.num_workers, env.autoreset_mode) == (3, 2, mode)
        assert (env.backend, env.spec) == ("process", None)
    for wrong in ({"num_envs": 2}, {"backend": "native"}):
        with pytest.raises(ValueError, match=r"num_envs=2|backend='native'"):
            PoolVectorEnv(env_fns, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="True by position"):
        PoolVectorEnv(env_fns, 3, True)  # type: ignore[misc]
    for options in ({"g": 1}, {"num_threads": 2}, {"wrappers": [clip]}):
        with pytest.raises(TypeError, match=r"g: functions|num_threads=2|do not go with functions"):
            PoolVectorEnv(env_fns, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="env holds 3"):
        PoolVectorEnv([3])  # type: ignore[list-item]


def test_ids_are_given_to_processes(workers: None) -> None:
    def wrap(env: Any) -> Any:
        return TimeAwareObservation(env)

    vector_kwargs = {"autoreset_mode": AutoresetMode.DISABLED, "num_workers": 1}
    made = gymnasium.make_vec(
        "Pendulum-v1",
        3,
        "parallel_pool",
        vector_kwargs,
        [clip, wrap],
        g=3.0,
        max_episode_steps=4,
        render_mode=None,
    )
    reference = gymnasium.make_vec(
        "Pendulum-v1", 3, "sync", {}, [clip, wrap], g=3.0, max_episode_steps=4
    )
    assert isinstance(made, PoolVectorEnv)
    assert made.backend == "process"
    assert "wrap" in made.backend_reason
    assert made.observation_space == reference.observation_space
    assert made.get_attr("g") == (3.0,) * 3
    for env in (made, gymnasium.make_vec(made.spec), PoolVectorEnv(made.spec)):
        assert (env.num_envs, env.num_workers) == (3, 1)
        assert str(env.spec) == str(made.spec)
        env.reset(seed=1)
        reference.reset(seed=1)
        for step in range(4):
            results = env.step(np.zeros((3, 1), np.float32))
            expected = reference.step(np.zeros((3, 1), np.float32))
            assert_same(results[0], expected[0], f"step {step}")
            assert_same(results[1], expected[1], f"step {step}")
        assert results[3].all()
        env.close()
    reference.close()


def test_constructor_that_takes_nothing(workers: None) -> None:
    """make_vec's own arguments are not passed to it."""

    def make() -> Any:
        return gymnasium.make("CartPole-v1").unwrapped

    spec = EnvSpec("Made-v0", make)
    env = PoolVectorEnv(spec, 2, render_mode=None, max_episode_steps=None)
    assert isinstance(env, PoolVectorEnv)
    assert env.num_envs == 2
    env.close()


def test_processes_on_request(workers: None) -> None:
    for make in (PoolVectorEnv, parallel_pool.make_vec):
        env = make("CartPole-v1", 2, backend="process")
        assert isinstance(env, PoolVectorEnv)
        assert type(env) is Workers
        assert env.backend_reason == "backend='process' was asked for"
        assert env.spec.kwargs["vector_kwargs"] == {"backend": "process"}
        for again in (gymnasium.make_vec(env.spec), PoolVectorEnv(env.spec)):
            assert type(again) is Workers
            assert again.spec == env.spec
            again.close()
        env.close()
    for env_id in ("Pong-v5", "parallel_pool/CartPole-v1"):
        with pytest.raises(ValueError, match=f"{env_id} is no Python environment"):
            PoolVectorEnv(env_id, 2, backend="process")
    with pytest.raises(TypeError, match=r"num_threads=2 is for native.*'process' was asked for"):
        PoolVectorEnv("CartPole-v1", 2, backend="process", num_threads=2)


def test_derived_classes_are_native(workers: None) -> None:
    class Mine(PoolVectorEnv):
        def __init__(self, a: str, b: int, c: int) -> None:
            super().__init__(a, b + c)

    env = Mine("CartPole-v1", 1, 2)
    assert (env.num_envs, env.backend) == (3, "native")
    env.close()
    with pytest.raises(TypeError, match=r"Blackjack-v1 has no native .* call PoolVectorEnv"):
        Mine("Blackjack-v1", 1, 2)
