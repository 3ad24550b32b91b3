"""ale-py's own vector environment, by its arguments: 16 games of Pong with random actions.

Run: python examples/ale_vector_env.py (needs pip install 'parallel_pool[atari]')
"""

import numpy as np

from parallel_pool.compat.ale import AtariVectorEnv

envs = AtariVectorEnv("pong", num_envs=16, img_height=84, img_width=84, stack_num=4)
observations, infos = envs.reset(seed=0)
random = np.random.default_rng(0)
points = 0
for _ in range(200):
    actions = random.integers(envs.single_action_space.n, size=16)
    observations, rewards, terminated, truncated, infos = envs.step(actions)
    points += rewards
envs.close()
print(f"observations {observations.shape} {observations.dtype}, frames {infos['frame_number']}")
print(f"points in 200 steps: {points}")
