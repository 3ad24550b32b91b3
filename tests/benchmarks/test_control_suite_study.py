"""The study of dm_control's suite: its bare loop computes what a pool does."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies import control_suite
from parallel_pool import Pool
from parallel_pool._engine import registry

TASKS = ("cheetah-run", "walker-run", "pendulum-swingup", "cartpole-swingup")


# of several simulation steps, of one, and RK4
@pytest.mark.quick(2)
@pytest.mark.parametrize("task", TASKS)
def test_the_bare_loop_is_the_pools_simulation(task: str) -> None:
    with Pool(f"dm_control/{task}-v0", 2, num_threads=1, seed=1) as pool:
        pool.reset()
        size = pool.spec.action.shape
        actions = np.random.default_rng(0).uniform(-1, 1, (5, 2, *size))
        play = control_suite.BareLoop(pool, actions)
        for row in actions:
            batch = pool.step(row)
        play(5)
        for i, copy in enumerate(play.copies):
            assert np.array_equal(batch.velocity[i].ravel(), copy.qvel)


def test_the_tasks_are_there() -> None:
    for task in control_suite.BENCHMARKING:
        assert registry.find(f"dm_control/{task}-v0")
    assert len(set(control_suite.BENCHMARKING)) == 28
