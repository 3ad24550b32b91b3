"""ppo.py learns CartPole through both APIs, with the weights that it gets on Gymnasium."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv

import parallel_pool
from integration.training import pong, ppo
from integration.training.agents import LEARNED_RETURN, WINDOW, best
from integration.training.learning import PPO_NUM_ENVS as NUM_ENVS

APIS: dict[str, Callable[[], VectorEnv[Any, Any, Any]]] = {
    "make": lambda: parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=NUM_ENVS),
    "make_vec": lambda: gymnasium.make_vec(
        "CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="parallel_pool"
    ),
}


@pytest.fixture(autouse=True)
def one_torch_thread(torch_threads: Callable[[int], None]) -> None:
    """One thread, as the networks are small."""
    torch_threads(1)


@pytest.mark.parametrize(("api", "seed", "threads"), [("make", 1, 1), ("make_vec", 2, 2)])
def test_cartpole_is_learned(
    api: str, seed: int, threads: int, torch_threads: Callable[[int], None]
) -> None:
    """The threshold was measured: see test_learning.py."""
    torch_threads(threads)
    envs = APIS[api]()
    returns = ppo.train(envs, ppo.Settings(seed=seed)).returns
    envs.close()
    assert np.mean(returns[:WINDOW]) < LEARNED_RETURN <= best(returns)


@pytest.mark.parametrize(("seed", "threads"), [(5, 1), (6, 2)])
def test_agents_equal_those_trained_on_gymnasium(
    seed: int, threads: int, torch_threads: Callable[[int], None]
) -> None:
    """With the same seed, no weight differs after some thousand steps."""
    torch_threads(threads)
    settings = ppo.Settings(total_steps=4 * NUM_ENVS * 64, seed=seed)
    reference = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
    expected = ppo.train(reference, settings)
    reference.close()
    assert len(expected.returns) > 2 * NUM_ENVS
    for api, make in APIS.items():
        envs = make()
        found = ppo.train(envs, settings)
        envs.close()
        assert found.returns == expected.returns, api
        weights = zip(found.agent.parameters(), expected.agent.parameters(), strict=True)
        assert all(torch.equal(ours, theirs) for ours, theirs in weights), api


def test_a_row_of_same_step_has_the_next_episode() -> None:
    """No step is left out, and the last state of a truncated episode is not there to go on from."""
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=NUM_ENVS,
        vectorization_mode="parallel_pool",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        max_episode_steps=8,
    )
    torch.manual_seed(0)
    training = ppo.Training(ppo.Agent((4,), Discrete(2)))
    player = ppo.VectorPlayer(envs, seed=3)
    rollout = ppo.Rollout(50, player.observations, Discrete(2))
    player.fill(rollout, training)
    envs.close()
    assert rollout.is_real.all() and (rollout.rewards == 1).all()
    assert rollout.ended.sum() >= 6 * NUM_ENVS
    assert torch.equal(rollout.terminated, rollout.ended)
    # an episode begins near the middle
    assert (rollout.observations[1:][rollout.ended[:-1].bool()].abs() <= 0.05).all()


@pytest.mark.parametrize("api", APIS)
def test_resets_are_left_out_of_the_experience(api: str) -> None:
    """The step after an end has no reward, starts from the last state, and is left out."""
    envs = APIS[api]()
    torch.manual_seed(0)
    training = ppo.Training(ppo.Agent((4,), Discrete(2)))
    player = ppo.VectorPlayer(envs, seed=3)
    rollout = ppo.Rollout(100, player.observations, Discrete(2))
    player.fill(rollout, training)
    envs.close()
    after_end = rollout.ended[:-1].bool()
    assert after_end.sum() >= NUM_ENVS
    assert torch.equal(~rollout.is_real[1:], after_end)
    assert rollout.is_real[0].all()
    assert (rollout.rewards[1:][after_end] == 0).all()
    assert (rollout.rewards[1:][~after_end] == 1).all()
    # the state is out of bounds: Gymnasium ends an episode at 2.4 or 12 degrees
    last = rollout.observations[1:][after_end]
    assert ((last[:, 0].abs() > 2.4) | (last[:, 2].abs() > np.radians(12))).all()


def test_rare_rewards_stand_out() -> None:
    """Rewards are divided by the standard deviation of discounted returns."""
    scale = ppo.RewardScale(num_rows=2, gamma=0.5)
    rollout = ppo.Rollout(2, torch.zeros(2, 4), Discrete(2))
    rollout.rewards = torch.tensor([[8.0, 0.0], [0.0, 8.0]])
    rollout.ended = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    scale.apply(rollout)
    # returns: 8 and 0, then 4 and 8
    deviation = np.std([8, 0, 4, 8])
    expected = torch.tensor([[8.0, 0], [0, 8]]) / deviation
    torch.testing.assert_close(rollout.rewards, expected, rtol=1e-4, atol=0)
    # the first row goes on from 4, the second from 0
    rollout.rewards = torch.zeros(2, 2)
    rollout.rewards[0, 0] = 1e6
    scale.apply(rollout)
    assert rollout.rewards[0, 0] < 3
    # a rare one
    rollout = ppo.Rollout(256, torch.zeros(64, 4), Discrete(2))
    rollout.rewards[7, 7] = 1e-4
    ppo.RewardScale(64, gamma=0.5).apply(rollout)
    assert rollout.rewards.max() == rollout.rewards[7, 7] > 1e-3
    rollout.rewards[7, 7] = 1.0
    ppo.RewardScale(64, gamma=0.5).apply(rollout)
    assert rollout.rewards.max() == rollout.rewards[7, 7] == 10


def test_pong_is_played_from_pixels(tmp_path: Path) -> None:
    """Runs `integration.training.pong` for two rollouts."""
    steps = 2 * pong.NUM_ENVS * pong.SETTINGS.rollout_steps
    pong.main(["--steps", str(steps), "--out", str(tmp_path)])
    result = json.loads((tmp_path / "pong.json").read_text())
    assert result["settings"]["total_steps"] == steps
    assert len(result["returns"]) == len(result["ends"])
    assert (tmp_path / "pong.png").read_bytes().startswith(b"\x89PNG")


def test_curves_are_means_of_the_last_episodes() -> None:
    returns = np.arange(100.0)
    expected = [returns[max(0, i + 1 - pong.WINDOW) : i + 1].mean() for i in range(100)]
    np.testing.assert_allclose(pong.smooth(returns.tolist()), expected)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_agents_trained_on_rollouts_equal_those_of_the_loop(mode: AutoresetMode) -> None:
    """With the same seed, no weight differs: what the threads write is what the loop copies."""
    settings = ppo.Settings(total_steps=4 * NUM_ENVS * 64, seed=5)

    def make() -> Any:
        return parallel_pool.make_vec(
            "CartPole-v1", NUM_ENVS, backend="native", autoreset_mode=mode
        )

    envs = make()
    expected = ppo.train(envs, settings)
    envs.close()
    envs = make()
    player = ppo.RolloutPlayer(envs, settings.seed, settings.rollout_steps)
    found = ppo.learn(player, settings, lambda training, steps: None)
    envs.close()
    assert found.returns == expected.returns
    assert found.ends == expected.ends
    for name, weights in expected.agent.state_dict().items():
        assert torch.equal(found.agent.state_dict()[name], weights), name
