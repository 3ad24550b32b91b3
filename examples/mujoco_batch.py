"""A robot in vectorised Python: 256 poles on carts, each with a mass of its own, and a simple rule.

Run: python examples/mujoco_batch.py    (needs MuJoCo 4.0 or newer)
"""

import numpy as np

from parallel_pool.mujoco_batch import BatchVectorEnv, Task

ROBOT = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart">
      <joint name="slide" type="slide" axis="1 0 0" damping="1"/>
      <geom type="box" size="0.1 0.1 0.05" mass="1"/>
      <body name="pole" pos="0 0 0.1">
        <joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02" mass="0.1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slide" gear="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


class Balance(Task):
    model = ROBOT
    frame_skip = 2
    max_episode_steps = 200
    varies = ("body_mass",)

    def observe(self, batch):
        return np.column_stack([batch.qpos, batch.qvel])

    def reward(self, batch):
        return 1.0 - np.abs(batch.qpos[:, 0])

    def terminated(self, batch):
        return np.abs(batch.qpos[:, 1]) > 0.5

    def vary(self, batch, ids, rng):
        pole = batch.model.body("pole").id
        batch.expand("body_mass")[ids, pole] *= rng.uniform(0.5, 2.0)

    def reset_worlds(self, batch, ids, rng):
        batch.qpos[ids] = rng.uniform(-0.05, 0.05, batch.model.nq)


for name, gains in {"no push": [0, 0, 0, 0], "a rule": [0.5, 6.0, 0.8, 1.2]}.items():
    envs = BatchVectorEnv(Balance, 256, num_threads=2)
    observations, infos = envs.reset(seed=1)
    falls = 0
    for _ in range(400):
        actions = np.clip(observations @ np.array(gains)[:, None], -1, 1).astype(np.float32)
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        falls += terminations.sum()
    print(f"{name}: {falls} falls in 400 steps of 256 worlds")
    envs.close()
