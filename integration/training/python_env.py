"""Trains the same agent on a class in Python and on its translation, and says how long each takes.

    python -m integration.training.python_env [--seeds N]

The class is a drone with two rotors that should hover, written by somebody who knew nothing of the
translator, and unchanged (tests/translator/strangers/drone_hover.py). The agent is `ppo.py`'s, with
one thread of torch: on Gymnasium's SyncVectorEnv of the class, and on the same id with
backend="compiled". Both return the same bits, so the agents of a seed are equal after each rollout,
which is checked, and only the time differs.

This writes results/python_env.json: all curves, the median time of each to the target, and the
ratio. Each training is a process of its own with an empty cache, so that the class is translated
and compiled in each; that time is "making" and counts.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import torch
from gymnasium.vector import SyncVectorEnv

import parallel_pool  # noqa: F401   adds a mode to make_vec
from integration.training import ppo
from integration.training.comparison import (
    OURS,
    SYNC,
    Env,
    Task,
    check_equal,
    run_one,
    shortened,
    train,
)
from parallel_pool._bench import machine
from parallel_pool._bench.player_proxy import ROOT

RESULT = ROOT / "integration" / "results" / "python_env.json"
CLASS = "tests.translator.strangers.drone_hover:DroneHoverEnv"
SEEDS = 5

# a drone that hovers on its place for all 500 steps has a return of nearly 500
TASK = Task(
    task_id="DroneHover-v0",
    num_envs=128,
    target=400,
    window=64,
    settings=ppo.Settings(
        total_steps=409_600,
        rollout_steps=32,
        epochs=4,
        minibatches=8,
        learning_rate=2e-3,
        gamma=0.98,
        gae_lambda=0.95,
        entropy_weight=0.0,
    ),
)

gymnasium.register(TASK.task_id, CLASS)


def compiled(task: Task, seed: int) -> Env:
    return gymnasium.make_vec(
        task.task_id,
        task.num_envs,
        vectorization_mode="parallel_pool",
        vector_kwargs={"backend": "compiled"},
    )


def sync(task: Task, seed: int) -> Env:
    """Returns the class itself, without the wrappers of gymnasium.make."""
    cls = gymnasium.envs.registration.load_env_creator(CLASS)
    return SyncVectorEnv([cls] * task.num_envs)


PLAYERS: dict[str, Callable[[Task, int], Env]] = {OURS: compiled, SYNC: sync}


def run(task: Task, name: str, seed: int) -> dict[str, Any]:
    """Trains once; returns what `comparison.train` does, and the seconds of making the
    environments."""
    took: list[float] = []

    def make(task: Task, seed: int) -> Env:
        begun = time.monotonic()
        envs = PLAYERS[name](task, seed)
        took.append(time.monotonic() - begun)
        return envs

    trained = train(task, make, seed)
    return {"seed": seed, "making": took[0], **trained}


def run_in_a_process(task: Task, name: str, seed: int) -> dict[str, Any]:
    """Trains once, in a process that finds no library in its cache."""
    with tempfile.TemporaryDirectory() as cache:
        one = [name, seed, task.settings.total_steps]
        return run_one("python_env", one, {**os.environ, "XDG_CACHE_HOME": cache})


def seconds(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """Returns the median time to the target, making included; None if a run did not reach it."""
    if not all(each["reached"] for each in runs):
        return None
    return median(each["making"] + each["curve"][-1][0] for each in runs)


def setting(task: Task) -> dict[str, Any]:
    """Returns what was trained, for the result."""
    settings = {**asdict(task.settings), "seed": None}
    chosen = {name: getattr(task, name) for name in ("task_id", "num_envs", "target", "window")}
    return {**chosen, "class": CLASS, "settings": settings}


def measure(task: Task, seeds: Sequence[int]) -> dict[str, Any]:
    """Trains both players with each seed, one after the other; returns the result.

    Raises:
        AssertionError: the agents of a seed differ.
    """
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in PLAYERS}
    for seed in seeds:
        for name, own in runs.items():
            own.append(run_in_a_process(task, name, seed))
            took, steps, mean = own[-1]["curve"][-1]
            print(f"seed {seed} {name:16} {took:6.1f} s {steps:8,d} steps, {mean:.4g}", flush=True)
        check_equal(task, runs, seed)
    return {"machine": machine.facts(), "setting": setting(task), **summary(runs), "runs": runs}


def summary(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Returns the median seconds of each player to the target, and how many times as long the class
    takes as its translation; None where a target was not reached."""
    took = {name: seconds(own) for name, own in runs.items()}
    ours, theirs = took[OURS], took[SYNC]
    return {"seconds": took, "ratio": theirs / ours if ours and theirs else None}


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, and writes the result."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.python_env")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"trainings of each ({SEEDS})")
    parser.add_argument(
        "--steps", type=int, help="of all environments together, to try the program"
    )
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.one:
        name, seed, steps = options.one
        print(json.dumps(run(shortened(TASK, steps), name, seed)))
        return
    task = shortened(TASK, options.steps) if options.steps else TASK
    result = measure(task, range(1, options.seeds + 1))
    options.out.write_text(json.dumps(result) + "\n")
    print(json.dumps({name: result[name] for name in ("seconds", "ratio")}))


if __name__ == "__main__":
    main()
