"""ProcessVectorEnv: AsyncVectorEnv's arguments, methods and errors."""

from __future__ import annotations

import contextlib
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
)
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.errors import PoolError, PoolTimeoutError, StateError
from tests.support.process_vector_env_cases import (
    ACTIONS,
    FOREVER,
    Barrier,
    Doer,
    doers,
    interrupted,
    made,
    pids,
)
from tests.support.same import assert_same
from tests.support.sampling import thinned
from tests.support.timeouts import has_ended, wait_for


@pytest.fixture
def barrier() -> Iterator[Barrier]:
    with closing(Barrier()) as made:
        yield made


# -------------------------------------------------------------------------- AsyncVectorEnv's API --

Call = Callable[[Any], Any]


def after(*calls: Call) -> Call:
    """Calls in order, of which the last must be refused."""

    def run(env: Any) -> Any:
        for call in calls[:-1]:
            call(env)
        return calls[-1](env)

    return run


def masked(mask: Any) -> Call:
    return after(lambda env: env.reset(), lambda env: env.reset(options={"reset_mask": mask}))


def stepping(call: Call) -> Call:
    return after(lambda env: env.reset(), lambda env: env.step_async(ACTIONS), call)


def resetting(call: Call) -> Call:
    return after(lambda env: env.reset_async(), call)


def calling(call: Call) -> Call:
    return after(lambda env: env.call_async("count"), call)


def closed(call: Call) -> Call:
    return after(lambda env: env.close(), call)


WRONG: dict[str, Call] = {
    "step_wait of nothing": lambda env: env.step_wait(),
    "reset_wait of nothing": lambda env: env.reset_wait(),
    "call_wait of nothing": lambda env: env.call_wait(),
    "reset_wait of a step": stepping(lambda env: env.reset_wait()),
    "call_wait of a step": stepping(lambda env: env.call_wait()),
    "step_wait of a reset": resetting(lambda env: env.step_wait()),
    "step_async in a step": stepping(lambda env: env.step_async(ACTIONS)),
    "step in a step": stepping(lambda env: env.step(ACTIONS)),
    "reset in a step": stepping(lambda env: env.reset()),
    "call in a step": stepping(lambda env: env.call("count")),
    "render in a step": stepping(lambda env: env.render()),
    "get_attr in a step": stepping(lambda env: env.get_attr("count")),
    "set_attr in a step": stepping(lambda env: env.set_attr("count", 1)),
    "step in a reset": resetting(lambda env: env.step(ACTIONS)),
    "step in a call": calling(lambda env: env.step(ACTIONS)),
    "call in a call": calling(lambda env: env.call("count")),
    "step when closed": closed(lambda env: env.step(ACTIONS)),
    "step_async when closed": closed(lambda env: env.step_async(ACTIONS)),
    "step_wait when closed": closed(lambda env: env.step_wait()),
    "reset when closed": closed(lambda env: env.reset()),
    "call when closed": closed(lambda env: env.call("count")),
    "call_wait when closed": closed(lambda env: env.call_wait()),
    "set_attr when closed": closed(lambda env: env.set_attr("count", 1)),
    "render when closed": closed(lambda env: env.render()),
    "too few values": lambda env: env.set_attr("count", [1, 2]),
    "too many values": lambda env: env.set_attr("count", (1,) * 5),
    "too few seeds": lambda env: env.reset(seed=[1, 2]),
    "mask of another type": masked([True] * 4),
    "mask of another shape": masked(np.ones(3, np.bool_)),
    "mask of another dtype": masked(np.ones(4, np.int64)),
    "mask of no environment": masked(np.zeros(4, np.bool_)),
    "too few actions": after(lambda env: env.reset(), lambda env: env.step([0, 0])),
    "too many actions": after(lambda env: env.reset(), lambda env: env.step([0] * 5)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(WRONG, 5))
def test_wrong_calls_raise_what_async_vector_env_raises(name: str) -> None:
    theirs = AsyncVectorEnv(doers(), context="fork")
    try:
        with pytest.raises(Exception) as expected:
            WRONG[name](theirs)
    finally:
        with warnings.catch_warnings():
            # for the warning about a pending call
            warnings.simplefilter("ignore")
            theirs.close(terminate=True)
    with made() as ours:
        with pytest.raises(expected.type) as raised:
            WRONG[name](ours)
        assert isinstance(raised.value, PoolError | ValueError | TypeError)
        assert getattr(raised.value, "name", None) == getattr(expected.value, "name", None)
        if not ours.closed:
            # nothing is lost
            waits = {"step": ours.step_wait, "reset": ours.reset_wait, "call": ours.call_wait}
            for wait in waits.values():
                with contextlib.suppress(NoAsyncCallError):
                    wait()
            ours.reset()
            ours.step(ACTIONS)


@pytest.mark.slow
def test_state_errors_are_also_gymnasiums_errors() -> None:
    with made() as env:
        with pytest.raises(StateError) as raised:
            env.step_wait()
        assert isinstance(raised.value, NoAsyncCallError)
        env.reset()
        env.step_async(ACTIONS)
        with pytest.raises(StateError) as raised:
            env.reset()
        assert isinstance(raised.value, AlreadyPendingCallError)
        env.step_wait()
        env.close()
        with pytest.raises(StateError) as raised:
            env.reset()
        assert isinstance(raised.value, ClosedEnvironmentError)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("error", "kwargs"),
    [
        (ValueError, {"observation_mode": "other"}),
        (TypeError, {"observation_mode": (1, 2)}),
        (ValueError, {"autoreset_mode": "other"}),
        (ValueError, {"context": "other"}),
        (ValueError, {"max_concurrency": 0}),
        (ValueError, {"max_concurrency": 1.5}),
    ],
    ids=str,
)
def test_wrong_arguments_raise_what_async_vector_env_raises(
    error: type[Exception], kwargs: dict[str, Any]
) -> None:
    for kind in (AsyncVectorEnv, ProcessVectorEnv):
        with pytest.raises(error):
            kind([Doer] * 2, **{"context": "fork", **kwargs})


def test_arguments_of_our_own_are_checked() -> None:
    make: Any = partial(ProcessVectorEnv, context="fork")
    with pytest.raises(TypeError, match=r"worker=.*leave it out"):
        make([Doer], worker=print)
    with pytest.raises(ValueError, match="num_workers=3 > max_concurrency=2"):
        make([Doer] * 4, num_workers=3, max_concurrency=2)
    with pytest.raises(ValueError, match="num_workers=3 > num_envs=2"):
        make([Doer] * 2, num_workers=3)
    with pytest.raises(ValueError, match="on_error"):
        make([Doer], on_error="shrug")
    with pytest.raises(ValueError, match="env_fns is empty"):
        make([])
    with pytest.raises(TypeError, match="env_fns"):
        make(Doer)
    with pytest.raises(TypeError, match=r"env_fns\[1\]"):
        make([Doer, 3])


SAME_ATTRIBUTES = (
    *("shared_memory", "copy", "context", "daemon", "observation_mode", "autoreset_mode"),
    *("max_concurrency", "num_envs", "metadata", "render_mode", "spec", "closed", "env_fns"),
    *("observation_space", "single_observation_space", "action_space", "single_action_space"),
)


@pytest.mark.slow
def test_arguments_come_in_async_vector_envs_order() -> None:
    arguments: Any = (True, False, "fork", False, None, "different", AutoresetMode.SAME_STEP, 1)
    env_fns = [Doer] * 2
    theirs = AsyncVectorEnv(env_fns, *arguments)
    ours = ProcessVectorEnv(env_fns, *arguments)
    try:
        for name in SAME_ATTRIBUTES:
            assert getattr(ours, name) == getattr(theirs, name), name
        assert ours.pool.num_workers == 1
    finally:
        theirs.close()
        ours.close()


def changed(**attributes: Any) -> Callable[[], Any]:
    def make() -> Any:
        env = Doer()
        for name, value in attributes.items():
            setattr(env, name, value)
        return env

    return make


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize(
    ("mode", "name", "space"),
    [
        ("same", "observation", spaces.Box(-1, 2, (2,), np.float32)),
        ("different", "observation", spaces.Box(-1, 1, (3,), np.float32)),
        ("different", "observation", spaces.Box(-1, 1, (2,), np.float64)),
        ("same", "action", spaces.Discrete(8)),
        ("different", "action", spaces.Discrete(8)),
    ],
)
def test_spaces_that_differ_are_refused(mode: str, name: str, space: Any, num_workers: int) -> None:
    env_fns = [Doer, changed(**{f"{name}_space": space})]
    if (mode, name) != ("different", "observation"):
        # AsyncVectorEnv has an assertion here
        with pytest.raises(RuntimeError):
            SyncVectorEnv(env_fns, observation_mode=mode)
    message = (
        f"nvironment 1 has the {name} space" if name == "action" else r"Environment 1 has Box\("
    )
    with pytest.raises(RuntimeError, match=message):
        ProcessVectorEnv(env_fns, context="fork", observation_mode=mode, num_workers=num_workers)


class NoDefaults(Doer):
    """An environment whose reset has arguments without defaults, and returns them as infos."""

    def reset(self, seed: Any, options: Any) -> Any:  # type: ignore[override]
        self.given = seed, options
        return self.show(), {"seed": str(seed), "options": str(options)}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "kwargs",
    [{}, {"seed": 3}, {"seed": [5, None]}, {"options": {"a": 1}}, {"options": {}}],
    ids=str,
)
def test_reset_passes_both_arguments(kwargs: dict[str, Any]) -> None:
    theirs = SyncVectorEnv([NoDefaults] * 2)
    ours = ProcessVectorEnv([NoDefaults] * 2, context="fork", num_workers=1)
    assert_same(ours.reset(**kwargs), theirs.reset(**kwargs), "reset")
    assert ours.get_attr("given") == theirs.get_attr("given")
    mask = {"reset_mask": np.array([False, True])}
    assert_same(ours.reset(options={**mask}), theirs.reset(options={**mask}), "masked")
    assert ours.get_attr("given") == theirs.get_attr("given")
    ours.close()


class Recording(Doer):
    """Records the arguments of each reset."""

    def __init__(self) -> None:
        super().__init__(length=2)
        self.resets: list[Any] = []

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self.resets.append((args, kwargs))
        self.count = 0
        return self.show(), {}


@pytest.mark.slow
@pytest.mark.parametrize("mode", AutoresetMode)
def test_autoresets_pass_no_arguments(mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv([Recording] * 2, autoreset_mode=mode)
    ours = ProcessVectorEnv([Recording] * 2, context="fork", num_workers=1, autoreset_mode=mode)
    for env in (theirs, ours):
        env.reset(seed=1, options={"a": 2})
        for _ in range(5):
            *_, terminated, truncated, _ = env.step(np.zeros(2, np.int64))
            ended = terminated | truncated
            if mode is AutoresetMode.DISABLED and ended.any():
                env.reset(options={"reset_mask": ended})
    assert ours.get_attr("resets") == theirs.get_attr("resets")
    assert len(ours.get_attr("resets")[0]) > 1
    ours.close()


@pytest.mark.slow
def test_close_warns_of_a_pending_call() -> None:
    for name, begin in CALLS.items():
        with made() as env:
            env.reset()
            begin(env)
            with pytest.warns(UserWarning, match=f"waiting for a pending call to `{name}`"):
                env.close()


@pytest.mark.slow
def test_close_after_an_interrupted_step_does_not_warn(barrier: Barrier) -> None:
    """The caller has not called step_async."""
    with warnings.catch_warnings(), made(barrier.hold) as env:
        warnings.simplefilter("error")
        # workers may end late
        warnings.filterwarnings("ignore", "closing the pool")
        env.reset()
        with interrupted(barrier):
            env.step(np.array([0, 1, 0, 0]))
        barrier.open()
        env.close()


CALLS: dict[str, Call] = {
    "step": lambda env: env.step_async(ACTIONS),
    "reset": lambda env: env.reset_async(),
    "call": lambda env: env.call_async("index"),
}


@pytest.mark.slow
def test_messages_begin_as_async_vector_envs() -> None:
    with made() as env:
        env.reset()
        with pytest.raises(
            NoAsyncCallError, match=r"Calling `step_wait` without any prior call to `step_async`\."
        ):
            env.step_wait()
        env.step_async(ACTIONS)
        message = (
            "Calling `reset_async` while waiting for a pending call to `step` to complete: call"
        )
        with pytest.raises(AlreadyPendingCallError, match=message):
            env.reset_async()
        env.step_wait()
    with pytest.raises(ValueError, match="Invalid `observation_mode`, expected: 'same' or"):
        made(observation_mode="other").__enter__()
    env_fns = [Doer, changed(observation_space=spaces.Box(-1, 2, (2,), np.float32))]
    message = (
        r"the sub-environments observation spaces are not equivalent\. .*If this is intentional,"
        " use `observation_mode='different'` instead\\."
    )
    with pytest.raises(RuntimeError, match=message):
        ProcessVectorEnv(env_fns, context="fork", num_workers=1)


def test_calls_pass_every_argument() -> None:
    """Also arguments with the names of the pool's own arguments."""
    with made() as env:
        expected = tuple((i, "a", 2, 3) for i in range(4))
        assert env.call("tell", "a", timeout=2, env_ids=3) == expected
        env.call_async("tell", name="b")
        expected = tuple((i, "b", 0, None) for i in range(4))
        assert env.call_wait(timeout=FOREVER) == expected
        # a callable attribute is called, as in Gymnasium
        expected = tuple((i, "", 0, None) for i in range(4))
        assert env.get_attr("tell") == expected
        with pytest.raises(ValueError, match="call step directly"):
            env.call("step", 1)
        env.reset()
        env.step(ACTIONS)
        assert [int(frame.max()) for frame in env.render()] == [1] * 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["step", "reset", "call"])
def test_nothing_is_lost_by_a_timeout(kind: str, barrier: Barrier) -> None:
    begin: dict[str, Call] = {
        "step": lambda env: env.step_async([1] * 4),
        "reset": lambda env: env.reset_async(options={"do": barrier.hold}),
        "call": lambda env: env.call_async("hold", barrier),
    }
    with made(barrier.hold) as env:
        env.reset()
        begin[kind](env)
        wait = getattr(env, f"{kind}_wait")
        for _ in range(2):
            with pytest.raises(multiprocessing.TimeoutError, match=r"0\.01") as raised:
                wait(timeout=0.01)
            assert isinstance(raised.value, PoolTimeoutError)
            assert isinstance(raised.value, TimeoutError)
        with pytest.raises(AlreadyPendingCallError):
            env.step(ACTIONS)
        barrier.open(1 if kind == "step" else 4)
        result = wait(timeout=FOREVER)
        if kind == "step":
            assert result[1].tolist() == [1] * 4
        if kind == "call":
            assert result == (0, 1, 2, 3)
        assert env.step(ACTIONS)[1].tolist() == [2 if kind == "step" else 1] * 4


def test_results_are_the_callers_own() -> None:
    with made() as env:
        kept = [env.reset()[0]]
        kept += [env.step(ACTIONS)[0] for _ in range(8)]
        for count, observations in enumerate(kept):
            assert observations.tolist() == [[i, count] for i in range(4)]
            assert observations.flags.writeable
        for array in env.step(ACTIONS)[:4]:
            array[:] = 1
        assert env.step(ACTIONS)[0].tolist() == [[i, 10] for i in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("context", ["spawn", "forkserver", None])
def test_environments_defined_in_tests_reach_workers(context: str | None) -> None:
    """Classes and closures that another process can't import."""
    high = 3.0

    class Local(Doer):
        observation_space = spaces.Box(0, high, (2,), np.float32)

        def show(self) -> Any:
            return np.array([high, self.count], np.float32)

    env = ProcessVectorEnv([lambda: Local(5)] * 3, context=context, num_workers=2)
    assert env.single_observation_space == Local.observation_space
    assert env.reset()[0].tolist() == [[3, 0]] * 3
    assert env.step([0, 0, 0])[0].tolist() == [[3, 1]] * 3
    ids = pids(env)
    assert len(ids) == 2
    env.close()
    wait_for(lambda: all(map(has_ended, ids)))


# -------------------------------------------------------------------------------------- wrappers --

WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "RecordEpisodeStatistics": vector_wrappers.RecordEpisodeStatistics,
    "NormalizeObservation": vector_wrappers.NormalizeObservation,
    "NormalizeReward": vector_wrappers.NormalizeReward,
    "FlattenObservation": vector_wrappers.FlattenObservation,
    "ClipReward": partial(vector_wrappers.ClipReward, min_reward=-0.1, max_reward=0.1),
    "DictInfoToList": vector_wrappers.DictInfoToList,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPPERS)
def test_vector_wrappers_return_the_same(name: str) -> None:
    env_fns: list[Any] = [lambda: gymnasium.make("Pendulum-v1", max_episode_steps=4)] * 3
    theirs = WRAPPERS[name](SyncVectorEnv(env_fns))
    ours = WRAPPERS[name](ProcessVectorEnv(env_fns, context="fork", num_workers=2))
    try:
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        theirs.action_space.seed(1)
        for step in range(12):
            action = theirs.action_space.sample()
            actual, expected = ours.step(action), theirs.step(action)
            for infos in (actual[4], expected[4]):
                if "episode" in infos:
                    # a duration
                    infos["episode"].pop("t")
            assert_same(actual, expected, f"step {step}")
    finally:
        ours.close()
        theirs.close()
