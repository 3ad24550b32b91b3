"""Replays: an environment repeats what it did after a snapshot was taken."""

from __future__ import annotations

import numpy as np

from parallel_pool._engine.pool import Pool


def check_replay(task_id: str) -> None:
    """Plays short episodes with stacked frames, from a snapshot on twice."""
    options = {"frame_stack": 2}
    with Pool(task_id, 3, seed=1, max_episode_steps=7, options=options) as pool:
        space = pool.spec.action_space()
        space.seed(0)
        actions = [np.stack([space.sample() for _ in range(3)]) for _ in range(12)]
        pool.reset()
        for action in actions:
            pool.step(action)
        snapshots = pool.get_state()
        first = [pool.step(action) for action in actions]
        pool.set_state(snapshots)
        again = [pool.step(action) for action in actions]
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one.reward, other.reward)
