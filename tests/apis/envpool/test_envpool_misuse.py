"""The EnvPool-style API: misuse, failures, and the end of pools."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool import (
    ClosedError,
    EnvError,
    PoolTimeoutError,
    StateError,
    make_gym,
    make_gymnasium,
)
from tests.support.envpool_cases import equal, run, sample
from tests.support.receiving import receiving

MISUSE: list[tuple[str, Callable[[Any], Any], type[Exception], str]] = [
    ("CartPole-v1", lambda p: p.step(np.zeros(2, int)), ValueError, r"shape \(2,\): 3 env"),
    ("CartPole-v1", lambda p: p.step(np.zeros(4, int)), ValueError, r"shape \(4,\)"),
    ("CartPole-v1", lambda p: p.step(np.zeros(3, int), [0, 1]), ValueError, r"shape \(3,\)"),
    ("CartPole-v1", lambda p: p.step(np.zeros(1, int), [0, 1]), ValueError, r"shape \(1,\)"),
    ("CartPole-v1", lambda p: p.step(np.zeros((3, 1), int)), ValueError, r"shape \(3, 1\)"),
    ("CartPole-v1", lambda p: p.step(np.array(1)), ValueError, r"shape \(\)"),
    ("CartPole-v1", lambda p: p.step(1), TypeError, "an int, 1, which holds no actions"),
    ("CartPole-v1", lambda p: p.step(np.full(3, 1.7)), TypeError, "dtype float64: give integers"),
    ("CartPole-v1", lambda p: p.step(np.ones(3, bool)), TypeError, "dtype bool"),
    ("CartPole-v1", lambda p: p.step(None), TypeError, "actions are None"),
    ("CartPole-v1", lambda p: p.step(np.array([0, 2, 0])), ValueError, "action 2 of environment 1"),
    ("CartPole-v1", lambda p: p.step(np.full(3, 2**31 - 1)), ValueError, "outside its space"),
    ("CartPole-v1", lambda p: p.step(np.full(3, -100000)), ValueError, "action -100000"),
    ("Pong-v5", lambda p: p.step(np.full(3, 99)), ValueError, "action 99 .* choose 0 to 5"),
    ("Pendulum-v1", lambda p: p.step(np.zeros((3, 3))), ValueError, r"shape \(3, 3\)"),
    ("Pendulum-v1", lambda p: p.step(np.zeros(3)), ValueError, r"shape \(3,\)"),
    ("Pendulum-v1", lambda p: p.step(np.full((3, 1), np.nan)), ValueError, "not finite"),
    ("CartPole-v1", lambda p: p.send(np.zeros(1, int), [3]), ValueError, "env_id 3: choose 0 to 2"),
    ("CartPole-v1", lambda p: p.send(np.zeros(1, int), [-1]), ValueError, "env_id -1"),
    (
        "CartPole-v1",
        lambda p: p.send(np.zeros(1, int), [2**40]),
        ValueError,
        "env_id 1099511627776",
    ),
    ("CartPole-v1", lambda p: p.step(np.zeros(2, int), [1, 1]), ValueError, "named twice"),
    ("CartPole-v1", lambda p: p.step(np.zeros(1, int), [0.0]), TypeError, "dtype float64"),
    ("CartPole-v1", lambda p: p.step(np.zeros(0, int), []), ValueError, "no environment is named"),
    ("CartPole-v1", lambda p: p.reset(np.array([5])), ValueError, "env_id 5"),
    ("CartPole-v1", lambda p: p.reset(np.array([1.0])), TypeError, "dtype float64"),
    ("CartPole-v1", lambda p: p.reset(np.array([1, 1])), ValueError, "named twice"),
    ("CartPole-v1", lambda p: p.reset(seed=0.5), TypeError, "seed=0.5"),
    ("CartPole-v1", lambda p: p.reset(np.array([7]), seed=1), ValueError, "env_id 7"),
    ("CartPole-v1", lambda p: p.recv(), StateError, "0 environments are in flight"),
    ("CartPole-v1", lambda p: p.recv(timeout=0), PoolTimeoutError, "within 0 s"),
    ("CartPole-v1", lambda p: p.render([3]), ValueError, "env_id 3"),
    ("CartPole-v1", lambda p: p.render([]), ValueError, "no environment is named"),
    ("CartPole-v1", lambda p: p.reset(options=3), TypeError, "options=3 is an int: give a dict"),
    ("CartPole-v1", lambda p: p.reset(options=[1]), TypeError, "is a list: give a dict"),
    ("CartPole-v1", lambda p: p.async_reset(options="low"), TypeError, "is a str: give a dict"),
    (
        "CartPole-v1",
        lambda p: p.reset([0, "a"], seed=1),
        TypeError,
        "env_id='a' is a str",
    ),
    ("CartPole-v1", lambda p: p.reset([[0, 1]], seed=1), ValueError, r"shape \(1, 2\): give one"),
    ("CartPole-v1", lambda p: p.reset([0.0], seed=1), TypeError, "dtype float64"),
    ("CartPole-v1", lambda p: p.reset(seed=np.zeros((3, 1), int)), ValueError, r"shape \(3, 1\)"),
    ("CartPole-v1", lambda p: p.reset(seed={1, 2, 3}), TypeError, "is a set: give an integer"),
    ("CartPole-v1", lambda p: p.reset(timeout=-1), ValueError, "timeout=-1: choose 0 or more"),
]


@pytest.mark.quick(12)
@pytest.mark.parametrize(("task_id", "misuse", "error", "message"), MISUSE)
def test_misuse_is_an_error_and_changes_nothing(
    task_id: str, misuse: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    config = {"num_envs": 3, "seed": 0, "num_threads": 2}
    with make_gym(task_id, **config) as pool, make_gym(task_id, **config) as untouched:
        assert equal(pool.reset(), untouched.reset())
        for _ in range(3):
            with pytest.raises(error, match=message):
                misuse(pool)
            action = sample(pool, 3)
            assert equal(pool.step(action), untouched.step(action))


def test_send_without_recv_is_refused() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        pool.send(np.zeros(2, int))
        for _ in range(50):
            with pytest.raises(StateError, match="already in flight"):
                pool.send(np.zeros(2, int))
        with pytest.raises(StateError, match="pending"):
            pool.step(np.zeros(2, int))
        assert pool.recv()[4]["elapsed_step"].tolist() == [1, 1]


def test_failure_of_a_step_carries_the_batch() -> None:
    with make_gymnasium(
        "test/Fault-v0", num_envs=3, fail_on="step", fail_at_step=2, fail_env=1
    ) as pool:
        pool.reset()
        pool.step(np.ones(3, int))
        with pytest.raises(EnvError, match="environment 1 failed: made to fail") as caught:
            pool.step(np.ones(3, int))
        assert caught.value.env_ids == (1,)
        _, reward, *_, info = caught.value.batch
        assert reward.tolist() == [1.0, 0.0, 1.0]
        assert info["env_id"].tolist() == [0, 1, 2]
        assert info["count"].tolist() == [2, 0, 2]
        # the failed environment begins a new episode, the others continue
        assert pool.step(np.ones(3, int))[4]["elapsed_step"].tolist() == [3, 0, 3]


def test_failure_of_a_reset_carries_the_results_of_a_reset() -> None:
    fault = {"num_envs": 2, "fail_on": "reset", "fail_at_step": 1, "fail_env": 0}
    with make_gym("test/Fault-v0", **fault) as pool:
        with pytest.raises(EnvError, match="environment 0 failed") as caught:
            pool.reset()
        assert caught.value.batch.shape == (2, 1)
    with make_gym("test/Fault-v0", **fault) as pool:
        pool.async_reset()
        with pytest.raises(EnvError, match="environment 0 failed") as caught:
            pool.recv(reset=True, return_info=True)
        obs, info = caught.value.batch
        assert obs.shape == (2, 1) and info["env_id"].tolist() == [0, 1]


def test_closed_pool_refuses_calls_and_keeps_arrays() -> None:
    pool = make_gym("CartPole-v1", num_envs=2)
    obs = pool.reset()
    kept = obs.copy()
    assert not pool.closed
    pool.close()
    pool.close()
    assert pool.closed and equal(obs, kept)
    for call in (
        lambda: pool.step(np.zeros(2, int)),
        lambda: pool.send(np.zeros(2, int)),
        lambda: pool.reset(),
        lambda: pool.recv(),
        lambda: pool.async_reset(),
    ):
        with pytest.raises(ClosedError, match="the pool is closed"):
            call()


def test_dropped_pool_ends_its_threads() -> None:
    def threads() -> set[str]:
        return set(os.listdir("/proc/self/task"))

    # those of earlier tests may end meanwhile
    gc.collect()
    before = threads()
    pool = make_gym("CartPole-v1", num_envs=8, num_threads=4, batch_size=4)
    own = threads() - before
    assert len(own) == 3  # the caller is the fourth thread
    gc.disable()  # they must end without the garbage collector
    try:
        del pool
    finally:
        gc.enable()
    # a joined thread disappears from the list a moment later
    while threads() & own:
        time.sleep(0.001)


def test_ctrl_c_ends_a_wait_and_loses_nothing() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2) as pool:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            pool.recv(timeout=600)
        timer.join()
        pool.async_reset()
        assert pool.recv()[0].shape == (2, 4)


def test_two_threads_may_not_receive_at_once() -> None:
    with make_gym("CartPole-v1", num_envs=2) as pool:
        with receiving(pool) as received:
            pool.async_reset()
        assert received
        assert received[0][0].shape == (2, 4)


@pytest.mark.sanitizers
def test_missing_ale_py_names_the_extra() -> None:
    script = """
import sys
sys.modules["ale_py"] = None
import parallel_pool
try:
    parallel_pool.make_gym("Pong-v5")
except parallel_pool.MissingDependencyError as error:
    print(error)
"""
    assert "pip install 'parallel_pool[atari]'" in run(script)


def test_snapshots_bring_back_states() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        states = pool.get_state()
        first = [pool.step(np.array([0, 1]))[0].copy() for _ in range(30)]
        pool.set_state(states)
        assert all(equal(obs, pool.step(np.array([0, 1]))[0]) for obs in first)
        (state,) = pool.get_state(np.array([1]))
        pool.set_state([state], np.array([0]))


def test_render_of_chosen_environments() -> None:
    with make_gym("Pong-v5", num_envs=3, render_mode="rgb_array", render_env_id=2) as pool:
        pool.reset()
        assert pool.render_mode == "rgb_array"
        picture = pool.render()
        assert picture.shape == (1, 210, 160, 3) and picture.dtype == np.uint8
        every = pool.render(np.arange(3))
        assert every.shape == (3, 210, 160, 3) and equal(every[2:], picture)


def test_render_equals_gymnasiums() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=3) as pool:
        pool.reset()
        reference = gymnasium.make("CartPole-v1", render_mode="rgb_array")
        reference.reset(seed=3)
        for _ in range(3):
            assert equal(pool.render(), reference.render()[None])
            pool.step(np.array([1, 0]))
            reference.step(1)
        assert pool.render([1, 0]).shape == (2, 400, 600, 3)
        assert not equal(pool.render([1]), pool.render([0]))
        pool.send(np.zeros(2, int))
        with pytest.raises(StateError, match="in flight"):
            pool.render()
    with make_gym("test/Duel-v0") as pool:
        pool.reset()
        with pytest.raises(StateError, match="test/Duel-v0 draws no pictures"):
            pool.render()
