"""Several machines: environments in the actors of a Ray cluster, behind Gymnasium's own call.

Run: python examples/ray_cluster.py (needs pip install 'parallel_pool[cluster]')

Without a cluster, Ray starts on this machine. RAY_ADDRESS names one that runs already.
"""

import gymnasium
import numpy as np
import ray

import parallel_pool  # noqa: F401 - adds the mode to make_vec

envs = gymnasium.make_vec(
    "CartPole-v1",
    num_envs=64,
    vectorization_mode="parallel_pool",
    vector_kwargs={"backend": "cluster", "num_workers": 2, "cpus_per_worker": 0.5},
)
observations, infos = envs.reset(seed=0)
for _ in range(100):
    actions = (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)
    observations, rewards, terminated, truncated, infos = envs.step(actions)
print(f"{envs.num_envs} environments in the workers of {envs.backend}: {observations.shape}")
envs.close()
ray.shutdown()
