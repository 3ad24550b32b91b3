"""The study of Gymnasium-Robotics: its ids exist, and its bare loop simulates."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks.studies import robotics
from parallel_pool import Pool
from parallel_pool._engine import registry


def test_the_ids_are_there() -> None:
    for env_id in robotics.IDS:
        assert registry.find(env_id).family == "robotics"


@pytest.mark.skipif(find_spec("gymnasium_robotics") is None, reason="needs its models")
def test_the_bare_loop_steps_a_copy() -> None:
    with Pool("PointMaze_Open-v3", 1, seed=1) as pool:
        before = pool.reset().observation.copy()
        actions = np.ones((robotics.NUM_ROWS, 1, 2), np.float32)
        robotics.bare_loop(pool, actions)(5)
        after = pool.step(actions[0])
        assert not np.array_equal(before, after.observation) and after.elapsed_step[0] == 1
