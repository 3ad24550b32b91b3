"""AgentVecEnv equals a plain loop whose rows follow Stable-Baselines3's rules."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from pettingzoo.utils import BaseParallelWrapper
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

import parallel_pool
from parallel_pool import PoolParallelEnv
from parallel_pool.compat.sb3 import AgentVecEnv
from parallel_pool.errors import ClosedError, StateError
from tests.core.test_native_players import GAME, Elimination
from tests.support.row_loop import Herd, RowLoop
from tests.support.same import assert_same

SAME_STEP = AutoresetMode.SAME_STEP
NUM_ENVS = 4
SPREAD = "mpe/simple_spread_v3"


@contextmanager
def made(env: Any, n_envs: int | None = None, **options: Any) -> Iterator[AgentVecEnv]:
    if not isinstance(env, (str, PoolParallelEnv)):
        options = {"num_workers": 2, "context": "fork", **options}
    envs = AgentVecEnv(env, n_envs, **options)
    yield envs
    envs.close()
    assert envs.pool.closed


def check(envs: AgentVecEnv, loop: RowLoop, steps: int) -> tuple[int, int]:
    """Compares all results; returns how many rows ended, and how many that before the others."""
    envs.seed(3)
    observations = envs.reset()
    assert_same(observations, loop.reset(3)[0], "reset")
    assert_same(envs.reset_infos, loop.reset_infos, "infos of the reset", ordered=False)
    envs.action_space.seed(5)
    ended = early = 0
    k = len(envs.agents)
    for step in range(steps):
        actions = np.array([envs.action_space.sample() for _ in range(envs.num_envs)])
        observations, rewards, dones, infos = envs.step(actions)
        shown, numbers, terminated, truncated, merged = loop.step(actions)
        assert_same(observations, shown, f"step {step}")
        assert_same(rewards, numbers.astype(np.float32), f"rewards of step {step}")
        assert_same(dones, terminated | truncated, f"dones of step {step}")
        assert_same(envs.reset_infos, loop.reset_infos, f"infos of resets at {step}", ordered=False)
        for row, info in enumerate(infos):
            # none for an agent that ended before its environment, in the step that restarts it
            is_waiting = loop.restarted[row // k] and not dones[row]
            expected = {} if is_waiting else dict(loop.step_infos[row])
            expected["live"] = bool(merged["live"][row])
            expected["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
            if dones[row]:
                expected["terminal_observation"] = merged["final_obs"][row]
            where = f"infos of row {row} in step {step}"
            assert_same(info, plain(expected), where, ordered=False)
        ended += int(dones.sum())
        early += int((dones.reshape(-1, k).any(1) & ~dones.reshape(-1, k).all(1)).sum())
    return ended, early


def plain(info: Any) -> Any:
    """Gymnasium's vector form, in which infos arrive here, has no integers of NumPy's."""
    if isinstance(info, dict):
        return {key: plain(value) for key, value in info.items()}
    return np.float64(info) if type(info) is float else info


@pytest.mark.slow
def test_rows_are_those_of_a_plain_loop_when_agents_end_early() -> None:
    with made([Herd] * NUM_ENVS) as envs:
        ended, early = check(envs, RowLoop(Herd, NUM_ENVS, SAME_STEP), 40)
    assert ended > 50 and early > 10


def test_rows_of_native_players_are_those_of_a_plain_loop() -> None:
    with made(GAME, NUM_ENVS) as envs:
        ended, early = check(envs, RowLoop(Elimination, NUM_ENVS, SAME_STEP), 40)
        assert ended > 50 and early > 10
    make = partial(importlib.import_module("mpe2.simple_spread_v3").parallel_env, max_cycles=5)
    with made(SPREAD, NUM_ENVS, max_cycles=5) as envs:
        assert check(envs, RowLoop(make, NUM_ENVS, SAME_STEP), 20) == (48, 0)


def test_dicts_of_observations() -> None:
    def legs(seen: dict[str, Any]) -> dict[str, Any]:
        return {agent: values["action_mask"].argmax(1) for agent, values in seen.items()}

    with made("classic/tictactoe_v3", 3, agents=["player_1"], others=legs) as envs:
        observations = envs.reset()
        assert observations["observation"].shape == (3, 3, 3, 2)
        observations, _, _, infos = envs.step(np.zeros(3, int))
        assert observations["action_mask"].shape == (3, 9)
        # the other player's turn
        assert not any(info["live"] for info in infos)


def test_statistics_of_episodes_are_those_of_a_loop() -> None:
    make = partial(importlib.import_module("mpe2.simple_spread_v3").parallel_env, max_cycles=6)
    loop = RowLoop(make, NUM_ENVS, SAME_STEP)
    with made(SPREAD, NUM_ENVS, max_cycles=6, seed=0) as inner:
        envs = VecMonitor(inner)
        envs.reset()
        loop.reset(0)
        sums = np.zeros(12, np.float32)
        found = 0
        for _ in range(20):
            actions = np.array([envs.action_space.sample() for _ in range(12)])
            *_, dones, infos = envs.step(actions)
            sums += loop.step(actions)[1].astype(np.float32)
            for row in np.flatnonzero(dones):
                assert infos[row]["episode"]["r"] == pytest.approx(sums[row], abs=2e-6)
                assert infos[row]["episode"]["l"] == 6
                sums[row], found = 0, found + 1
    assert found == 36


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch's threads would wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_an_algorithm_trains() -> None:
    with made(SPREAD, 4, max_cycles=10, seed=1) as envs:
        monitored = VecNormalize(VecMonitor(envs))
        agent = PPO("MlpPolicy", monitored, n_steps=16, batch_size=96, n_epochs=2, device="cpu")
        before = [each.detach().clone() for each in agent.policy.parameters()]
        agent.learn(200)
        assert agent.num_timesteps >= 200 and len(agent.ep_info_buffer or ()) >= 12
        assert any((a != b).any() for a, b in zip(before, agent.policy.parameters(), strict=True))


# ------------------------------------------------------------------------- single environments


def test_indices_are_rows() -> None:
    with made([Herd] * NUM_ENVS) as envs:
        envs.reset()
        # once for each environment
        assert envs.env_method("add", 2, indices=[0, 1, 2, 11]) == [2, 2, 2, 2]
        assert envs.get_attr("calls") == [2] * 3 + [0] * 6 + [2] * 3
        envs.set_attr("calls", 7, indices=[4])
        assert envs.get_attr("calls", [3, 0, -1]) == [7, 2, 2]
        assert envs.has_attr("longest") and not envs.has_attr("width")
        assert envs.env_is_wrapped(Monitor) == [False] * 12
        with pytest.raises(IndexError, match=r"indices=\[12\]: choose 0 to 11"):
            envs.get_attr("calls", [12])
        assert envs.backend == "process" and isinstance(envs, VecEnv)
        assert envs.render_mode == "rgb_array"
        # a picture for each environment
        picture = envs.render()
        assert picture is not None and picture.shape == (4, 6, 3)


class Tired(BaseParallelWrapper[str, Any, Any]):
    """A wrapper of a parallel environment."""


def test_wrappers_of_parallel_environments_are_found() -> None:
    with made([lambda: Tired(Herd()), Herd], num_workers=1) as envs:
        assert envs.env_is_wrapped(Tired, [0, 3, 2]) == [True, False, True]


def test_native_environments_have_their_options() -> None:
    with made(SPREAD, 2, N=2) as envs:
        assert envs.get_attr("N") == [2] * 4 and not envs.has_attr("x")
        assert envs.backend == "native" and envs.agents == ["agent_0", "agent_1"]
        assert envs.env_is_wrapped(Monitor, [1]) == [False]
        with pytest.raises(AttributeError, match=r"N=3: .* made: give N=\.\.\. to AgentVecEnv"):
            envs.set_attr("N", 3)


def test_options_that_the_first_reset_draws_are_attributes() -> None:
    with made(SPREAD, 2, max_episode_steps=parallel_pool.each_reset(3, 5)) as envs:
        with pytest.raises(StateError, match="not reset"):
            envs.get_attr("max_episode_steps")
        assert envs.has_attr("max_episode_steps")
    with pytest.raises(ClosedError):
        envs.has_attr("max_episode_steps")


def test_seeds_are_those_of_environments() -> None:
    with made(SPREAD, 2) as envs, made(SPREAD, 2) as same:
        assert list(envs.seed(5)) == [5, 5, 5, 6, 6, 6]
        same.seed(5)
        assert_same(envs.reset(), same.reset(), "reset")
        drawn = envs.seed()
        assert drawn[0] == drawn[2] == drawn[3] - 1  # type: ignore[operator]
        with pytest.raises(ValueError, match="seed=-1"):
            envs.seed(-1)


def test_options_are_those_of_all_environments() -> None:
    with made([Herd] * 2) as envs:
        envs.set_options({"low": 4})
        envs.reset()
        assert [info["options"]["low"] for info in envs.reset_infos] == [4] * 6
        envs.set_options([{"low": 5}] * 6)
        envs.reset()
        assert envs.reset_infos[5]["options"]["low"] == 5
        envs.set_options([{"low": i // 3} for i in range(6)])
        with pytest.raises(ValueError, match="the options of rows differ"):
            envs.reset()


# -------------------------------------------------------------------------------------- wrong calls


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="autoreset_mode is always SAME_STEP for Stable-Base"):
        AgentVecEnv(SPREAD, 2, autoreset_mode=SAME_STEP)
    with pytest.raises(TypeError, match="num_envs has Stable-Baselines3's name here: give n_envs"):
        AgentVecEnv(SPREAD, num_envs=2)
    with pytest.raises(ValueError, match="n_envs=0: choose 1 or more"):
        AgentVecEnv(SPREAD, n_envs=0)
    with pytest.raises(TypeError, match="n_envs=2: each function makes one environment"):
        AgentVecEnv([Herd], n_envs=2)
    with pytest.raises(ValueError, match="spaces differ"):
        AgentVecEnv("mpe/simple_tag_v3", 2)
    with PoolParallelEnv(SPREAD, 2) as pool:
        with pytest.raises(ValueError, match="autoreset_mode=NEXT_STEP, and Stable-Baselines3"):
            AgentVecEnv(pool)
        with pytest.raises(TypeError, match="n_envs, N: the environments are made already"):
            AgentVecEnv(pool, 3, N=2)
        assert not pool.closed
    with PoolParallelEnv(SPREAD, 2, autoreset_mode=SAME_STEP) as pool:
        assert AgentVecEnv(pool, agents=["agent_1"], others=lambda seen: {}).num_envs == 2


def test_wrong_calls_step_nothing() -> None:
    with made(SPREAD, 2, seed=1) as envs, made(SPREAD, 2, seed=1) as same:
        with pytest.raises(StateError, match="reset"):
            envs.step(np.zeros(6, int))
        assert_same(envs.reset(), same.reset(), "reset")
        with pytest.raises(StateError, match="call step_async"):
            envs.step_wait()
        for actions, error in ((np.zeros(5, int), ValueError), (np.full(6, 9), ValueError)):
            with pytest.raises(error, match=r"give \(6,\)|choose 0 to 4"):
                envs.step(actions)
        actions = np.ones(6, int)
        envs.step_async(actions)
        with pytest.raises(StateError, match="a step is in flight: call step_wait"):
            envs.step_async(actions)
        actions[:] = 0
        assert_same(envs.step_wait(), same.step(np.ones(6, int)), "step")


class Fragile(Herd):
    """Raises at the second step of the first episodes."""

    def step(self, actions: dict[str, Any]) -> Any:
        if self.count == 1 and self.count < self.longest:
            raise ZeroDivisionError
        return super().step(actions)


@pytest.mark.slow
def test_environments_that_were_made_again_are_truncated() -> None:
    with made([partial(Fragile, longest=9), Herd], on_error="restart") as envs:
        envs.seed(8)
        first = envs.reset()
        shown, _, dones, infos = envs.step([0] * 6)
        assert not dones[:3].any()
        again, rewards, dones, infos = envs.step([0] * 6)
        assert dones[:3].all() and not rewards[:3].any()
        for row in range(3):
            assert infos[row]["TimeLimit.truncated"] and infos[row]["worker_restarted"]
            assert infos[row]["live"] and envs.reset_infos[row]["worker_restarted"]
            np.testing.assert_array_equal(infos[row]["terminal_observation"], shown[row])
        assert again[:3].all() and (again[:3] != first[:3]).any()
