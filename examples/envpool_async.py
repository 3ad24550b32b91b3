"""Steps 64 games of Pong, always the 16 that are ready first: no step waits for the slowest.

Run: python examples/envpool_async.py (needs pip install 'parallel_pool[atari]')
"""

import numpy as np

import parallel_pool

env = parallel_pool.make("Pong-v5", env_type="gym", num_envs=64, batch_size=16)
action_num = env.action_space.n
env.async_reset()
for _ in range(1000):
    obs, rew, term, trunc, info = env.recv()
    env_id = info["env_id"]
    env.send(np.random.randint(action_num, size=16), env_id)  # noqa: NPY002

print(f"the last batch: observations {obs.shape}, environments {np.sort(env_id)}")
print(f"steps they have taken: {info['elapsed_step']}")
