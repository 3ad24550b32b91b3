"""Steps 64 CartPoles through Gymnasium's own call, and counts the episodes.

Run: python examples/gymnasium_make_vec.py
"""

import gymnasium
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import parallel_pool  # noqa: F401 - adds the mode to make_vec

envs = gymnasium.make_vec(
    "CartPole-v1",
    num_envs=64,
    vectorization_mode="parallel_pool",
    vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
)
envs = RecordEpisodeStatistics(envs)
observations, infos = envs.reset(seed=1)
envs.action_space.seed(1)
for _ in range(1000):
    observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())

print(f"{envs.env}: observations {observations.shape} {observations.dtype}")
print(f"{envs.episode_count} episodes, the last ones {sum(envs.length_queue) / 100:.1f} steps long")
envs.close()
