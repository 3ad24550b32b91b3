"""Steps a hundred games of Pong at once: every result has all of them, in order.

Run: python examples/envpool_sync.py (needs pip install 'parallel_pool[atari]')
"""

import numpy as np

import parallel_pool

env = parallel_pool.make("Pong-v5", env_type="gym", num_envs=100)
obs = env.reset()  # (100, 4, 84, 84)
act = np.zeros(100, dtype=int)
obs, rew, term, trunc, info = env.step(act)

print(f"observations {obs.shape} {obs.dtype}, rewards {rew.shape} {rew.dtype}")
print(f"environments {info['env_id'][:5]}..., steps taken {info['elapsed_step'][:5]}...")
