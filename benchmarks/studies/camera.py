"""Measures how to play episodes of camera simulators: `python -m benchmarks.studies.camera`.

The environment stands for simulators such as LIBERO's: a step simulates for some milliseconds, for
which it sleeps here, and draws pictures of two cameras with NumPy; a reset loads the task's scene,
for which it sleeps, too; each episode is one of many pairs of a task and a first state. These play
the same kind of episodes in turn, and the study prints the episodes per minute of each:

- "one": a loop over one environment in this process
- "batched": a pool that steps all environments together
- "prepared": the same with prepare_resets=True
- "leases": a task of asyncio for each pair, which takes a lease when one is free
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from parallel_pool import ProcessPool
from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted
from parallel_pool.leases import LeasePool

PLAYERS = ("one", "batched", "prepared", "leases")
TASKS, STATES = 100, 50
SIZE = 128


class Kitchen(gymnasium.Env[Any, Any]):
    """Sleeps and draws as a simulator with two cameras does.

    The option "pair" of reset chooses a task and its first state; without it the seed does.
    """

    observation_space = gymnasium.spaces.Dict(
        {
            "front": gymnasium.spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8),
            "wrist": gymnasium.spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8),
            "joints": gymnasium.spaces.Box(-1, 1, (9,), np.float32),
        }
    )
    action_space: Any = gymnasium.spaces.Box(-1, 1, (7,), np.float32)

    def __init__(self, step: float, load: float, length: int) -> None:
        self.of_step, self.load, self.length = step, load, length
        self.shade = np.linspace(0, 200, SIZE)[:, None, None] + np.zeros((1, SIZE, 3))

    def _observe(self) -> dict[str, Any]:
        light = self.np_random.uniform(0, 50, (2, 1, SIZE, 3))
        front, wrist = ((self.shade + each).astype(np.uint8) for each in light)
        return {"front": front, "wrist": wrist, "joints": np.zeros(9, np.float32)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        drawn = self.np_random.integers(TASKS), self.np_random.integers(STATES)
        task, state = (options or {}).get("pair", drawn)
        time.sleep(self.load)
        # which pair takes how many steps
        self.left = self.length // 2 + (int(task) * STATES + int(state)) * 7919 % self.length
        return self._observe(), {"task": int(task), "state": int(state)}

    def step(self, action: Any) -> Any:
        time.sleep(self.of_step)
        self.left -= 1
        return self._observe(), 0.0, self.left <= 0, False, {}


def play_one(make: Callable[[], Any], seconds: float) -> int:
    """Plays for a while, at least one episode; returns how many have ended."""
    env, ended = make(), 0
    env.reset(seed=1)
    end = time.perf_counter() + seconds
    while not ended or time.perf_counter() < end:
        if env.step(np.zeros(7, np.float32))[2]:
            ended += 1
            env.reset()
    return ended


def play_batched(pool: ProcessPool, seconds: float) -> int:
    actions, ended = np.zeros((pool.num_envs, 7), np.float32), 0
    end = time.perf_counter() + seconds
    while not ended or time.perf_counter() < end:
        ended += int(pool.step(actions).terminated.sum())
    return ended


async def play_leases(pool: LeasePool, seconds: float) -> int:
    pairs, ended = itertools.cycle(itertools.product(range(TASKS), range(STATES))), 0
    end = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal ended
        while not ended or time.perf_counter() < end:
            async with pool.lease() as env:
                # deadlines of a scene that does not load, and of a step that hangs
                await env.reset(seed=1, options={"pair": next(pairs)}, timeout=60, retries=2)
                is_over = False
                while not is_over and (not ended or time.perf_counter() < end):
                    _, _, is_over, _, _ = await env.step(np.zeros(7, np.float32), timeout=10)
                ended += is_over

    await asyncio.gather(*[work() for _ in range(2 * pool.num_envs)])
    return ended


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Plays all in turn, in rounds; returns the episodes per minute of each."""
    make = partial(Kitchen, options.step, options.load, options.length)
    makers, count = [make] * options.envs, options.envs
    found: dict[str, list[float]] = {player: [] for player in PLAYERS}
    with (
        ProcessPool(makers, num_workers=count, episode_seeds=True) as batched,
        ProcessPool(makers, episode_seeds=True, prepare_resets=True) as prepared,
        LeasePool(makers) as leases,
    ):
        batched.reset(seed=1)
        prepared.reset(seed=1)
        for _ in range(options.rounds):
            for player in PLAYERS:
                start = time.perf_counter()
                if player == "one":
                    ended = play_one(make, options.seconds)
                elif player == "leases":
                    ended = asyncio.run(play_leases(leases, options.seconds))
                else:
                    pool = batched if player == "batched" else prepared
                    ended = play_batched(pool, options.seconds)
                found[player].append(60 * ended / (time.perf_counter() - start))
    return {player: round(statistics.mean(each), 1) for player, each in found.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each player in each round")
    parser.add_argument("--step", type=float, default=0.02, help="seconds, besides drawing")
    parser.add_argument("--load", type=float, default=1.0, help="seconds of a reset")
    parser.add_argument("--length", type=int, default=100, help="steps of an episode, on average")
    parser.add_argument("--out", type=Path, help="file for the results, as JSON")
    options = parser.parse_args(arguments)
    found = measure(options)
    print("episodes per minute:", json.dumps(found))
    if options.out is not None:
        options.out.write_text(json.dumps({**machine.facts(), **found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(until_interrupted(main))
