"""Measures rollouts: `python -m benchmarks.studies.rollouts [--rounds N] [--out FILE]`.

First the CPU time of a step with its storage, for all environments: of loops that copy what `step`
returns, into arrays or as CleanRL's programs do, and of `collect`. Then the memory of stacked
frames, and what a replay buffer of single frames takes and costs. The bars are those of issue 34.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch

import parallel_pool
from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted
from parallel_pool.compat.gymnasium import ReplayBuffer

# id, environments, the least ratio of CleanRL's loop to collect
SCENES = (("CartPole-v1", 1024, 1.5), ("Pong-v5", 64, 1.3))
STEPS = 128
STACKED = "Pong-v5"
# the most memory of frames, of that of stacks
MEMORY = 0.27
# bytes of a transition, and ms to draw 256 stacks
TRANSITION, DRAW = 7500, 0.4
STACKS = 256


class Loops:
    """The players of one scene, on environments of their own with the same actions."""

    def __init__(self, env: str, num_envs: int, steps: int) -> None:
        self.steps, self.num_envs = steps, num_envs
        self.envs = parallel_pool.make_vec(env, num_envs, backend="native", num_threads=1)
        self.seen, _ = self.envs.reset(seed=1)
        self.envs.action_space.seed(1)
        self.actions = [self.envs.action_space.sample() for _ in range(16)]
        self.number = 0
        shape = (steps, num_envs)
        self.arrays = [
            np.zeros((*shape, *self.seen.shape[1:]), self.seen.dtype),
            np.zeros((*shape, *self.actions[0].shape[1:]), self.actions[0].dtype),
            np.zeros(shape, np.float32),
            np.zeros(shape, np.bool_),
            np.zeros(shape, np.bool_),
        ]
        self.tensors = [
            torch.zeros(array.shape, dtype=torch.float32 if i != 1 else torch.int64)
            for i, array in enumerate(self.arrays)
        ]
        self.buffer = self.envs.rollout(steps)

    def policy(self, observations: Any) -> Any:
        """Returns actions that cost nothing."""
        self.number += 1
        return self.actions[self.number % len(self.actions)]

    def bare(self) -> None:
        """Steps, and stores nothing."""
        for _ in range(self.steps):
            self.seen = self.envs.step(self.policy(self.seen))[0]

    def copies(self) -> None:
        """Copies into arrays."""
        for step in range(self.steps):
            actions = self.policy(self.seen)
            self.arrays[0][step], self.arrays[1][step] = self.seen, actions
            self.seen, *others, _ = self.envs.step(actions)
            for array, other in zip(self.arrays[2:], others, strict=True):
                array[step] = other

    def cleanrl(self) -> None:
        """Copies into tensors, as CleanRL's programs do."""
        seen, done = torch.Tensor(self.seen), torch.zeros(self.num_envs)
        for step in range(self.steps):
            self.tensors[0][step], self.tensors[3][step] = seen, done
            actions = torch.from_numpy(self.policy(seen))
            self.tensors[1][step] = actions
            self.seen, rewards, ended, cut, _ = self.envs.step(actions.cpu().numpy())
            self.tensors[2][step] = torch.tensor(rewards).view(-1)
            seen, done = torch.Tensor(self.seen), torch.Tensor(np.logical_or(ended, cut))

    def collect(self) -> None:
        """Lets the threads write."""
        # a learner is done with the last one
        rollout = self.buffer.collect(self.policy, self.seen)
        self.seen = rollout.next_observations[-1].copy()


def cpu_us(play: Callable[[], None], steps: int) -> float:
    """Returns microseconds of CPU time for each step."""
    start = time.process_time()
    play()
    return (time.process_time() - start) / steps * 1e6


def race(env: str, num_envs: int, rounds: int, steps: int) -> dict[str, float]:
    """Returns the median time of each loop."""
    loops = Loops(env, num_envs, steps)
    players = {"bare": loops.bare, "copies": loops.copies, "cleanrl": loops.cleanrl}
    players["collect"] = loops.collect
    found: dict[str, list[float]] = {name: [] for name in players}
    with closing(loops.envs):
        for number in range(rounds + 2):
            for name, play in players.items():
                taken = cpu_us(play, steps)
                # the first ones touch memory
                if number >= 2:
                    found[name].append(taken)
    return {name: statistics.median(each) for name, each in found.items()}


def frame_memory(steps: int) -> float:
    """Returns the memory of a rollout's frames, as a part of that of its stacks."""
    envs = parallel_pool.make_vec(STACKED, SCENES[1][1], backend="native")
    with closing(envs):
        envs.reset(seed=1)
        sample = envs.action_space.sample
        stacks = envs.rollout(steps, frames=True).collect(lambda seen: sample()).observations
        return float(stacks.nbytes / (np.prod(stacks.shape) * stacks.dtype.itemsize))


def replay(capacity: int, draws: int) -> tuple[float, float]:
    """Returns bytes of a transition, and ms of CPU time to draw stacks from a full buffer."""
    envs = parallel_pool.make_vec(STACKED, SCENES[1][1], backend="native")
    with closing(envs):
        envs.reset(seed=1)
        sample = envs.action_space.sample
        buffer = ReplayBuffer(envs, capacity, seed=0)
        buffer.collect(lambda seen: sample(), -(-capacity // envs.num_envs))
        taken = []
        for _ in range(draws):
            start = time.thread_time()
            # half of them are the next observations
            buffer.sample(STACKS // 2)
            taken.append((time.thread_time() - start) * 1e3)
        return buffer.nbytes / buffer.capacity, statistics.median(taken)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.rollouts", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--rounds", type=int, default=15, help="of each scene (15)")
    add("--steps", type=int, default=STEPS, help="of a rollout (128)")
    add("--capacity", type=int, default=100_000, help="of the replay buffer (100,000)")
    add("--out", type=Path, help="file for the tables")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    lines = [
        f"{machine.cpu_name()}, commit {machine.commit()}\n",
        "| µs of CPU time for a step of all | stores nothing | copies | CleanRL's | collect"
        " | copies / collect | CleanRL's / collect | bar |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for env, num_envs, bar in SCENES:
        us = race(env, num_envs, options.rounds, options.steps)
        lines.append(
            f"| {env}, {num_envs} x {options.steps} | "
            + " | ".join(f"{us[name]:.1f}" for name in ("bare", "copies", "cleanrl", "collect"))
            + f" | {us['copies'] / us['collect']:.2f} | {us['cleanrl'] / us['collect']:.2f}"
            + f" | {bar} |"
        )
    per_transition, ms = replay(options.capacity, 20 * options.rounds)
    lines += [
        "",
        f"| {STACKED} | measured | bar |",
        "| --- | ---: | ---: |",
        f"| memory of frames / of stacks | {frame_memory(options.steps):.3f} | {MEMORY} |",
        f"| bytes of a transition in a replay buffer | {per_transition:.0f} | {TRANSITION} |",
        f"| ms of CPU time to draw {STACKS} stacks of it | {ms:.2f} | {DRAW} |",
    ]
    print("\n".join(lines), flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
