"""Measures how well agents learn CartPole with many seeds, to check the tests' threshold.

    python -m integration.training.learning

This trains each agent of the tests with 20 seeds, on one and on two threads of torch. It writes
results/learning.json after each run; when started again, it does the runs that are missing. The
result of a run depends on the processor's arithmetic as much as on the seed, so a threshold must be
far from the result of every seed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3
import torch

import parallel_pool
from integration.training import ppo
from integration.training.agents import (
    BUDGETS,
    LEARNED_RETURN,
    NUM_ENVS,
    WINDOW,
    best,
    train_cartpole,
)

RESULT = Path(__file__).parents[1] / "results" / "learning.json"
AGENTS, SEEDS, THREADS = [*BUDGETS, "ppo.py"], 20, (1, 2)

# Each seed's best mean return must be at least MARGIN * LEARNED_RETURN, and the mean of its first
# episodes at most LEARNED_RETURN / MARGIN.
MARGIN = 1.5

PPO_NUM_ENVS = 32


def train_ppo(seed: int) -> list[float]:
    """Trains `ppo.py` with its default settings; returns the returns of all episodes."""
    envs = parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=PPO_NUM_ENVS)
    returns = ppo.train(envs, ppo.Settings(seed=seed)).returns
    envs.close()
    return returns


def run(agent: str, seed: int, threads: int) -> dict[str, Any]:
    """Trains one agent; returns its setting, and its mean return at the start and at best."""
    torch.set_num_threads(threads)
    returns = train_ppo(seed) if agent == "ppo.py" else train_cartpole(agent, seed)
    start = float(np.mean(returns[:WINDOW]))
    numbers = {"start": round(start, 1), "best": round(best(returns), 1)}
    return {"agent": agent, "seed": seed, "threads": threads, **numbers}


def setting() -> dict[str, Any]:
    """Returns what the measurement depends on; runs with another setting are discarded."""
    return {
        "learned": LEARNED_RETURN,
        "window": WINDOW,
        "num_envs": {"Stable-Baselines3": NUM_ENVS, "ppo.py": PPO_NUM_ENVS},
        "steps": {**BUDGETS, "ppo.py": ppo.Settings().total_steps},
    }


def machine() -> dict[str, str]:
    """Returns what the exact numbers depend on, though not the conclusion."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return {
        "processor": next((x.partition(": ")[2] for x in lines if "model name" in x), "unknown"),
        "python": platform.python_version(),
        "stable-baselines3": stable_baselines3.__version__,
        "torch": torch.__version__,
    }


def write(runs: list[dict[str, Any]], path: Path) -> None:
    """Writes setting, machine and runs, with one run per line."""
    runs = sorted(runs, key=lambda run: (AGENTS.index(run["agent"]), run["threads"], run["seed"]))
    head = json.dumps({"setting": setting(), "machine": machine()}, indent=1)[:-2]
    lines = ",\n".join(f"  {json.dumps(run)}" for run in runs)
    path.write_text(f'{head},\n "runs": [\n{lines}\n ]\n}}\n')


def summary(agent: str, runs: Sequence[dict[str, Any]]) -> str:
    """Returns one line about all runs of an agent."""
    starts = [run["start"] for run in runs if run["agent"] == agent]
    bests = [run["best"] for run in runs if run["agent"] == agent]
    return (
        f"{agent:8} {len(bests):3} runs: start {min(starts):3.0f} to {max(starts):3.0f},"
        f" best {min(bests):4.0f} to {max(bests):4.0f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Does the runs that the file lacks, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.learning")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    # waiting threads must leave the core to other trainings
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    runs: list[dict[str, Any]] = []
    if options.out.exists():
        result = json.loads(options.out.read_text())
        runs = result["runs"] if result["setting"] == setting() else []
    done = {(run["agent"], run["seed"], run["threads"]) for run in runs}
    seeds = range(1, options.seeds + 1)
    wanted = [(agent, seed, n) for seed in seeds for agent in AGENTS for n in THREADS]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, spawn) as pool:
        for future in as_completed([pool.submit(run, *one) for one in wanted if one not in done]):
            runs.append(future.result())
            print(f"{len(runs):4} of {len(wanted)}: {json.dumps(runs[-1])}", flush=True)
            write(runs, options.out)
    for agent in AGENTS:
        print(summary(agent, runs))


if __name__ == "__main__":
    main()
