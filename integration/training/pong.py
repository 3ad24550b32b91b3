"""Trains `ppo.py` on Pong from pixels, on our own console, and draws the learning curve.

    python -m integration.training.pong

This trains until the mean return reaches `GOAL`, then writes pong.json (each episode's return, and
when it ended) and pong.png. After Ctrl-C it writes the result so far. Images are 64 x 64, so that
one core is enough for the network; the environments take a small part of the time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import parallel_pool
from integration.training import ppo

NUM_ENVS = 16
OPTIONS: dict[str, Any] = {"img_height": 64, "img_width": 64, "stack_num": 4}
SETTINGS = ppo.Settings(
    total_steps=8_000_000,
    rollout_steps=128,
    epochs=4,
    minibatches=8,
    learning_rate=4e-4,
    gamma=0.99,
    gae_lambda=0.95,
    clip=0.1,
    entropy_weight=0.01,
)
# number of episodes in the moving average, and the average that ends training
WINDOW, GOAL = 64, 18.0


def make() -> Any:
    """Makes the environments."""
    return parallel_pool.make("Pong-v5", env_type="gymnasium", num_envs=NUM_ENVS, **OPTIONS)


def smooth(returns: Sequence[float]) -> list[float]:
    """Returns the moving average over WINDOW episodes."""
    sums = np.cumsum([0.0, *returns])
    ends = np.arange(1, len(returns) + 1)
    starts = np.maximum(0, ends - WINDOW)
    means: list[float] = ((sums[ends] - sums[starts]) / (ends - starts)).tolist()
    return means


def draw(result: dict[str, Any], path: Path) -> None:
    """Draws the learning curve."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    threads = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    millions = np.array(result["ends"]) * 4 / 1e6
    axes.plot(millions, result["returns"], ".", color="0.75", markersize=2, label="an episode")
    axes.plot(millions, smooth(result["returns"]), color="C0", label=f"mean of {WINDOW}")
    axes.axhline(GOAL, color="0.5", linewidth=0.8, linestyle="--")
    axes.set(
        xlabel="millions of frames",
        ylabel="return",
        ylim=(-21.5, 21.5),
        title=f"PPO learns Pong (seed {result['settings']['seed']}): "
        f"{60 * result['minutes']:,.0f} seconds, network on {threads}",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, and writes the result."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.pong")
    parser.add_argument("--steps", type=int, default=SETTINGS.total_steps, help="environment steps")
    parser.add_argument("--out", type=Path, default=Path("integration/results"))
    options = parser.parse_args(arguments)
    settings = ppo.Settings(**{**asdict(SETTINGS), "total_steps": options.steps})
    start = time.monotonic()
    training: ppo.Training | None = None

    def report(so_far: ppo.Training, steps: int) -> bool:
        nonlocal training
        training = so_far
        passed = time.monotonic() - start
        recent = np.mean(training.returns[-WINDOW:]) if training.returns else np.nan
        print(f"{steps:9,d} steps {passed:6.0f} s {recent:7.2f}", flush=True)
        return len(training.returns) >= WINDOW and bool(recent >= GOAL)

    envs = make()
    with contextlib.suppress(KeyboardInterrupt):
        ppo.train(envs, settings, report)
    envs.close()
    if training is None:
        return
    result = {
        "settings": asdict(settings),
        "num_envs": NUM_ENVS,
        "options": OPTIONS,
        "threads": torch.get_num_threads(),
        "minutes": (time.monotonic() - start) / 60,
        "ends": training.ends,
        "returns": training.returns,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "pong.json").write_text(json.dumps(result) + "\n")
    draw(result, options.out / "pong.png")


if __name__ == "__main__":
    main()
