"""ProcessVectorEnv: AsyncVectorEnv's arguments and errors, failures, and closing."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
    ResetNeeded,
)
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers

from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.errors import EnvError, PoolError, PoolTimeoutError, StateError, WorkerError
from tests.patience import has_ended, wait_for
from tests.same import assert_same

# seconds after which a hanging test fails; nothing here sleeps longer
FOREVER = 20.0
ACTIONS = np.zeros(4, np.int64)


class OwnError(Exception):
    """Can't be made from its `args`, so it can't be unpickled."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


class Doer(gymnasium.Env[Any, Any]):
    """Counts its steps, shows the count, and calls what its action names.

    Args:
        index: the second number that it shows.
        length: of an episode.
        doings: functions by action.
    """

    action_space: ClassVar[Any] = spaces.Discrete(9)
    observation_space: ClassVar[Any] = spaces.Box(-1, 1e6, (2,), np.float32)

    def __init__(self, index: int = 0, length: int = 10**6, doings: Any = ()) -> None:
        self.index, self.length = index, length
        self.doings: dict[int, Callable[[Doer], Any]] = dict(doings)
        self.count = self.total = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options and "do" in options:
            options["do"](self)
        self.count = 0
        return self.show(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        self.total += 1
        shown = self.doings[int(action)](self) if int(action) in self.doings else None
        if shown is None:
            shown = self.show()
        return shown, self.count, self.count >= self.length, False, {}

    def show(self) -> Any:
        return np.array([self.index, self.count], np.float32)

    def render(self) -> Any:
        return np.full((2, 2, 3), self.count, np.uint8)

    def sleep(self, seconds: float) -> int:
        time.sleep(seconds)
        return self.index

    def fail(self, error: Exception) -> None:
        raise error

    def tell(self, name: str = "", timeout: float = 0, env_ids: Any = None) -> Any:
        return self.index, name, timeout, env_ids


def doers(do: Callable[[Doer], Any] | None = None, count: int = 4) -> list[Any]:
    """Functions of environments, of which the second calls something at action 1."""
    doings = [{1: do} if do is not None and i == 1 else {} for i in range(count)]
    return [partial(Doer, i, doings=doings[i]) for i in range(count)]


@contextmanager
def made(do: Callable[[Doer], Any] | None = None, **kwargs: Any) -> Iterator[ProcessVectorEnv]:
    """Four of them in two workers."""
    env = ProcessVectorEnv(doers(do), context="fork", num_workers=2, **kwargs)
    try:
        yield env
    finally:
        env.close(timeout=0.5)
        assert env.closed


def nap(seconds: float) -> Callable[[Doer], None]:
    return lambda env: time.sleep(seconds)


def pids(env: ProcessVectorEnv) -> list[int]:
    return sorted(set(env.pool.apply(lambda env: os.getpid())))


# ------------------------------------------------------------------------- AsyncVectorEnv's API --

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
    "mask of nobody": masked(np.zeros(4, np.bool_)),
    "too few actions": after(lambda env: env.reset(), lambda env: env.step([0, 0])),
    "too many actions": after(lambda env: env.reset(), lambda env: env.step([0] * 5)),
}


@pytest.mark.parametrize("name", WRONG)
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
            if ours._pending is not None:
                waits[ours._pending]()
            ours.reset()
            ours.step(ACTIONS)


def test_state_errors_are_of_both_kinds() -> None:
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
def test_spaces_must_fit(mode: str, name: str, space: Any, num_workers: int) -> None:
    env_fns = [Doer, changed(**{f"{name}_space": space})]
    if (mode, name) != ("different", "observation"):
        # AsyncVectorEnv has an assertion here
        with pytest.raises(RuntimeError):
            SyncVectorEnv(env_fns, observation_mode=mode)
    said = f"nvironment 1 has the {name} space" if name == "action" else r"Environment 1 has Box\("
    with pytest.raises(RuntimeError, match=said):
        ProcessVectorEnv(env_fns, context="fork", observation_mode=mode, num_workers=num_workers)


class Told(Doer):
    """An environment whose reset has no defaults, and returns its arguments as infos."""

    def reset(self, seed: Any, options: Any) -> Any:  # type: ignore[override]
        self.given = seed, options
        return self.show(), {"seed": str(seed), "options": str(options)}


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"seed": 3}, {"seed": [5, None]}, {"options": {"a": 1}}, {"options": {}}],
    ids=str,
)
def test_reset_passes_both_arguments(kwargs: dict[str, Any]) -> None:
    theirs = SyncVectorEnv([Told] * 2)
    ours = ProcessVectorEnv([Told] * 2, context="fork", num_workers=1)
    assert_same(ours.reset(**kwargs), theirs.reset(**kwargs), "reset")
    assert ours.get_attr("given") == theirs.get_attr("given")
    mask = {"reset_mask": np.array([False, True])}
    assert_same(ours.reset(options={**mask}), theirs.reset(options={**mask}), "masked")
    assert ours.get_attr("given") == theirs.get_attr("given")
    ours.close()


class Noted(Doer):
    """Records the arguments of each reset."""

    def __init__(self) -> None:
        super().__init__(length=2)
        self.resets: list[Any] = []

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        self.resets.append((args, kwargs))
        self.count = 0
        return self.show(), {}


@pytest.mark.parametrize("mode", AutoresetMode)
def test_autoresets_pass_no_arguments(mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv([Noted] * 2, autoreset_mode=mode)
    ours = ProcessVectorEnv([Noted] * 2, context="fork", num_workers=1, autoreset_mode=mode)
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


def test_close_with_a_call_pending_warns() -> None:
    for name, begin in CALLS.items():
        with made() as env:
            env.reset()
            begin(env)
            with pytest.warns(UserWarning, match=f"waiting for a pending call to `{name}`"):
                env.close()


def test_close_after_an_interrupted_step_does_not_warn() -> None:
    """The caller has not begun a call."""
    with warnings.catch_warnings(), made(nap(0.8)) as env:
        warnings.simplefilter("error")
        env.reset()
        with interrupted():
            env.step(np.array([0, 1, 0, 0]))
        env.close()


CALLS: dict[str, Call] = {
    "step": lambda env: env.step_async(ACTIONS),
    "reset": lambda env: env.reset_async(),
    "call": lambda env: env.call_async("index"),
}


def test_messages_begin_as_async_vector_envs() -> None:
    with made() as env:
        env.reset()
        with pytest.raises(
            NoAsyncCallError, match=r"Calling `step_wait` without any prior call to `step_async`\."
        ):
            env.step_wait()
        env.step_async(ACTIONS)
        said = "Calling `reset_async` while waiting for a pending call to `step` to complete: call"
        with pytest.raises(AlreadyPendingCallError, match=said):
            env.reset_async()
        env.step_wait()
    with pytest.raises(ValueError, match="Invalid `observation_mode`, expected: 'same' or"):
        made(observation_mode="other").__enter__()
    env_fns = [Doer, changed(observation_space=spaces.Box(-1, 2, (2,), np.float32))]
    said = (
        r"the sub-environments observation spaces are not equivalent\. .*If this is intentional,"
        " use `observation_mode='different'` instead\\."
    )
    with pytest.raises(RuntimeError, match=said):
        ProcessVectorEnv(env_fns, context="fork", num_workers=1)


def test_calls_pass_every_argument() -> None:
    """Also arguments with names of the pool's own."""
    with made() as env:
        told = tuple((i, "a", 2, 3) for i in range(4))
        assert env.call("tell", "a", timeout=2, env_ids=3) == told
        env.call_async("tell", name="b")
        told = tuple((i, "b", 0, None) for i in range(4))
        assert env.call_wait(timeout=FOREVER) == told
        # a callable attribute is called, as in Gymnasium
        told = tuple((i, "", 0, None) for i in range(4))
        assert env.get_attr("tell") == told
        with pytest.raises(ValueError, match="call step directly"):
            env.call("step", 1)
        env.reset()
        env.step(ACTIONS)
        assert [int(frame.max()) for frame in env.render()] == [1] * 4


@pytest.mark.parametrize("kind", ["step", "reset", "call"])
def test_nothing_is_lost_by_a_timeout(kind: str) -> None:
    begin: dict[str, Call] = {
        "step": lambda env: env.step_async([1] * 4),
        "reset": lambda env: env.reset_async(options={"do": nap(0.15)}),
        "call": lambda env: env.call_async("sleep", 0.15),
    }
    with made(nap(0.3)) as env:
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
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(env)


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


# ------------------------------------------------------------------------------------ wrappers --

WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "RecordEpisodeStatistics": vector_wrappers.RecordEpisodeStatistics,
    "NormalizeObservation": vector_wrappers.NormalizeObservation,
    "NormalizeReward": vector_wrappers.NormalizeReward,
    "FlattenObservation": vector_wrappers.FlattenObservation,
    "ClipReward": partial(vector_wrappers.ClipReward, min_reward=-0.1, max_reward=0.1),
    "DictInfoToList": vector_wrappers.DictInfoToList,
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_vector_wrappers_do_the_same(name: str) -> None:
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


# ------------------------------------------------------------------------------------ failures --


def raise_key(env: Doer) -> None:
    raise KeyError("lost", env.count)


def test_an_exception_is_raised_unchanged() -> None:
    """With the environment's index and the worker's traceback."""
    with made(raise_key) as env:
        env.reset()
        env.step(ACTIONS)
        with pytest.raises(KeyError) as raised:
            env.step([1] * 4)
        assert raised.value.args == ("lost", 2)
        cause = raised.value.__cause__
        assert isinstance(cause, EnvError)
        assert cause.env_ids == (1,)
        assert "environment 1 failed" in str(cause)
        assert "in raise_key" in str(cause)
        # the one that failed begins a new episode, all others continue
        observations, rewards, *_ = env.step(ACTIONS)
        assert observations.tolist() == [[0, 3], [1, 0], [2, 3], [3, 3]]
        assert rewards.tolist() == [3, 0, 3, 3]
        assert env.reset()[0].tolist() == [[i, 0] for i in range(4)]
        assert env.step(ACTIONS)[1].tolist() == [1] * 4


def test_step_wait_raises_an_exception_too() -> None:
    with made(raise_key) as env:
        env.reset()
        env.step_async([1] * 4)
        with pytest.raises(KeyError):
            env.step_wait()
        with pytest.raises(NoAsyncCallError):
            env.step_wait()
        assert env.step(ACTIONS)[1].tolist() == [2, 0, 2, 2]


def test_a_failed_environment_must_be_reset_with_disabled_autoreset() -> None:
    with made(raise_key, autoreset_mode=AutoresetMode.DISABLED) as env:
        env.reset()
        with pytest.raises(KeyError):
            env.step([1] * 4)
        for error in (AssertionError, ResetNeeded, StateError):
            with pytest.raises(error, match="environment 1 has ended its episode or failed"):
                env.step(ACTIONS)
        with pytest.raises(AssertionError):
            env.step_async(ACTIONS)
        # nothing was sent
        assert env.get_attr("total") == (1,) * 4
        mask = np.array([False, True, False, False])
        observations, _ = env.reset(options={"reset_mask": mask})
        assert observations.tolist() == [[0, 1], [1, 0], [2, 1], [3, 1]]
        assert env.step(ACTIONS)[1].tolist() == [2, 1, 2, 2]


def test_ended_episodes_are_refused_before_anything_is_sent() -> None:
    env_fns = [partial(Doer, 0, 2), partial(Doer, 1, 3)]
    theirs = SyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.DISABLED)
    ours = ProcessVectorEnv(
        env_fns, context="fork", num_workers=2, autoreset_mode=AutoresetMode.DISABLED
    )
    for env in (theirs, ours):
        env.reset()
        env.step([0, 0])
        assert env.step([0, 0])[2].tolist() == [True, False]
        with pytest.raises(AssertionError):
            env.step([0, 0])
        # a reset of another environment: the first still needs one
        env.reset(options={"reset_mask": np.array([False, True])})
        with pytest.raises(AssertionError):
            env.step([0, 0])
    # the other call, too, steps nothing while an environment needs a reset
    assert ours.get_attr("total") == theirs.get_attr("total") == (2, 2)
    ours.reset()
    assert ours.step([0, 0])[1].tolist() == [1, 1]
    ours.close()


def divide(env: Any) -> None:
    if env.index == 2:
        raise ZeroDivisionError("by none")


def test_a_reset_that_fails_can_be_tried_again() -> None:
    with made(autoreset_mode=AutoresetMode.DISABLED) as env:
        with pytest.raises(ZeroDivisionError, match="by none") as raised:
            env.reset(options={"do": divide})
        assert isinstance(raised.value.__cause__, EnvError)
        assert raised.value.__cause__.env_ids == (2,)
        with pytest.raises(ResetNeeded, match="environment 2"):
            env.step(ACTIONS)
        env.reset()
        env.step(ACTIONS)
        mask = np.array([False, False, True, True])
        with pytest.raises(ZeroDivisionError):
            env.reset(options={"reset_mask": mask, "do": divide})
        with pytest.raises(ResetNeeded, match="environment 2"):
            env.step(ACTIONS)
        mask = np.array([False, False, True, False])
        observations, _ = env.reset(options={"reset_mask": mask})
        assert observations.tolist() == [[0, 1], [1, 1], [2, 0], [3, 0]]
        assert env.step(ACTIONS)[1].tolist() == [2, 2, 1, 1]


def test_some_can_not_be_reset_before_all_were() -> None:
    with made() as env:
        with pytest.raises(ResetNeeded, match="environment 1 was never reset"):
            env.reset(options={"reset_mask": np.array([True, False, True, True])})
        env.reset(options={"reset_mask": np.ones(4, np.bool_)})
        env.reset(options={"reset_mask": np.array([True, False, True, True])})


def test_a_call_that_fails_leaves_all_usable() -> None:
    with made() as env:
        env.reset()
        with pytest.raises(LookupError, match="gone") as raised:
            env.call("fail", LookupError("gone"))
        assert "in fail" in str(raised.value.__cause__)
        with pytest.raises(AttributeError, match="no_such_thing"):
            env.get_attr("no_such_thing")
        assert env.get_attr("index") == (0, 1, 2, 3)
        assert env.step(ACTIONS)[1].tolist() == [1] * 4


@pytest.mark.parametrize("position", [0, 3])
def test_an_environment_that_can_not_be_made(position: int) -> None:
    def make() -> Any:
        raise FileNotFoundError("no model")

    env_fns: list[Any] = [Doer] * 4
    env_fns[position] = make
    with pytest.raises(FileNotFoundError, match="no model") as raised:
        ProcessVectorEnv(env_fns, context="fork", num_workers=2)
    assert f"environment {position} " in str(raised.value.__cause__)


def test_an_exception_that_can_not_be_pickled_is_described() -> None:
    def do(env: Doer) -> None:
        raise OwnError("one ", "other")

    with made(do) as env:
        env.reset()
        with pytest.raises(EnvError, match="OwnError: one other") as raised:
            env.step([1] * 4)
        assert raised.value.env_ids == (1,)
        env.step(ACTIONS)


@pytest.mark.parametrize(
    "shown",
    [
        np.zeros(3, np.float32),
        np.zeros(1, np.float32),
        np.zeros((1, 2), np.float32),
        np.zeros(2, np.complex128),
        "text",
        {"a": 1},
    ],
    ids=str,
)
def test_an_observation_of_another_shape_or_dtype_is_an_error(shown: Any) -> None:
    with made(lambda env: shown) as env:
        env.reset()
        with pytest.raises((TypeError, ValueError), match="observation") as raised:
            env.step([1] * 4)
        assert isinstance(raised.value.__cause__, EnvError)
        assert raised.value.__cause__.env_ids == (1,)
        env.reset()
        assert env.step(ACTIONS)[1].tolist() == [1] * 4


def test_a_worker_that_dies_is_named() -> None:
    with made(lambda env: os._exit(3)) as env:
        env.reset()
        with pytest.raises(WorkerError, match="exit code 3") as raised:
            env.step([1] * 4)
        assert "environment 1" in str(raised.value)
        assert 1 in raised.value.env_ids
        assert raised.value.batch[1].tolist()[2:] == [1, 1]
        for call in (lambda: env.step(ACTIONS), env.reset, lambda: env.get_attr("count")):
            with pytest.raises(StateError, match="worker process"):
                call()


def test_a_killed_worker_is_restarted() -> None:
    with made(lambda env: os.kill(os.getpid(), signal.SIGKILL), on_error="restart") as env:
        env.reset()
        env.step(ACTIONS)
        observations, rewards, terminated, truncated, infos = env.step([1] * 4)
        assert observations.tolist() == [[0, 1], [1, 1], [2, 2], [3, 2]]
        assert rewards.tolist() == [0, 0, 2, 2]
        assert terminated.tolist() == [False] * 4
        assert truncated.tolist() == [True, True, False, False]
        assert infos["worker_restarted"].tolist() == [True, True, False, False]
        assert infos["_restart_seed"].tolist() == [True, True, False, False]
        observations, *_, infos = env.step(ACTIONS)
        assert observations.tolist() == [[0, 0], [1, 0], [2, 3], [3, 3]]
        assert infos == {}
        assert env.step(ACTIONS)[1].tolist() == [1, 1, 4, 4]


def test_an_environment_that_sleeps_for_ever_is_killed() -> None:
    with made(nap(FOREVER), timeout=0.3) as env:
        env.reset()
        with pytest.raises(WorkerError, match=r"environment 1 took longer than timeout=0\.3 s"):
            env.step([1] * 4)


# ------------------------------------------------------------------------------------- the end --


@pytest.mark.parametrize("arguments", [{"timeout": 0.1}, {"terminate": True}], ids=str)
def test_close_with_any_call_pending(arguments: dict[str, Any]) -> None:
    with made(nap(FOREVER)) as env:
        env.reset()
        ids = pids(env)
        env.step_async([1] * 4)
        env.close(**arguments)
        wait_for(lambda: all(map(has_ended, ids)))
        env.close()


def test_close_in_a_call() -> None:
    with made() as env:
        ids = pids(env)
        env.call_async("sleep", FOREVER)
        env.close(terminate=True)
        wait_for(lambda: all(map(has_ended, ids)))


def test_a_dropped_vector_env_ends_its_workers() -> None:
    """At once, without the garbage collector."""
    env = ProcessVectorEnv(doers(), context="fork", num_workers=2)
    env.reset()
    env.step(ACTIONS)
    ids = pids(env)
    assert not any(map(has_ended, ids))
    del env
    wait_for(lambda: all(map(has_ended, ids)))


@contextmanager
def interrupted() -> Iterator[None]:
    """Sends Ctrl-C to the block after a moment."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()


def test_an_interrupted_step_can_be_waited_for() -> None:
    with made(nap(0.8)) as env:
        env.reset()
        with interrupted():
            env.step([1] * 4)
        with pytest.raises(AlreadyPendingCallError, match="or reset"):
            env.step(ACTIONS)
        assert env.step_wait()[1].tolist() == [1] * 4
        assert env.step(ACTIONS)[1].tolist() == [2] * 4


def test_a_reset_drops_an_interrupted_call() -> None:
    with made(nap(0.8)) as env:
        env.reset()
        with interrupted():
            env.step([1] * 4)
        env.reset()
        assert env.step(ACTIONS)[1].tolist() == [1] * 4
        with interrupted():
            env.call("sleep", 0.4)
        env.reset()
        assert env.step(ACTIONS)[1].tolist() == [1] * 4
