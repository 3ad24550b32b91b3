"""Tests of step_async, step_wait and the other halves of calls, native and in worker processes."""

from __future__ import annotations

import signal
import warnings
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError

import parallel_pool
from parallel_pool import PoolVectorEnv
from parallel_pool._apis.common.vector_errors import VectorTimeoutError
from parallel_pool._engine import base_pool
from parallel_pool.compat.gymnasium import NativeVectorEnv
from parallel_pool.errors import PoolTimeoutError
from tests.support.same import assert_same

BACKENDS = ("native", "process")
ACTIONS = np.array([0, 1, 1])


def made(backend: str, task_id: str = "CartPole-v1", **options: Any) -> Any:
    here = {"num_workers": 0} if backend == "process" else {}
    return parallel_pool.make_vec(task_id, 3, backend=backend, **here, **options)


@pytest.mark.quick(2)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_halves_return_what_whole_calls_return(backend: str, mode: str) -> None:
    env, twin = (made(backend, autoreset_mode=mode) for _ in range(2))
    env.reset_async(seed=3)
    assert_same(env.reset_wait(), twin.reset(seed=3), "reset")
    for step in range(30):
        env.step_async(ACTIONS)
        result = env.step_wait()
        assert_same(result, twin.step(ACTIONS), f"step {step}")
        ended = result[2] | result[3]
        if mode == "Disabled" and ended.any():
            options = {"reset_mask": ended.copy()}
            env.reset_async(seed=5, options=options)
            assert options == {}
            expected = twin.reset(seed=5, options={"reset_mask": ended.copy()})
            assert_same(env.reset_wait(), expected, f"masked reset {step}")
    env.call_async("spec")
    assert len(env.call_wait()) == 3
    env.close()
    twin.close()


def test_native_infos_follow_the_actions_of_step_async() -> None:
    """Some infos have the dtype of the actions, which the caller may change meanwhile."""
    env, twin = (PoolVectorEnv("HalfCheetah-v5", 2) for _ in range(2))
    env.reset(seed=1)
    twin.reset(seed=1)
    actions = np.full((2, 6), 0.5, np.float32)
    expected = twin.step(actions)
    env.step_async(actions)
    actions[:] = 0
    assert_same(env.step_wait(timeout=60), expected, "step")
    env.close()
    twin.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors(backend: str) -> None:
    env = made(backend)
    for wait in (env.step_wait, env.reset_wait, env.call_wait):
        with pytest.raises(NoAsyncCallError):
            wait()
    begin = {
        "step": lambda: env.step_async(ACTIONS),
        "reset": lambda: env.reset_async(seed=2),
        "call": lambda: env.call_async("spec"),
    }
    waits = {"step": env.step_wait, "reset": env.reset_wait, "call": env.call_wait}
    env.reset(seed=1)
    for kind, start in begin.items():
        start()
        for refused in (*begin.values(), env.reset, lambda: env.step(ACTIONS), env.render):
            with pytest.raises(AlreadyPendingCallError, match=f"call {kind}_wait"):
                refused()
        for other, wait in waits.items():
            if other != kind:
                with pytest.raises(NoAsyncCallError):
                    wait()
        with pytest.raises(TypeError):
            waits[kind](timeout="soon")
        waits[kind]()
    with pytest.raises(ValueError, match="call reset directly"):
        env.call_async("reset")
    env.step_async(ACTIONS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env.close()
    assert any("pending call to `step`" in str(each.message) for each in caught)
    for call in (*begin.values(), *waits.values(), lambda: env.step(ACTIONS), env.reset):
        with pytest.raises(ClosedEnvironmentError):
            call()


def test_a_native_wait_that_times_out_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    env, twin = (PoolVectorEnv("CartPole-v1", 3) for _ in range(2))
    assert_same(env.reset(seed=1), twin.reset(seed=1), "reset")
    env.step_async(ACTIONS)

    def late(*_: Any) -> Any:
        raise PoolTimeoutError("late")

    with monkeypatch.context() as patch:
        patch.setattr(env.pool, "recv_as", late)
        with pytest.raises(VectorTimeoutError):
            env.step_wait(timeout=0)
    assert_same(env.step_wait(), twin.step(ACTIONS), "step")
    env.close()
    twin.close()


def test_an_interrupted_native_step_can_be_waited_for_or_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env, twin = (PoolVectorEnv("CartPole-v1", 3, autoreset_mode="SameStep") for _ in range(2))
    assert_same(env.reset(seed=1), twin.reset(seed=1), "reset")

    def raise_interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    def interrupt(_: Any, actions: Any) -> None:
        env.pool.send(actions)
        patch.setattr(base_pool, "receive", raise_interrupt)
        env.pool.recv()

    for is_dropped in (False, True):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(env.pool, "step_as", interrupt)
            env.step(ACTIONS)
        with pytest.raises(AlreadyPendingCallError, match=r"step_wait\(\) first, or reset\(\)"):
            env.step(ACTIONS)
        # what is wrong does not drop the step
        with pytest.raises(TypeError):
            env.reset(options=3)
        with pytest.raises(AlreadyPendingCallError):
            env.step(ACTIONS)
        expected = twin.step(ACTIONS)
        if is_dropped:
            assert_same(env.reset(seed=4), twin.reset(seed=4), "dropped")
        else:
            assert_same(env.step_wait(), expected, "waited for")
    assert_same(env.step(ACTIONS), twin.step(ACTIONS), "step")
    env.close()
    twin.close()


class Pressed(gymnasium.Env[Any, Any]):
    """Someone presses Ctrl-C in its second step, or its second reset."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, at: str) -> None:
        self.at, self.counts = at, {"step": 0, "reset": 0}

    def _count(self, what: str) -> Any:
        self.counts[what] += 1
        if what == self.at and self.counts[what] == 2:
            signal.raise_signal(signal.SIGINT)
        return np.zeros(1, np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self._count("reset"), {}

    def step(self, action: Any) -> Any:
        return self._count("step"), 1.0, False, False, {}


@pytest.mark.parametrize("half", ["step", "reset"])
def test_ctrl_c_in_a_half_that_steps_here_leaves_the_call_pending(half: str) -> None:
    """The pool has accepted it, so a reset must drop what it will return."""
    env = PoolVectorEnv([partial(Pressed, at) for at in (half, "", "")], num_workers=0)
    env.reset(seed=1)
    if half == "step":
        env.step(ACTIONS)
    with pytest.raises(KeyboardInterrupt):
        env.step_async(ACTIONS) if half == "step" else env.reset_async()
    with pytest.raises(AlreadyPendingCallError, match=r"reset\(\)"):
        env.step(ACTIONS)
    env.reset(seed=1)
    assert env.step(ACTIONS)[1].tolist() == [1, 1, 1]
    env.close()


class Own(NativeVectorEnv):
    """A user's class."""


def test_a_derived_class_refuses_functions_and_names_the_class_to_derive_from() -> None:
    with pytest.raises(TypeError, match="choose ProcessVectorEnv or PoolVectorEnv"):
        Own([lambda: gymnasium.make("CartPole-v1")])
