"""A network decides for one half of 16 HalfCheetahs while the other half steps.

Run: python examples/policy_loop.py
"""

import numpy as np
import torch

import parallel_pool
from parallel_pool.turns import PolicyLoop

# the other cores are the environments'
torch.set_num_threads(1)
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(17, 256), torch.nn.Tanh(), torch.nn.Linear(256, 6))


def make(rows):
    return parallel_pool.make_vec("HalfCheetah-v5", len(rows)).torch()


@torch.inference_mode()
def policy(observations):
    return network(observations.float()).tanh()


with PolicyLoop(make, 16, policy) as loop:
    loop.reset(seed=0)
    returns = np.zeros(16)
    for turn in loop.play(200):
        returns[turn.rows] += turn.rewards.numpy()

print(f"{loop.depth} chunks, expected gain of two: {loop.gain:.2f}")
print(f"returns of 200 steps: {returns.min():.0f} to {returns.max():.0f}")
