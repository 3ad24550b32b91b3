"""PyTorch: REINFORCE learns CartPole on 64 environments whose results are tensors.

Run: python examples/torch_reinforce.py (needs pip install torch)
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
for iteration in range(20):
    scores, ends = [], []
    for _ in range(64):
        policy = Categorical(logits=network(observations))
        actions = policy.sample()
        scores.append(policy.log_prob(actions))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        ends.append(terminated | truncated)
    # every step is worth the steps until the end of its episode
    worth, values = torch.zeros(64), []
    for ended in reversed(ends):
        worth = 1 + 0.97 * worth * ~ended
        values.append(worth)
    values = torch.stack(values[::-1])
    loss = -(torch.stack(scores) * (values - values.mean()) / values.std()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration in (0, 19):
        print(f"iteration {iteration}: {torch.stack(ends).float().mean():.4f} ends for each step")
envs.close()
