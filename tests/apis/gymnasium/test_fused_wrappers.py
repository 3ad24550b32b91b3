"""Fused wrappers give the results of Gymnasium's, through failures and interrupts too."""

from __future__ import annotations

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
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import (
    ClipReward,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
    TransformReward,
)

import parallel_pool
from parallel_pool._apis.common import env_specs
from parallel_pool._apis.gymnasium import native_vector_env
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.errors import EnvError
from tests.support.fusion_cases import MODES, clip
from tests.support.same import assert_same
from tests.support.sampling import sampled, thinned

# --------------------------------------------------------------------------------------- results --

IDS = ["CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1", "InvertedPendulum-v5"]
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
    """Compares results, and the order of the keys of an episode's infos."""
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


@pytest.mark.quick(4)
@pytest.mark.parametrize("mode", thinned(MODES, 3), ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("task_id", sampled(IDS, {"CartPole-v1", "Pendulum-v1"}))
def test_fused_chain_returns_what_sync_does(
    task_id: str, name: str, mode: AutoresetMode, clock: list[float]
) -> None:
    """Through ends of episodes, and through partial resets with seeds at random steps."""
    chain, kwargs = CHAINS[name]
    rng = np.random.default_rng(4)
    ended_ever = 0
    with pair(task_id, 4, chain, vector_kwargs={"autoreset_mode": mode}, **kwargs) as (
        theirs,
        ours,
    ):
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


@pytest.mark.slow
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


def calls_of_step(chain: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Returns which methods of the pool a step of the environment calls, and what `step_as` is to
    make of its arrays."""
    env = parallel_pool.make_vec("CartPole-v1", 2, wrappers=chain)
    calls: list[Any] = []

    def noted(name: str, method: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append((name, args[0]))
        return method(*args, **kwargs)

    for name in ("step", "step_as"):
        monkeypatch.setattr(env.pool, name, partial(noted, name, getattr(env.pool, name)))
    env.reset()
    calls.clear()
    env.step([0, 1])
    env.close()
    return calls


def test_plain_steps_stay_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no wrapper acts on a step, the pool's own step is used."""
    chains: list[Any] = [None, [], [limit(3)], [PassiveEnvChecker, OrderEnforcing]]
    for chain in chains:
        assert calls_of_step(chain, monkeypatch) == [("step_as", native_vector_env.plain_step)]
    ((name, convert),) = calls_of_step([clip], monkeypatch)
    assert name == "step_as" and convert is not native_vector_env.plain_step


# --------------------------------------------------------------------------------- when it fails --


@pytest.mark.parametrize(
    ("task_id", "wrappers", "limit", "width", "steps"),
    [("Pendulum-v1", [clip, record], 3, 1, 5), ("Hopper-v5", [record], 1, 3, 3)],
    ids=["episodes-go-on", "episodes-end"],
)
def test_interrupted_step_is_counted(
    clock: list[float], task_id: str, wrappers: list[Any], limit: int, width: int, steps: int
) -> None:
    """A step whose result was not received is counted.

    If it ended an episode, the next row is a reset's, infos included.
    """
    with pair(task_id, 2, wrappers, max_episode_steps=limit) as (theirs, ours):
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
    """The returns of the others continue; that of the failed environment starts from 0."""
    # test/Fault-v0 has no reference in Gymnasium: without this, its wrappers would be refused
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
    # the exception's batch is clipped too, except for the failed row, whose reward is 0
    assert caught.value.batch.reward.tolist() == [2, 0, 2]
    assert env.get_attr("episode_returns") == (4, 0, 4)
    if mode is AutoresetMode.DISABLED:
        env.reset(options={"reset_mask": np.array([False, True, False])})
    again = 2 if mode is AutoresetMode.DISABLED else 0
    assert env.step([1, 1, 1])[1].tolist() == [2, again, 2]
    assert env.get_attr("episode_returns") == (6, again, 6)
    assert env.get_attr("episode_lengths") == (3, again // 2, 3)
    env.close()


def test_failure_of_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of all environments that the call reset start from 0."""
    env = parallel_pool.make_vec("Pendulum-v1", 2, wrappers=[record], max_episode_steps=3)
    env.reset(seed=1)
    env.step(np.ones((2, 1)))

    def fail(pool: Any, convert: Any, *args: Any) -> Any:
        raise EnvError("made up", (0,), pool.reset(*args[:1], seed=args[1], options=args[2]))

    with monkeypatch.context() as patch:
        patch.setattr(native_vector_env, "reset_as", fail)
        with pytest.raises(EnvError):
            env.reset()
    rewards = sum(env.step(np.ones((2, 1)))[1] for _ in range(2))
    *_, last, _, _, infos = env.step(np.ones((2, 1)))
    assert infos["episode"]["r"].tolist() == (rewards + last).tolist()
    env.close()


def test_statistics_with_the_name_of_an_info_are_refused() -> None:
    wrapper = partial(RecordEpisodeStatistics, stats_key="x_position")
    with pytest.raises(ValueError, match=r"stats_key='x_position'.*Ant-v5 has an info"):
        parallel_pool.make_vec("Ant-v5", 2, wrappers=[wrapper])
