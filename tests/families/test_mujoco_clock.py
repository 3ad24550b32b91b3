"""MuJoCo's timers: disabled in pools, and unchanged for all other code in the process."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

import parallel_pool


@pytest.fixture
def readings() -> Iterator[list[float]]:
    """Installs a user's own clock. Returns the list of its readings."""
    noted: list[float] = []

    def clock() -> float:
        noted.append(float(len(noted)))
        return noted[-1]

    mujoco.set_mjcb_time(clock)
    yield noted
    # no clock, as in a new process: the pool's clock would still call this one
    mujoco.set_mjcb_time(None)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_pools_read_no_clock_and_others_still_do(readings: list[float], num_threads: int) -> None:
    env = parallel_pool.make_vec("Ant-v5", 8, vector_kwargs={"num_threads": num_threads})
    readings.clear()
    env.reset(seed=1)
    for _ in range(5):
        env.step(np.zeros((8, 8), np.float32))
    env.close()
    assert not readings

    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    assert readings
    assert data.timer[int(mujoco.mjtTimer.mjTIMER_STEP)].duration > 0
