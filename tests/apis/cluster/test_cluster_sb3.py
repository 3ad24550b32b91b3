"""ClusterVecEnv returns what PoolVecEnv returns, under Stable-Baselines3."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import PPO

from parallel_pool.compat.sb3 import ClusterVecEnv, PoolVecEnv
from parallel_pool.errors import StateError
from tests.apis.cluster.cases import Teller, kill
from tests.support.same import assert_same


def test_rows_are_those_of_pool_vec_env(cluster: Any) -> None:
    cases: list[tuple[Any, Any]] = [("CartPole-v1", "CartPole-v1"), ([Teller] * 4, Teller)]
    for here, there in cases:
        local = PoolVecEnv(here, **({} if isinstance(here, list) else {"n_envs": 4}))
        envs = ClusterVecEnv(there, 4, num_workers=2)
        for each in (local, envs):
            each.seed(3)
        assert_same(envs.reset(), local.reset(), "reset")
        for step in range(40):
            actions = np.full(4, step % 2)
            found, expected = envs.step(actions), local.step(actions)
            assert_same(found[:3], expected[:3], f"step {step}")
            for own, other in zip(found[3], expected[3], strict=True):
                assert own.keys() == other.keys()
                assert own["TimeLimit.truncated"] is other["TimeLimit.truncated"]
                for key in own:
                    np.testing.assert_equal(own[key], other[key])
        envs.close()
        local.close()


def test_a_lost_worker_and_the_order_of_calls(cluster: Any) -> None:
    envs = ClusterVecEnv("CartPole-v1", 4, num_workers=2)
    envs.reset()
    before, *_ = envs.step(np.zeros(4, int))
    kill(envs.pool.workers[1]["pid"])
    _, _, dones, infos = envs.step(np.zeros(4, int))
    assert dones.tolist() == [False, False, True, True]
    assert infos[2]["worker_restarted"] and infos[2]["TimeLimit.truncated"]
    np.testing.assert_array_equal(infos[2]["terminal_observation"], before[2])
    with pytest.raises(StateError):
        envs.step_wait()
    envs.step_async(np.zeros(4, int))
    with pytest.raises(StateError):
        envs.step_async(np.zeros(4, int))
    envs.reset()
    with pytest.raises(TypeError, match=r"autoreset_mode is always SAME_STEP .*: leave it out"):
        ClusterVecEnv("CartPole-v1", 4, autoreset_mode="NextStep")
    with pytest.raises(TypeError, match=r"batch_workers is for recv\(\), .*: leave it out"):
        ClusterVecEnv("CartPole-v1", 4, batch_workers=1)
    with pytest.raises(TypeError, match="num_envs has Stable-Baselines3's name here: give n_envs"):
        ClusterVecEnv("CartPole-v1", num_envs=4)
    with pytest.raises(NotImplementedError, match="on a cluster"):
        envs.trace()
    with pytest.raises(ValueError, match="leave indices out"):
        envs.env_method("render", indices=[1])
    assert envs.get_attr("gravity", [1]) == [9.8]
    envs.close()


def test_an_agent_is_the_same_as_on_a_local_pool(cluster: Any) -> None:
    weights = []
    for make in (partial(PoolVecEnv), partial(ClusterVecEnv, num_workers=2)):
        envs = make("CartPole-v1", 4)
        model = PPO("MlpPolicy", envs, n_steps=32, batch_size=64, n_epochs=2, seed=1, device="cpu")
        model.learn(256)
        weights.append([np.asarray(own.detach()) for own in model.policy.parameters()])
        envs.close()
    for own, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(own, other)
