"""Stable-Baselines3: agents that share a policy are rows of an AgentVecEnv, and PPO trains it.

Run: python examples/sb3_agents.py (needs pip install 'parallel_pool[sb3,pettingzoo]')
"""

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from parallel_pool.compat.sb3 import AgentVecEnv

torch.set_num_threads(1)  # the network is small
env = VecMonitor(AgentVecEnv("mpe/simple_spread_v3", n_envs=32, seed=0))
print(f"32 worlds with 3 agents each: {env.num_envs} rows")
model = PPO("MlpPolicy", env, n_steps=25, batch_size=600, n_epochs=4, seed=0, device="cpu")
for _ in range(4):
    model.learn(9600, reset_num_timesteps=False)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    print(f"{model.num_timesteps} steps: mean return of an agent {np.mean(returns):.1f}")
env.close()
