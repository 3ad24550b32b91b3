"""Five programs that train or play for ever, for `tune` and its study.

    python integration/training/tuned.py cartpole|sb3|pong|cheetah|workers [--threads N]

They are what users begin with: defaults that nobody has thought about. `--threads` is the number of
threads or workers of the pool; without it, it has one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

import parallel_pool

# the file is run by its path
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from integration.training import ppo

FOREVER = 10**9


def cartpole(threads: int) -> None:
    """PPO in the manner of CleanRL."""
    envs = parallel_pool.make_vec("CartPole-v1", 64, num_threads=threads)
    ppo.train(envs, ppo.Settings(total_steps=FOREVER))


def cheetah(threads: int) -> None:
    """PPO, with steps that cost more than the network."""
    envs = parallel_pool.make_vec("HalfCheetah-v5", 32, num_threads=threads)
    ppo.train(envs, ppo.Settings(total_steps=FOREVER, epochs=2))


def sb3(threads: int) -> None:
    """Stable-Baselines3's PPO."""
    from stable_baselines3 import PPO

    envs = parallel_pool.PoolVecEnv("CartPole-v1", n_envs=32, num_threads=threads)
    PPO("MlpPolicy", envs, n_steps=64, batch_size=512, n_epochs=4).learn(FOREVER)


def pong(threads: int) -> None:
    """A convolutional network that plays Atari, without learning."""
    envs = parallel_pool.make_vec("ALE/Pong-v5", 32, num_threads=threads)
    first = torch.nn.Conv2d(1, 16, 8, 8)
    network = torch.nn.Sequential(
        first, torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(6)
    )
    observations, _ = envs.reset(seed=0)
    with torch.inference_mode():
        while True:
            pictures = torch.from_numpy(observations[:, ::2, ::2, 0]).unsqueeze(1) / 255
            observations, *_ = envs.step(network(pictures).argmax(1).numpy())


class Slow(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Computes for about 0.2 ms in each step, as environments in Python do."""

    def step(self, action: Any) -> Any:
        for _ in range(40):
            np.linalg.norm(np.ones(8))
        return super().step(action)


def workers(threads: int) -> None:
    """An environment in Python, in worker processes."""

    def make() -> Any:
        return Slow(gymnasium.make("CartPole-v1"))

    envs = parallel_pool.PoolVectorEnv([make] * 8, num_workers=threads)
    envs.reset(seed=0)
    while True:
        envs.step(envs.action_space.sample())


PROGRAMS: dict[str, tuple[Callable[[int], None], int]] = {
    "cartpole": (cartpole, 1),
    "cheetah": (cheetah, 1),
    "pong": (pong, 1),
    "sb3": (sb3, 1),
    "workers": (workers, 1),
}


def main() -> None:
    """Runs a program, for ever."""
    parser = argparse.ArgumentParser(prog="tuned.py", description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    play, threads = PROGRAMS[options.program]
    play(options.threads or threads)


if __name__ == "__main__":
    main()
