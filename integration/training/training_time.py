"""Trains one agent on each vectoriser, and draws how long each takes to reach a given return.

    python -m integration.training.training_time [ID ...] [--seeds N] [--minutes M]

This writes training.json (all curves) after each training, and training.png at the end. The same
command goes on where it was stopped: it skips the trainings that the file has. All of them take
hours, so `--minutes` says when the last one may begin; remove the file to begin again. Each
training is a process of its own, and all players train one seed before the next.

The agent is `ppo.py`'s: the same network, settings, seeds and number of environments for all, and
torch uses one thread. Gymnasium's vector environments and ours give the same bits, so their agents
are equal after each rollout and only the time differs. For the same seed, episodes of EnvPool and
of ale-py's AtariVectorEnv differ, so the agents differ too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import ale_py  # noqa: F401   registers its games
import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from gymnasium.wrappers.vector import NormalizeObservation, TransformObservation

import parallel_pool  # noqa: F401   adds a mode to make_vec
from integration.training import ppo
from parallel_pool._bench import machine

Env = VectorEnv[Any, Any, Any]
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Task:
    """A task to learn, and the return at which it counts as learned.

    Attributes:
        env_id: Gymnasium's id.
        target: mean return of the last `window` episodes that ends the training.
        wrap: adds the wrappers that the agent needs, the same for all vectorisers.
        options: of `gymnasium.make_vec`.
        envpool_id: EnvPool's id; None: it has no such environment.
        ale_game: ale-py's name of the game; None: it is no Atari game.
    """

    env_id: str
    num_envs: int
    target: float
    window: int
    settings: ppo.Settings
    wrap: Callable[[Env], Env] = lambda env: env
    options: Mapping[str, Any] = field(default_factory=dict)
    envpool_id: str | None = None
    ale_game: str | None = None


def shortened(task: Task, steps: int) -> Task:
    return replace(task, settings=replace(task.settings, total_steps=steps))


def normalized(env: Env) -> Env:
    """Normalises observations to mean 0 and variance 1, as is usual for MuJoCo."""
    return NormalizeObservation(env)


def moving(env: Env) -> Env:
    """Shows what moved on Pong's field between the last two frames, at half the resolution."""

    def movement(frames: Any) -> Any:
        field = frames[:, 2:, 14:78:2, ::2].astype(np.float32)
        return ((field[:, 1] - field[:, 0]) / 128).reshape(len(frames), -1)

    space = Box(-2.0, 2.0, (32 * 42,), np.float32)
    return TransformObservation(env, movement, single_observation_space=space)


TASKS = (
    Task(
        env_id="CartPole-v1",
        num_envs=64,
        target=400,
        window=64,
        settings=ppo.Settings(total_steps=1_000_000, rollout_steps=32),
        envpool_id="CartPole-v1",
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
        envpool_id="HalfCheetah-v5",
    ),
    Task(
        env_id="ALE/Pong-v5",
        num_envs=32,
        target=18,
        window=64,
        settings=ppo.Settings(
            total_steps=2_457_600,
            rollout_steps=128,
            epochs=3,
            gamma=0.99,
            gae_lambda=0.95,
            entropy_weight=0.01,
        ),
        wrap=moving,
        options={
            "frameskip": 1,
            "repeat_action_probability": 0.0,
            "wrappers": (AtariPreprocessing, partial(FrameStackObservation, stack_size=4)),
        },
        envpool_id="Pong-v5",
        ale_game="pong",
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
    return lambda task, seed: gymnasium.make_vec(task.env_id, task.num_envs, name, **task.options)


def envpool(task: Task, seed: int) -> Env:
    assert task.envpool_id
    return EnvPoolEnv(task.envpool_id, task.num_envs, seed)


def ale(task: Task, seed: int) -> Env:
    from ale_py.vector_env import AtariVectorEnv

    options = {"use_fire_reset": False, "reward_clipping": False}
    return AtariVectorEnv(task.ale_game, task.num_envs, **options)


OURS, SYNC = "parallel_pool", "Gymnasium, sync"
PLAYERS: dict[str, Callable[[Task, int], Env]] = {
    OURS: mode("parallel_pool"),
    **({"EnvPool": envpool} if find_spec("envpool") else {}),
    "ale-py AtariVectorEnv": ale,
    SYNC: mode("sync"),
    "Gymnasium, async": mode("async"),
}


def players(task: Task) -> list[str]:
    """Returns the names of those that have the task's environments."""
    has = {"EnvPool": task.envpool_id, "ale-py AtariVectorEnv": task.ale_game}
    return [name for name in PLAYERS if has.get(name, name)]


def train(task: Task, make: Callable[[Task, int], Env], seed: int) -> dict[str, Any]:
    """Trains once.

    Returns:
        The curve, and whether the target was reached. The curve has, after each rollout, seconds,
        environment steps, and mean return (None before the first episode has ended). The seconds
        exclude making the environments, and torch's import of its compiler.
    """
    # the first optimizer of a process imports that, which takes seconds
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
    envs = task.wrap(make(task, seed))
    settings = replace(task.settings, seed=seed)
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


def train_in_a_process(task: Task, name: str, seed: int) -> dict[str, Any]:
    """Trains once, in a process that holds nothing of other players."""
    command = [sys.executable, "-m", "integration.training.training_time"]
    one = json.dumps([task.env_id, name, seed, task.settings.total_steps])
    moment = machine.moment()
    done = subprocess.run(
        [*command, "--one", one],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    return {"seed": seed, **json.loads(done.stdout.splitlines()[-1]), "moment": moment}


def check_equal(task: Task, runs: Mapping[str, Sequence[dict[str, Any]]], seed: int) -> None:
    """Raises AssertionError if an agent differs between our environments and Gymnasium's."""
    ours, sync = (
        [point[1:] for run in runs.get(name, ()) if run["seed"] == seed for point in run["curve"]]
        for name in (OURS, SYNC)
    )
    assert not (ours and sync) or ours == sync, f"{task.env_id}, seed {seed}: the agents differ"


def measure(
    tasks: Sequence[Task],
    seeds: Sequence[int],
    result: dict[str, Any],
    save: Callable[[], None],
    until: float,
) -> None:
    """Adds the trainings that a result lacks: all players of a seed, one after another, so that a
    slow hour affects all of them.

    Args:
        save: called after each training.
        until: `time.monotonic` after which none begins.
    """
    for seed in seeds:
        for task in tasks:
            runs = result["tasks"].setdefault(task.env_id, {})
            for name in players(task):
                own = runs.setdefault(name, [])
                if seed in (run["seed"] for run in own) or time.monotonic() > until:
                    continue
                own.append(train_in_a_process(task, name, seed))
                took, steps, mean = own[-1]["curve"][-1]
                reached = "no episode" if mean is None else f"{mean:8.1f}"
                what = f"{task.env_id} seed {seed} {name:22}"
                print(f"{what} {took:7.1f} s {steps:9,d} steps {reached}", flush=True)
                check_equal(task, runs, seed)
                save()


COLOURS = {
    OURS: "#0b7285",
    "EnvPool": "#e8590c",
    "ale-py AtariVectorEnv": "#9c36b5",
    SYNC: "#7b8794",
    "Gymnasium, async": "#adb5bd",
}


def draw(result: dict[str, Any], path: Path) -> None:
    """Draws return over time, one panel for each task, with the median time to the target."""
    from matplotlib.figure import Figure

    tasks = [task for task in TASKS if any(result["tasks"].get(task.env_id, {}).values())]
    if not tasks:
        return
    figure = Figure(figsize=(5 * len(tasks), 4), layout="constrained")
    panels = figure.subplots(1, len(tasks), squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        runs = result["tasks"][task.env_id]
        for name, colour in COLOURS.items():
            if not runs.get(name):
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
    counts = {len(own) for task in tasks for own in result["tasks"][task.env_id].values()}
    seeds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    figure.suptitle(
        f"The same PPO over each vectoriser, to a mean return of"
        f" {', '.join(f'{task.target:g}' for task in tasks)}"
        f" (median of {seeds} seeds; {facts['cpu']}, {facts['cores']} cores)",
        fontsize=10,
    )
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains all agents and writes the results."""
    ids = [task.env_id for task in TASKS]
    parser = argparse.ArgumentParser(prog="python -m integration.training.training_time")
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"of {', '.join(ids)} (all)")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each (5)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="none begins later")
    parser.add_argument(
        "--steps", type=int, help="of all environments together, to try the program"
    )
    parser.add_argument("--out", type=Path, default=Path("integration/results"))
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.one:
        env_id, name, seed, steps = options.one
        task = shortened(TASKS[ids.index(env_id)], steps)
        print(json.dumps(train(task, PLAYERS[name], seed)))
        return
    if unknown := set(options.ids) - set(ids):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(ids)}")
    path = options.out / "training.json"
    result = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
    result["machine"] = machine.facts()

    def save() -> None:
        options.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result) + "\n")

    tasks = [task for task in TASKS if not options.ids or task.env_id in options.ids]
    if options.steps:
        tasks = [shortened(task, options.steps) for task in tasks]
    until = time.monotonic() + 60 * options.minutes
    measure(tasks, range(1, options.seeds + 1), result, save, until)
    save()
    draw(result, options.out / "training.png")


if __name__ == "__main__":
    main()
