"""dm_env's time steps, in batches: 64 CartPoles balance by a rule, and count their episodes.

Run: python examples/dm_env_steps.py (needs pip install 'parallel_pool[dm]')
"""

import parallel_pool

env = parallel_pool.make_dm("CartPole-v1", num_envs=64, seed=0)
step = env.reset()
ended = on_time = 0
for _ in range(1000):
    obs = step.observation.obs  # (64, 4): position, speed, angle, speed of the angle
    step = env.step((obs[:, 2] + obs[:, 3] > 0).astype(int))
    ended += step.last().sum()
    # as dm_env defines it: the discount is 1 if only the time is over
    on_time += (step.last() & (step.discount == 1)).sum()
env.close()
print(f"64 environments, 1000 steps: {ended} episodes, {on_time} of them up to the time limit")
