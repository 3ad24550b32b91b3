"""Pictures of dm_control's tasks equal those of its own renderer, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

import parallel_pool
from parallel_pool._families.control_suite_renderer import WITHOUT
from tests.parity.test_mujoco_rendering import needs_opengl
from tests.support.reference import control_suite_player
from tests.support.reference.control_suite_player import SAME, TASKS
from tests.support.sampling import sampled

WITH_PICTURES = [task for task in TASKS if task != WITHOUT]
# values of the model that a reset writes, and pictures show
QUICK = ("reacher-hard", "finger-spin", "swimmer-swimmer6")


@pytest.mark.skipif(
    not control_suite_player.is_installed(),
    reason=f"dm_control is not in {control_suite_player.FOLDER}, where make installs it",
)
@pytest.mark.parametrize("task", sampled(WITH_PICTURES, QUICK))
@needs_opengl
def test_pictures_are_the_same(task: str) -> None:
    assert control_suite_player.compared_pictures(task) == SAME


@needs_opengl
def test_every_api_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "egl")
    id = "dm_control/cheetah-run-v0"
    envs = parallel_pool.make_vec(id, 2, render_mode="rgb_array", width=40, height=30)
    envs.reset(seed=0)
    frames = envs.render()
    envs.close()
    assert frames is not None and [frame.shape for frame in frames] == [(30, 40, 3)] * 2
    assert not np.array_equal(*frames)
    assert envs.metadata["render_fps"] == 100
    with parallel_pool.make_dm("cheetah-run", batched=False, render_mode="rgb_array") as env:
        env.reset()
        assert env.render(camera_id=0).shape == (240, 320, 3)


def test_a_task_without_pictures_says_so() -> None:
    with pytest.raises(ValueError, match="render_mode='rgb_array': choose None"):
        parallel_pool.make_vec(f"dm_control/{WITHOUT}-v0", 1, render_mode="rgb_array")


def test_a_camera_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="camera_name='top': choose 'side' or 'back'"):
        parallel_pool.make_vec("CheetahRun-v1", 1, render_mode="rgb_array", camera_name="top")
