"""One environment at a time: tasks of asyncio lease environments, and one that hangs costs its own.

Run: python examples/leases.py
"""

import asyncio
import time

import gymnasium
import numpy as np

from parallel_pool.errors import PoolTimeoutError
from parallel_pool.leases import LeasePool


class Search(gymnasium.Env):
    """Halves a range of numbers; an episode with an odd seed hangs in its third step."""

    observation_space = gymnasium.spaces.Box(0, 64, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hangs, self.left, self.steps = bool(seed % 2), 64, 0
        return np.array([self.left], np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.hangs and self.steps == 3:
            time.sleep(3600)
        self.left //= 2
        return np.array([self.left], np.float32), 1.0, self.left == 1, False, {}


async def play(pool, seed):
    async with pool.lease() as env:
        await env.reset(seed=seed)
        steps, is_over = 0, False
        while not is_over:
            try:
                _, _, is_over, *_ = await env.step(0, timeout=5)
            except PoolTimeoutError:  # its worker was killed, and is replaced
                return f"seed {seed}: a step took too long"
            steps += 1
        return f"seed {seed}: {steps} steps"


async def main():
    async with LeasePool([Search] * 4) as pool:
        for line in await asyncio.gather(*(play(pool, seed) for seed in range(6))):
            print(line)


asyncio.run(main())
