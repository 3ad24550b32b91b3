"""shared_ppo.py trains one policy for all agents; its weights are those of the row-wise API."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from integration.training import ppo, self_play, shared_ppo, spread
from parallel_pool import PoolParallelEnv

RESULTS = Path(__file__).parents[1] / "results"
NUM_ENVS = 6


@pytest.fixture(autouse=True)
def one_torch_thread(torch_threads: Callable[[int], None]) -> None:
    """One thread, as the networks are small."""
    torch_threads(1)


def native() -> PoolParallelEnv:
    return PoolParallelEnv("mpe/simple_spread_v3", NUM_ENVS)


def in_workers() -> PoolParallelEnv:
    def make() -> Any:
        from mpe2 import simple_spread_v3

        return simple_spread_v3.parallel_env()

    return PoolParallelEnv([make] * NUM_ENVS, num_workers=2)


def same(found: ppo.Training, expected: ppo.Training) -> bool:
    weights = zip(found.agent.parameters(), expected.agent.parameters(), strict=True)
    return found.returns == expected.returns and all(torch.equal(*pair) for pair in weights)


def test_stacked_arrays_and_rows_give_the_same_agent() -> None:
    """With the same seed no weight differs, also from mpe2's own worlds in worker processes."""
    settings = ppo.Settings(total_steps=4 * NUM_ENVS * 3 * 64, seed=3)
    envs = native().as_vector_env()
    expected = ppo.train(envs, settings)
    envs.close()
    assert len(expected.returns) > 2 * NUM_ENVS * 3
    for make in (native, in_workers):
        envs = make()
        found = shared_ppo.train(envs, settings)
        envs.close()
        assert same(found, expected), make
    envs = native()
    other = shared_ppo.train(envs, ppo.Settings(total_steps=settings.total_steps, seed=4))
    envs.close()
    assert not same(other, expected)


def test_rows_of_agents_that_wait_are_left_out_of_the_experience() -> None:
    """In the step that resets a world no agent is live."""
    envs = native()
    player = shared_ppo.SharedPlayer(envs, seed=0)
    training = ppo.Training(ppo.Agent((18,), player.actions))
    rollout = ppo.Rollout(60, player.observations, player.actions)
    player.fill(rollout, training)
    envs.close()
    # an episode has 25 steps, and the 26th resets
    resets = ~rollout.is_real
    assert resets.any(1).nonzero().flatten().tolist() == [25, 51]
    assert torch.equal(rollout.ended.bool().any(1).nonzero().flatten(), torch.tensor([24, 50]))
    assert (rollout.rewards[resets] == 0).all()
    assert len(training.returns) == 2 * NUM_ENVS * 3


def test_simple_spread_is_trained_in_both_ways(tmp_path: Path) -> None:
    """Runs `integration.training.spread` for two rollouts."""
    steps = 2 * spread.NUM_ENVS * spread.NUM_AGENTS * spread.SETTINGS.rollout_steps
    spread.main(["--steps", str(steps), "--out", str(tmp_path)])
    result = json.loads((tmp_path / "spread.json").read_text())
    assert (tmp_path / "spread.png").read_bytes().startswith(b"\x89PNG")
    assert set(result["curves"]) == set(spread.WAYS)
    for curve in result["curves"].values():
        assert [point[0] for point in curve] == [steps // 2, steps]
    fixed = result["fixed"]
    assert fixed["at random"] < spread.GOAL < fixed["planned"]


def test_pong_plays_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs `integration.training.self_play` for two rollouts, with a few short games."""
    monkeypatch.setattr(self_play, "GAMES", 2)
    monkeypatch.setattr(self_play, "MAX_GAME_STEPS", 30)
    rollout = 2 * self_play.NUM_ENVS * self_play.SETTINGS.rollout_steps
    monkeypatch.setattr(self_play, "EVERY", rollout)
    self_play.main(["--steps", str(2 * rollout), "--out", str(tmp_path)])
    result = json.loads((tmp_path / "self_play.json").read_text())
    assert (tmp_path / "self_play.png").read_bytes().startswith(b"\x89PNG")
    assert [steps for steps, _ in result["against_random"]] == [rollout, 2 * rollout]
    assert [steps for steps, _ in result["against_earlier"]] == [rollout]


def test_scores_are_those_of_the_policy_on_both_sides() -> None:
    """What a policy scores on one side, the other loses there."""

    def upwards(observations: torch.Tensor) -> torch.Tensor:
        # up, and serve
        return torch.full((len(observations),), 4)

    def downwards(observations: torch.Tensor) -> torch.Tensor:
        return torch.full((len(observations),), 5)

    up, down = self_play.scores(upwards, downwards), self_play.scores(downwards, upwards)
    assert up[0] != up[1]
    # in game 1 of the second call, upwards is the first side again
    assert down[1] == -up[0]
    assert down[0] == -up[1]


def test_the_committed_runs_reached_their_goals() -> None:
    curves = json.loads((RESULTS / "spread.json").read_text())["curves"]
    assert all(curve[-1][2] >= spread.GOAL for curve in curves.values())
    assert json.loads((RESULTS / "self_play.json").read_text())["against_random"][-1][1] >= (
        self_play.GOAL
    )
