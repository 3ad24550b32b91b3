"""Trains one policy on both sides of two-player Pong, and draws its learning curve.

    python -m integration.training.self_play

The policy plays itself. It sees the console's memory, 128 bytes, and which side it is on. Its own
mean return is 0 and says nothing: what is measured is the mean score against an opponent that moves
at random, in points won minus points lost (from -21 to 21), on both sides alternately. Training
ends when that reaches `GOAL`. Then the policy plays those that it was before. The result is written
to self_play.json and self_play.png, also after Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from integration.training import ppo, shared_ppo
from parallel_pool import PoolParallelEnv
from parallel_pool._apis.pettingzoo.groups import AgentArrays

NUM_ENVS = 64
OPTIONS: dict[str, Any] = {"obs_type": "ram", "frame_skip": 4}
SETTINGS = ppo.Settings(
    total_steps=8_000_000,
    rollout_steps=128,
    epochs=4,
    minibatches=16,
    learning_rate=1e-3,
    gamma=0.98,
    gae_lambda=0.95,
    entropy_weight=0.001,
)
# steps of both players of all games between two measurements, and the score that ends training
EVERY, GOAL = 10 * 2 * NUM_ENVS * SETTINGS.rollout_steps, 16.0
# games of a measurement, and the steps after which one that nobody has won is over
GAMES, MAX_GAME_STEPS = 64, 4000

Policy = Callable[[Tensor], Tensor]
"""Returns actions (n,) for observations (n, 130)."""


def make(num_envs: int) -> PoolParallelEnv:
    """Makes the games."""
    return PoolParallelEnv("atari/pong_v3", num_envs, **OPTIONS)


def view(arrays: AgentArrays) -> Tensor:
    """Returns what both players of all games see, (n * 2, 130): the memory, and their side."""
    (memory,) = arrays.observations
    sides = torch.eye(2).expand(len(memory), 2, 2)
    return torch.cat([torch.as_tensor(memory) / 255, sides], -1).flatten(0, 1)


def at_random(observations: Tensor) -> Tensor:
    """Chooses all actions with equal probabilities."""
    return torch.randint(6, (len(observations),))


def policy(agent: ppo.Agent) -> Policy:
    """Returns the policy of an agent, which draws its actions as in training."""

    @torch.no_grad()
    def act(observations: Tensor) -> Tensor:
        return agent.act(observations)[0]

    return act


def scores(ours: Policy, theirs: Policy, seed: int = 0) -> list[float]:
    """Plays GAMES games, in every other one on the second side; returns what ours scored."""
    envs = make(GAMES)
    arrays = envs.reset_arrays(seed=seed)
    second = np.arange(GAMES) % 2
    games = np.arange(GAMES)
    total, over = np.zeros(GAMES), np.zeros(GAMES, bool)
    # the training's random numbers are not used up
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for _ in range(MAX_GAME_STEPS):
            seen = view(arrays).unflatten(0, (GAMES, 2))
            actions = np.zeros((GAMES, 2), int)
            actions[games, second] = ours(seen[games, second]).numpy()
            actions[games, 1 - second] = theirs(seen[games, 1 - second]).numpy()
            arrays = envs.step_arrays(actions)
            total += np.where(over, 0, arrays.rewards[games, second])
            over |= ~arrays.live.any(1)
            if over.all():
                break
    envs.close()
    return [float(score) for score in total]


def draw(result: dict[str, Any], path: Path) -> None:
    """Draws the scores against a random opponent, and against earlier policies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    steps, against_random = zip(*result["against_random"], strict=True)
    axes.plot(np.array(steps) / 1e6, against_random, ".-", color="C0", label="a random opponent")
    if result["against_earlier"]:
        steps, against_earlier = zip(*result["against_earlier"], strict=True)
        axes.plot(
            *(np.array(steps) / 1e6, against_earlier, ".-"),
            color="C1",
            label="the last policy against the one of these steps",
        )
    axes.axhline(GOAL, color="0.5", linewidth=0.8, linestyle="--")
    threads = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    axes.set(
        xlabel="millions of steps of both players",
        ylabel=f"points won minus lost, mean of {GAMES} games",
        ylim=(-21.5, 21.5),
        title=f"Pong by self-play (seed {result['settings']['seed']}): "
        f"{60 * result['minutes']:,.0f} seconds, network on {threads}",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, and writes the result."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.self_play")
    parser.add_argument("--steps", type=int, default=SETTINGS.total_steps, help="of both players")
    parser.add_argument("--out", type=Path, default=Path("integration/results"))
    options = parser.parse_args(arguments)
    settings = ppo.Settings(**{**asdict(SETTINGS), "total_steps": options.steps})
    start = time.monotonic()
    earlier: list[tuple[int, ppo.Agent]] = []
    against_random: list[tuple[int, float]] = []

    def report(training: ppo.Training, steps: int) -> bool:
        if steps % EVERY and steps < options.steps:
            return False
        score = float(np.mean(scores(policy(training.agent), at_random)))
        against_random.append((steps, score))
        earlier.append((steps, copy.deepcopy(training.agent)))
        print(f"{steps:9,d} steps {time.monotonic() - start:6.0f} s {score:7.2f}", flush=True)
        return score >= GOAL

    envs = make(NUM_ENVS)
    with contextlib.suppress(KeyboardInterrupt):
        shared_ppo.train(envs, settings, report, view)
    envs.close()
    if not earlier:
        return
    minutes = (time.monotonic() - start) / 60
    last = policy(earlier[-1][1])
    against_earlier = [
        (steps, float(np.mean(scores(last, policy(agent))))) for steps, agent in earlier[:-1]
    ]
    result = {
        "settings": asdict(settings),
        "num_envs": NUM_ENVS,
        "options": OPTIONS,
        "threads": torch.get_num_threads(),
        "minutes": minutes,
        "against_random": against_random,
        "against_earlier": against_earlier,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "self_play.json").write_text(json.dumps(result) + "\n")
    draw(result, options.out / "self_play.png")


if __name__ == "__main__":
    main()
