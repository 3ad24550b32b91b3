"""Several agents: three agents cover three landmarks in 256 particle worlds, by a rule in NumPy.

Run: python examples/pettingzoo_agents.py (needs pip install 'parallel_pool[pettingzoo]')
"""

import numpy as np

from parallel_pool import PoolParallelEnv

WORLDS, AGENTS = 256, 3
STAY, LEFT, RIGHT, DOWN, UP = range(5)


def towards(distance: np.ndarray) -> np.ndarray:
    """Returns the moves that shorten the longer part of distances (..., 2)."""
    x, y = distance[..., 0], distance[..., 1]
    sideways, along = np.where(x > 0, RIGHT, LEFT), np.where(y > 0, UP, DOWN)
    return np.where(abs(x) > abs(y), sideways, along)


for name in ("at random", "by the rule"):
    random = np.random.default_rng(0)
    envs = PoolParallelEnv("mpe/simple_spread_v3", WORLDS, N=AGENTS)
    arrays = envs.reset_arrays(seed=0)
    total = 0.0
    for _ in range(24):
        (seen,) = arrays.observations  # (256, 3, 18): own speed and place, landmarks, agents
        # agent i goes to landmark i
        landmarks = seen[..., 4:10].reshape(WORLDS, AGENTS, AGENTS, 2)
        actions = towards(landmarks[:, range(AGENTS), range(AGENTS)])
        if name == "at random":
            actions = random.integers(5, size=actions.shape)
        arrays = envs.step_arrays(actions)
        total += arrays.rewards.mean()
    envs.close()
    print(f"{name}: mean return of an agent {total:.1f}")
