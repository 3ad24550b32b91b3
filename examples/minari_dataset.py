"""Minari: 32 CartPoles are recorded to one dataset, as Minari's own collector records each.

Run: python examples/minari_dataset.py
"""

import os
import tempfile

import numpy as np

import parallel_pool
from parallel_pool.compat.minari import VectorDataCollector

# so that this program leaves nothing in your home
os.environ.setdefault("MINARI_DATASETS_PATH", tempfile.mkdtemp())

envs = VectorDataCollector(
    parallel_pool.make_vec("CartPole-v1", 32),
    "cartpole/lean-v0",
    author="A. Author",
    description="pushes to the side to which the pole leans",
    algorithm_name="a rule",
)
observations, infos = envs.reset(seed=1)
for _ in range(500):
    leans = observations[:, 2] + 0.5 * observations[:, 3] > 0
    observations, rewards, terminations, truncations, infos = envs.step(leans.astype(int))
dataset = envs.finish()
envs.close()

episodes = list(dataset.iterate_episodes())
print(f"{dataset.total_episodes} episodes, {dataset.total_steps} steps")
print(f"mean return {np.mean([episode.rewards.sum() for episode in episodes]):.0f}")
