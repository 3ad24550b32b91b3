"""Stable-Baselines3: PPO learns CartPole on a PoolVecEnv in some seconds.

Run: python examples/sb3_ppo.py (needs pip install 'parallel_pool[sb3]')
"""

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from parallel_pool import PoolVecEnv

torch.set_num_threads(1)  # the network is small
env = VecMonitor(PoolVecEnv("CartPole-v1", n_envs=16, seed=0))
model = PPO("MlpPolicy", env, n_steps=64, batch_size=256, n_epochs=4, seed=0, device="cpu")
for _ in range(4):
    model.learn(4096, reset_num_timesteps=False)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    print(f"{model.num_timesteps} steps: mean return of the last episodes {np.mean(returns):.0f}")
env.close()
