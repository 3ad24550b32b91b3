"""The EnvPool-style API: asynchronous pools."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from parallel_pool import (
    PoolTimeoutError,
    StateError,
    make_gym,
    make_gymnasium,
)
from tests.support.envpool_cases import equal


@pytest.mark.usefixtures("alarm")
def test_async_loop_steps_every_environment() -> None:
    with make_gym("CartPole-v1", num_envs=6, batch_size=2, num_threads=2, seed=0) as pool:
        pool.async_reset()
        seen, rng = np.zeros(6, int), np.random.default_rng(0)
        # until all were seen, also those whose thread gets no core at first
        while seen.sum() < 240 or not seen.all():
            obs, reward, term, trunc, info = pool.recv()
            assert obs.shape == (2, 4) and reward.shape == term.shape == trunc.shape == (2,)
            seen[info["env_id"]] += 1
            pool.send(rng.integers(2, size=2), info["env_id"])


def test_async_results_are_the_synchronous_ones() -> None:
    """Whatever the order of arrival, each environment's own sequence is the same."""
    with make_gym("Pendulum-v1", num_envs=5, seed=3) as pool:
        expected = [pool.reset()]
        for step in range(40):
            expected.append(pool.step(np.full((5, 1), np.sin(step)))[0])
    with make_gym("Pendulum-v1", num_envs=5, batch_size=2, num_threads=2, seed=3) as pool:
        pool.async_reset()
        for _ in range(60):
            obs, *_, info = pool.recv()
            for row, env_id, step in zip(obs, info["env_id"], info["elapsed_step"], strict=True):
                if step <= 40:
                    assert equal(row, expected[step][env_id])
            pool.send(np.sin(info["elapsed_step"])[:, None], info["env_id"])


def test_async_step_with_env_id_returns_the_first_to_finish() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2, seed=0) as pool:
        pool.async_reset()
        info = pool.recv()[4]
        for _ in range(10):
            obs, *_, info = pool.step(np.zeros(2, int), info["env_id"])
            assert obs.shape == (2, 4)
        _, info = pool.step({"action": np.zeros(2, int), "env_id": info["env_id"]})[::4]
        assert len(info["env_id"]) == 2


def test_async_first_send_is_a_reset() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2, seed=0) as pool:
        pool.send(np.zeros(4, int))
        assert pool.recv()[4]["elapsed_step"].tolist() == [0, 0]


def test_async_recv_after_reset() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, batch_size=2) as pool:
        pool.async_reset()
        obs, info = pool.recv(reset=True)
        assert obs.shape == (2, 4) and info["env_id"].shape == (2,)
        assert pool.recv(reset=True, return_info=False).shape == (2, 4)


def test_async_reset_of_some_with_seed() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2, seed=0) as pool:
        pool.async_reset(np.array([3, 1]), seed=20)
        obs, *_, info = pool.recv()
    with make_gym("CartPole-v1", num_envs=4, seed=20) as pool:
        assert equal(obs, pool.reset()[info["env_id"]])


def test_async_reset_and_recv_are_what_reset_does() -> None:
    with (
        make_gymnasium("CartPole-v1", num_envs=6, batch_size=2, seed=3) as pool,
        make_gymnasium("CartPole-v1", num_envs=6, seed=3) as other,
    ):
        expected = other.reset()[0]
        shown = [pool.reset(), pool.recv(reset=True), pool.recv(reset=True)]
        for obs, info in shown:
            assert equal(obs, expected[info["env_id"]])
        assert sorted(np.concatenate([info["env_id"] for _, info in shown])) == list(range(6))
        # a pool with enough environments in flight
        pool.async_reset(np.array([0]))
        obs, info = pool.reset(np.array([4]), seed=9)
        assert sorted(info["env_id"]) == [0, 4]
        obs, info = pool.reset(options={"reset_mask": np.arange(6) < 2})
        assert sorted(info["env_id"]) == [0, 1]
    with make_gym("CartPole-v1", num_envs=6, batch_size=2) as pool:
        assert pool.reset().shape == (2, 4)
        obs, *_, info = pool.recv()
        pool.send(np.zeros(2, int), info["env_id"])


def test_async_reset_of_too_few_is_refused_and_changes_nothing() -> None:
    with make_gym("CartPole-v1", num_envs=6, batch_size=3) as pool:
        for few in (np.array([1, 2]), [0], 5):
            with pytest.raises(StateError, match=r"would leave \d in flight, a batch needs 3"):
                pool.reset(few)
        for timeout, error in [(-1, ValueError), ("1", TypeError)]:
            with pytest.raises(error, match="timeout="):
                pool.reset(timeout=timeout)
        pool.async_reset()
        with pytest.raises(StateError, match="environment 0 is already in flight"):
            pool.reset()
        # with a timeout it waits, because another thread may send to other environments
        pool.recv(), pool.recv()
        with pytest.raises(PoolTimeoutError, match="2 environments are in flight"):
            pool.reset([1, 2], timeout=0.01)
        assert pool.reset([5]).shape == (3, 4)


def test_async_refuses_calls_at_the_wrong_moment() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2) as pool:
        with pytest.raises(StateError, match="0 environments are in flight, a batch needs 2"):
            pool.recv()
        with pytest.raises(PoolTimeoutError, match="no batch of 2 within"):
            pool.recv(timeout=0.01)
        with pytest.raises(TypeError, match="needs env_id: give info"):
            pool.step(np.zeros(4, int))
        pool.async_reset()
        with pytest.raises(StateError, match="environment 0 is already in flight"):
            pool.async_reset()
        with pytest.raises(StateError, match="already in flight"):
            pool.send(np.zeros(4, int))
        first, second = pool.recv()[4]["env_id"], pool.recv()[4]["env_id"]
        assert sorted([*first, *second]) == [0, 1, 2, 3]
        pool.async_reset()
        assert pool.recv()[0].shape == (2, 4)


def test_recv_with_timeout_waits_for_another_threads_send() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2) as pool:
        thread = threading.Thread(target=pool.async_reset)
        thread.start()
        assert pool.recv(timeout=60)[0].shape == (2, 4)
        thread.join()


@pytest.mark.sanitizers
def test_timeout_of_a_slow_step_loses_nothing() -> None:
    with make_gymnasium("test/Fault-v0", num_envs=2, batch_size=1, sleep_ms=500) as pool:
        pool.async_reset()
        ids = {int(pool.recv()[4]["env_id"][0]) for _ in range(2)}
        for _ in range(20):
            pool.send(np.zeros(1, int), [1])
            try:
                pool.recv(timeout=0)
            except PoolTimeoutError as error:
                assert "1 environments are in flight" in str(error)
                break
            # this process did not run while the step was made: again
        else:
            pytest.fail("every step was done at once")
        assert ids == {0, 1} and pool.recv()[4]["env_id"].tolist() == [1]
