"""Trains one agent on each vectoriser, and draws how long each takes to reach a given return.

    python -m integration.training.training_time

This writes training.json (all curves) and training.png. The agent is `ppo.py`'s: the same network,
settings, seeds and number of environments for all, and torch uses one thread. Gymnasium's vector
environments and ours give the same bits, so their agents are equal after each rollout and only the
time differs. EnvPool's episodes differ for the same seed, so its agents differ too.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import NormalizeObservation

import parallel_pool  # noqa: F401   adds a mode to make_vec
from integration.training import ppo
from parallel_pool._bench import machine

Env = VectorEnv[Any, Any, Any]


@dataclass(frozen=True)
class Task:
    """A task to learn, and the return at which it counts as learned.

    Attributes:
        target: mean return of the last `window` episodes that ends the training.
        wrap: adds the wrappers that the agent needs, the same for all vectorisers.
    """

    env_id: str
    num_envs: int
    target: float
    window: int
    settings: ppo.Settings
    wrap: Callable[[Env], Env] = lambda env: env


def normalized(env: Env) -> Env:
    """Normalises observations to mean 0 and variance 1, as is usual for MuJoCo."""
    return NormalizeObservation(env)


TASKS = (
    Task(
        env_id="CartPole-v1",
        num_envs=64,
        target=400,
        window=64,
        settings=ppo.Settings(total_steps=1_000_000, rollout_steps=32),
    ),
    Task(
        env_id="HalfCheetah-v5",
        num_envs=64,
        target=1000,
        window=64,
        settings=ppo.Settings(
            total_steps=2_000_000,
            rollout_steps=64,
            epochs=5,
            minibatches=8,
            learning_rate=5e-4,
            gamma=0.98,
            gae_lambda=0.92,
            entropy_weight=0.0,
        ),
        wrap=normalized,
    ),
)


class EnvPoolEnv(VectorEnv[Any, Any, Any]):
    """EnvPool's own pool as a `VectorEnv`, so that wrappers and `ppo.py` take it."""

    def __init__(self, env_id: str, num_envs: int, seed: int) -> None:
        import envpool

        self._pool = envpool.make(env_id, env_type="gymnasium", num_envs=num_envs, seed=seed)
        self.num_envs = num_envs
        self.single_observation_space = self._pool.observation_space
        self.single_action_space = self._pool.action_space
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._pool.reset()

    def step(self, actions: Any) -> Any:
        kind = np.int32 if actions.dtype == np.int64 else np.float64
        return self._pool.step(actions.astype(kind))

    def close_extras(self, **kwargs: Any) -> None:
        self._pool.close()


def mode(name: str) -> Callable[[Task, int], Env]:
    """Returns a function that makes environments with this mode of `gymnasium.make_vec`."""
    return lambda task, seed: gymnasium.make_vec(task.env_id, task.num_envs, name)


PLAYERS: dict[str, Callable[[Task, int], Env]] = {
    "parallel_pool": mode("parallel_pool"),
    **(
        {"EnvPool": lambda task, seed: EnvPoolEnv(task.env_id, task.num_envs, seed)}
        if find_spec("envpool")
        else {}
    ),
    "Gymnasium, sync": mode("sync"),
    "Gymnasium, async": mode("async"),
}


def train(task: Task, make: Callable[[Task, int], Env], seed: int) -> dict[str, Any]:
    """Trains once.

    Returns:
        The curve, and whether the target was reached. The curve has, after each rollout, seconds,
        environment steps, and mean return (None before the first episode has ended). The seconds
        exclude making the environments.
    """
    envs = task.wrap(make(task, seed))
    settings = ppo.Settings(**{**asdict(task.settings), "seed": seed})
    curve: list[tuple[float, int, float | None]] = []

    def is_reached(mean: float | None) -> bool:
        return mean is not None and mean >= task.target

    start = time.monotonic()

    def record(training: ppo.Training, steps: int) -> bool:
        recent = training.returns[-task.window :]
        mean = float(np.mean(recent)) if recent else None
        curve.append((time.monotonic() - start, steps, mean))
        return is_reached(mean) and len(recent) == task.window

    ppo.train(envs, settings, record)
    envs.close()
    return {"curve": curve, "reached": is_reached(curve[-1][2])}


def seconds(runs: Sequence[dict[str, Any]]) -> float | None:
    """Returns the median time to the target; None if a run did not reach it."""
    if not all(run["reached"] for run in runs):
        return None
    return median(run["curve"][-1][0] for run in runs)


def measure(task: Task, seeds: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
    """Trains on all vectorisers in turn for each seed, so that a slow minute affects all of them.

    Raises:
        AssertionError: an agent differs between our environments and Gymnasium's.
    """
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in PLAYERS}
    for seed in seeds:
        for name, make in PLAYERS.items():
            runs[name].append(train(task, make, seed))
            took, steps, mean = runs[name][-1]["curve"][-1]
            reached = "no episode" if mean is None else f"{mean:8.1f}"
            what = f"{task.env_id} seed {seed} {name:18}"
            print(f"{what} {took:7.1f} s {steps:9,d} steps {reached}", flush=True)
        ours, sync = (
            [point[1:] for point in runs[name][-1]["curve"]]
            for name in ("parallel_pool", "Gymnasium, sync")
        )
        assert ours == sync, f"{task.env_id}, seed {seed}: the agents differ"
    return runs


COLOURS = {
    "parallel_pool": "#0b7285",
    "EnvPool": "#e8590c",
    "Gymnasium, sync": "#7b8794",
    "Gymnasium, async": "#adb5bd",
}


def draw(result: dict[str, Any], path: Path) -> None:
    """Draws return over time, one panel for each task, with the median time to the target."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, len(TASKS), squeeze=False)[0]
    for axes, task in zip(panels, TASKS, strict=True):
        runs = result["tasks"][task.env_id]
        for name, colour in COLOURS.items():
            if name not in runs:
                continue
            took = seconds(runs[name])
            label = f"{name}: " + ("not reached" if took is None else f"{took:.0f} s")
            for run in runs[name]:
                curve = [point for point in run["curve"] if point[2] is not None]
                times, returns = [point[0] for point in curve], [point[2] for point in curve]
                axes.plot(times, returns, color=colour, alpha=0.8, linewidth=1.2, label=label)
                label = None
        axes.axhline(task.target, color="0.6", linestyle=":", linewidth=1)
        axes.set(
            xlabel="seconds",
            ylabel=f"mean return of {task.window} episodes",
            title=f"{task.env_id}, {task.num_envs} environments",
        )
        axes.legend(loc="lower right", fontsize=8)
        axes.grid(alpha=0.3)
    facts = result["machine"]
    figure.suptitle(
        f"The same PPO over each vectoriser, to a mean return of"
        f" {' and '.join(f'{task.target:g}' for task in TASKS)}"
        f" (median of {len(result['seeds'])} seeds; {facts['cpu']}, {facts['cores']} cores)",
        fontsize=10,
    )
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains all agents and writes the results."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.training_time")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each (5)")
    parser.add_argument("--out", type=Path, default=Path("integration/results"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    seeds = range(1, options.seeds + 1)
    result = {
        "machine": machine.facts(),
        "moment": machine.moment(),
        "seeds": list(seeds),
        "tasks": {task.env_id: measure(task, seeds) for task in TASKS},
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "training.json").write_text(json.dumps(result) + "\n")
    draw(result, options.out / "training.png")


if __name__ == "__main__":
    main()
