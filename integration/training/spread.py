"""Trains one policy for all agents of simple_spread, in two ways, and draws the learning curves.

    python -m integration.training.spread

Three agents are to cover three landmarks and not to collide. "stacked arrays" is the loop of
`shared_ppo.py`; "Stable-Baselines3" is its PPO on an `AgentVecEnv`, with the same settings. Both
train for `SETTINGS.total_steps` steps of agents. A return is that of one agent in one episode of 25
steps. Agents that move at random reach -27; those of `planned`, which shares the landmarks out and
walks there, reach -8; a mean of `GOAL` counts as learned. The result is written to spread.json and
spread.png.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from integration.training import ppo, shared_ppo
from integration.training.agents import Returns
from parallel_pool import PoolParallelEnv
from parallel_pool.compat.sb3 import AgentVecEnv

ENV_ID, NUM_ENVS, NUM_AGENTS = "mpe/simple_spread_v3", 128, 3
SETTINGS = ppo.Settings(
    total_steps=6_000_000,
    rollout_steps=50,
    epochs=8,
    minibatches=16,
    learning_rate=2e-3,
    gamma=0.95,
    gae_lambda=0.9,
    entropy_weight=0.002,
)
# returns in the moving average, and the average that counts as learned
WINDOW, GOAL = 6000, -11.0

Curve = list[tuple[int, float, float]]
"""Steps of agents, seconds, and mean return of the last WINDOW episodes."""


class Recorder:
    """Records a learning curve."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.curve: Curve = []

    def add(self, steps: int, returns: Sequence[float]) -> None:
        if returns:
            mean = float(np.mean(returns[-WINDOW:]))
            self.curve.append((steps, time.monotonic() - self.start, mean))


def with_arrays(settings: ppo.Settings) -> Curve:
    """Trains with `shared_ppo.py`."""
    envs = PoolParallelEnv(ENV_ID, NUM_ENVS)
    recorder = Recorder()
    shared_ppo.train(envs, settings, lambda training, steps: recorder.add(steps, training.returns))
    envs.close()
    return recorder.curve


def with_sb3(settings: ppo.Settings) -> Curve:
    """Trains with Stable-Baselines3's PPO."""
    recorder = Recorder()

    class Record(Returns):
        def _on_rollout_end(self) -> None:
            recorder.add(self.num_timesteps, self.all)

    envs = VecMonitor(AgentVecEnv(ENV_ID, NUM_ENVS))
    rows = settings.rollout_steps * envs.num_envs
    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=settings.rollout_steps,
        batch_size=rows // settings.minibatches,
        n_epochs=settings.epochs,
        learning_rate=lambda left: settings.learning_rate * left,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy_weight,
        seed=settings.seed,
        device="cpu",
    )
    model.learn(settings.total_steps // rows * rows, callback=Record())
    envs.close()
    return recorder.curve


WAYS: Mapping[str, Callable[[ppo.Settings], Curve]] = {
    "stacked arrays": with_arrays,
    "Stable-Baselines3": with_sb3,
}


def at_random(seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Moves in any direction, or not at all."""
    return rng.integers(5, size=seen.shape[:2])


def planned(seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Assigns each agent a landmark so that all ways together are shortest, and goes there."""
    velocities, ways = seen[..., :2], seen[..., 4:10].reshape(-1, NUM_AGENTS, NUM_AGENTS, 2)
    lengths = np.linalg.norm(ways, axis=-1)
    agents = np.arange(NUM_AGENTS)
    orders = np.array(list(itertools.permutations(agents)))
    chosen = orders[lengths[:, agents, orders].sum(-1).argmin(1)]
    # an agent that brakes from now on slides this much further
    to_go = ways[np.arange(len(seen))[:, None], agents, chosen] - 0.2 * velocities
    axis = np.abs(to_go).argmax(-1)
    way = np.take_along_axis(to_go, axis[..., None], -1)[..., 0]
    # 1 and 2 push to the left and right, 3 and 4 down and up
    push = 2 * axis + np.where(way > 0, 2, 1)
    return np.where(np.abs(way) < 0.05, 0, push)


def mean_return(choose: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> float:
    """Returns the mean return of fixed agents."""
    envs = PoolParallelEnv(ENV_ID, 1000)
    rng = np.random.default_rng(0)
    arrays = envs.reset_arrays(seed=0)
    total = 0.0
    while arrays.live.any():
        arrays = envs.step_arrays(choose(arrays.observations[0], rng))
        total += float(arrays.rewards.mean())
    envs.close()
    return total


def draw(result: dict[str, Any], path: Path) -> None:
    """Draws the learning curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for color, (name, curve) in enumerate(result["curves"].items()):
        steps, seconds, means = zip(*curve, strict=True)
        label = f"{name}: {seconds[-1]:,.0f} s"
        axes.plot(np.array(steps) / 1e6, means, color=f"C{color}", label=label)
    for name, mean in result["fixed"].items():
        axes.axhline(mean, color="0.7", linewidth=0.8)
        axes.text(0.15, mean, name, transform=axes.get_yaxis_transform(), va="bottom", color="0.5")
    axes.axhline(GOAL, color="0.5", linewidth=0.8, linestyle="--")
    threads = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    axes.set(
        xlabel="millions of steps of agents",
        ylabel=f"return of an agent, mean of {WINDOW:,}",
        title=f"One policy for simple_spread (seed {result['settings']['seed']}),"
        f" network on {threads}",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains in both ways, and writes the result."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.spread")
    parser.add_argument("--steps", type=int, default=SETTINGS.total_steps, help="of agents")
    parser.add_argument("--threads", type=int, default=1, help="of torch (1)")
    parser.add_argument("--out", type=Path, default=Path("integration/results"))
    options = parser.parse_args(arguments)
    settings = ppo.Settings(**{**asdict(SETTINGS), "total_steps": options.steps})
    torch.set_num_threads(options.threads)
    curves = {}
    for name, train in WAYS.items():
        curves[name] = train(settings)
        print(f"{name}: {curves[name][-1][2]:.2f} after {curves[name][-1][1]:.0f} s", flush=True)
    result = {
        "settings": asdict(settings),
        "num_envs": NUM_ENVS,
        "threads": options.threads,
        "fixed": {"at random": mean_return(at_random), "planned": mean_return(planned)},
        "curves": curves,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "spread.json").write_text(json.dumps(result) + "\n")
    draw(result, options.out / "spread.png")


if __name__ == "__main__":
    main()
