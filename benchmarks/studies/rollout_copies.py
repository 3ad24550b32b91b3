"""Measures rollouts whose rows are copied: `python -m benchmarks.studies.rollout_copies`.

Rows of worker processes and of asynchronous pools are copied into a rollout after they were
received. The table says what CPU time the caller spends in `collect` outside of the calls that
step, send, receive and choose actions. The first row has rows that are written in place: what it
says is not copying but the rest, such as storing actions. Times are the least of all rounds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import parallel_pool
from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted
from parallel_pool.compat.gymnasium import ProcessVectorEnv


class Pictures(gymnasium.Env[Any, Any]):
    """Shows pictures that cost next to nothing: no environment in Python is faster."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 4), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(4)
        self.picture = np.zeros((84, 84, 4), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Returns the picture."""
        super().reset(seed=seed)
        return self.picture, {}

    def step(self, action: Any) -> Any:
        """Changes one number of the picture."""
        self.picture[action] += 1
        return self.picture, 1.0, False, False, {}


def atari() -> Any:
    """Returns Pong in Python."""
    # ale-py takes a second to import
    from parallel_pool._bench.atari_env import atari_env

    return atari_env("Pong")


def cartpole() -> Any:
    """Returns CartPole in Python."""
    return gymnasium.make("CartPole-v1")


# name, function that makes an environment, environments; in two worker processes
IN_WORKERS = (
    ("CartPole-v1 in Python", cartpole, 16),
    ("CartPole-v1 in Python", cartpole, 64),
    ("84 x 84 x 4 at no cost", Pictures, 16),
    ("Pong in Python", atari, 16),
)
# id, environments, batch_size
ASYNCHRONOUS = (("CartPole-v1", 256, 64), ("Pong-v5", 64, 16))


class Stopwatch:
    """Adds up the CPU seconds of this thread's calls."""

    def __init__(self) -> None:
        self.taken = 0.0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that adds its seconds."""

        def timed(*arguments: Any, **keywords: Any) -> Any:
            start = time.thread_time()
            try:
                return call(*arguments, **keywords)
            finally:
                self.taken += time.thread_time() - start

        return timed


@contextmanager
def in_workers(make: Callable[[], Any], num_envs: int, watch: Stopwatch) -> Iterator[Any]:
    """Makes environments in two worker processes, whose steps are timed."""
    envs: Any = ProcessVectorEnv([make] * num_envs, num_workers=2)
    with closing(envs):
        envs.reset(seed=1)
        envs.step = watch.timed(envs.step)
        yield envs


@contextmanager
def in_place(env: str, num_envs: int, watch: Stopwatch) -> Iterator[Any]:
    """Makes native environments, whose threads write into the rollout."""
    envs: Any = parallel_pool.make_vec(env, num_envs, backend="native", num_threads=1)
    with closing(envs):
        envs.reset(seed=1)
        envs.step = watch.timed(envs.step)
        yield envs


@contextmanager
def asynchronous(env: str, num_envs: int, batch_size: int, watch: Stopwatch) -> Iterator[Any]:
    """Makes an asynchronous pool, whose sends and receives are timed."""
    envs: Any = parallel_pool.make_gymnasium(env, num_envs=num_envs, batch_size=batch_size, seed=1)
    with envs:
        envs.async_reset()
        envs.send, envs.pool.recv = watch.timed(envs.send), watch.timed(envs.pool.recv)
        yield envs


def measure(
    make: Callable[[Stopwatch], Any], rounds: int, steps: int, size: int
) -> tuple[float, float]:
    """Returns µs of `collect` for each call of the policy, and the caller's µs of storing.

    Args:
        make: returns a context with the environments.
        rounds: measured.
        steps: of a rollout.
        size: environments for which the policy acts at once.
    """
    watch = Stopwatch()
    with make(watch) as envs:
        actions = np.ones(size, np.int64)
        policy = watch.timed(lambda seen, env_ids=None: actions[: len(seen)])
        buffer = envs.rollout(steps)
        wholes, storing = [], []
        for number in range(rounds + 2):
            watch.taken, wall, cpu = 0.0, time.perf_counter(), time.thread_time()
            buffer.collect(policy)
            # the first ones touch memory
            if number >= 2:
                storing.append(time.thread_time() - cpu - watch.taken)
                wholes.append(time.perf_counter() - wall)
        us = 1e6 * size / (steps * envs.num_envs)
    return min(wholes) * us, min(storing) * us


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.rollout_copies", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--rounds", type=int, default=15, help="of each scene (15)")
    add("--steps", type=int, default=32, help="of a rollout (32)")
    add("--out", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    lines = [
        f"{machine.cpu_name()}, commit {machine.commit()}\n",
        "| rows that are copied | µs of a turn | µs of storing | part |",
        "| --- | ---: | ---: | ---: |",
    ]
    scenes: list[tuple[str, Callable[[Stopwatch], Any], int]] = [
        ("nothing: CartPole-v1, 16 in one thread", partial(in_place, "CartPole-v1", 16), 16)
    ]
    scenes += [
        (f"{name}, {count} in 2 workers", partial(in_workers, make, count), count)
        for name, make, count in IN_WORKERS
    ]
    scenes += [
        (f"{env}, {size} of {count} at a time", partial(asynchronous, env, count, size), size)
        for env, count, size in ASYNCHRONOUS
    ]
    for name, make, size in scenes:
        whole, storing = measure(make, options.rounds, options.steps, size)
        part = storing / whole * 100
        lines.append(f"| {name} | {whole:.0f} | {storing:.1f} | {part:.1f} % |")
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
