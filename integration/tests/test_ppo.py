"""ppo.py learns CartPole through both APIs, with the weights that it gets on Gymnasium."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from gymnasium.vector import VectorEnv

import parallel_pool
from integration.training import pong, ppo, training_time
from integration.training.agents import LEARNED, WINDOW, best
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
    assert np.mean(returns[:WINDOW]) < LEARNED <= best(returns)


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


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Lets `integration.training.training_time` train in this process, with 4 environments."""
    short = tuple(replace(task, num_envs=4) for task in training_time.TASKS)
    monkeypatch.setattr(training_time, "TASKS", short)

    def train(task: training_time.Task, name: str, seed: int) -> dict[str, Any]:
        return {"seed": seed, **training_time.train(task, training_time.PLAYERS[name], seed)}

    monkeypatch.setattr(training_time, "train_in_a_process", train)
    # MuJoCo writes its log into the current folder
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps_of(run: dict[str, Any]) -> list[int]:
    return [steps for _, steps, _ in run["curve"]]


def test_training_takes_the_same_steps_on_each_vectoriser(here: Path) -> None:
    """Two rollouts of each task."""
    for task in training_time.TASKS:
        rollout = 4 * task.settings.rollout_steps
        words = [task.env_id, "--seeds", "1", "--steps", str(2 * rollout), "--out", str(here)]
        training_time.main(words)
        runs = json.loads((here / "training.json").read_text())["tasks"][task.env_id]
        assert set(runs) == set(training_time.players(task))
        for name, (run,) in runs.items():
            assert steps_of(run) == [rollout, 2 * rollout], name
            assert not run["reached"]
    assert (here / "training.png").read_bytes().startswith(b"\x89PNG")


def test_a_measurement_goes_on_where_it_was_stopped(here: Path) -> None:
    def train(*words: str) -> dict[str, list[dict[str, Any]]]:
        given = ["CartPole-v1", "--steps", "128", "--out", str(here), *words]
        training_time.main(given)
        found = json.loads((here / "training.json").read_text())["tasks"]["CartPole-v1"]
        return dict(found)

    assert not any(train("--minutes", "0").values())
    first = train("--seeds", "1")
    assert {len(own) for own in first.values()} == {1}
    both = train("--seeds", "2")
    assert [[run["seed"] for run in own] for own in both.values()] == [[1, 2]] * len(both)
    # those of the first seed are the same, times included
    assert {name: own[:1] for name, own in both.items()} == first


def test_an_agent_that_differs_is_found(here: Path) -> None:
    task = training_time.TASKS[0]
    runs = {
        name: [{"seed": 1, "curve": [[0.0, 128, mean]]}]
        for name, mean in ((training_time.OURS, 20.0), (training_time.SYNC, 20.5))
    }
    with pytest.raises(AssertionError, match="CartPole-v1, seed 1: the agents differ"):
        training_time.check_equal(task, runs, 1)


def test_a_training_has_a_process_of_its_own() -> None:
    task = training_time.shortened(training_time.TASKS[0], 2 * 64 * 32)
    run = training_time.train_in_a_process(task, training_time.OURS, 3)
    assert run["seed"] == 3 and steps_of(run) == [64 * 32, 2 * 64 * 32]
    assert set(run["moment"]) == {"time", "commit", "load"}


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
