"""Python environments in worker processes: a class of your own, and a failure that costs one row.

Run: python examples/python_workers.py
"""

import gymnasium
import numpy as np

import parallel_pool


class Walk(gymnasium.Env):
    """Walks to the right, by 0 or 1; 10 steps away from its start is a cliff."""

    observation_space = gymnasium.spaces.Box(0, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(5))
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place += int(action)
        if self.place == 10:
            raise RuntimeError("fell off the cliff")
        return np.array([self.place], np.float32), float(action), False, False, {}


envs = parallel_pool.PoolVectorEnv([Walk] * 8, num_workers=2)
observations, infos = envs.reset(seed=0)
print(f"{envs.num_envs} environments, {envs.backend}; places {observations[:, 0]}")
for step in range(10):
    try:
        observations, rewards, terminated, truncated, infos = envs.step(np.ones(8, int))
    except RuntimeError as error:
        print(f"step {step}: {error}, in environments {error.__cause__.env_ids}")
        break
observations, *_ = envs.step(np.zeros(8, int))  # goes on: those that fell were reset
print(f"places {observations[:, 0]}")
envs.close()
