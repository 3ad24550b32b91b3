"""Rollouts: REINFORCE learns CartPole from rollouts that the environments' threads write.

Run: python examples/rollout_reinforce.py (needs pip install torch)
"""

import torch
from gymnasium.vector import AutoresetMode
from torch.distributions import Categorical

import parallel_pool

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small
network = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
mode = AutoresetMode.SAME_STEP
envs = parallel_pool.make_vec("CartPole-v1", 64, autoreset_mode=mode).torch()
observations, infos = envs.reset(seed=0)
buffer = envs.rollout(64)


@torch.no_grad()
def policy(observations):
    return Categorical(logits=network(observations)).sample()


for iteration in range(20):
    rollout = buffer.collect(policy)
    ends = rollout.terminations | rollout.truncations
    # every step is worth the steps until the end of its episode
    worth, values = torch.zeros(64), torch.empty(64, 64)
    for step in reversed(range(64)):
        worth = values[step] = 1 + 0.97 * worth * ~ends[step]
    scores = Categorical(logits=network(rollout.observations)).log_prob(rollout.actions)
    loss = -(scores * (values - values.mean()) / values.std()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration in (0, 19):
        print(f"iteration {iteration}: {ends.float().mean():.4f} ends for each step")
envs.close()
