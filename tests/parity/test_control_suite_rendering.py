"""Pictures of dm_control's tasks equal those of its own renderer, pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool import Pool
from parallel_pool._contract import guards, rules
from parallel_pool._families.control_suite_models import WITHOUT
from parallel_pool._families.control_suite_renderer import Renderer
from tests.parity.test_mujoco_rendering import needs_opengl
from tests.support.reference import control_suite_player
from tests.support.reference.control_suite_player import TASKS
from tests.support.reference.player_process import SAME
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/mujoco")

WITH_PICTURES = [task for task in TASKS if task != WITHOUT]
# it shows values of the model that a reset writes
QUICK = ("finger-spin",)


@pytest.mark.slow
@pytest.mark.skipif(
    not control_suite_player.is_installed(),
    reason=f"dm_control is not in {control_suite_player.FOLDER}, where make installs it",
)
@pytest.mark.parametrize("task", sampled(WITH_PICTURES, QUICK))
@needs_opengl
def test_pictures_are_the_same(task: str) -> None:
    assert control_suite_player.compared_pictures(task) == SAME


@pytest.mark.slow
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


@pytest.mark.slow
@needs_opengl
def test_pixels_are_the_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn by the threads that step; a stack holds the last ones, and a snapshot keeps them."""
    monkeypatch.setenv("MUJOCO_GL", "egl")
    size = {"render_width": 40, "render_height": 30, "render_camera_id": 0}
    options = {"from_pixels": True, "frame_stack": 2, **size}
    id = "ReacherEasy-v1"
    with (
        Pool(id, 4, num_threads=2, seed=3, options=options) as pool,
        Pool(id, 4, num_threads=1, seed=3) as plain,
    ):
        renderer = Renderer(plain, width=40, height=30, camera_id=0)
        (pixels,), _ = (pool.reset().pixels,), plain.reset()
        older = frames = drawn(renderer, 4)
        assert pixels.dtype == np.uint8 and np.array_equal(pixels, np.hstack([frames, frames]))
        actions = np.full((4, 2), 0.7)
        for _ in range(3):
            pixels = pool.step(actions).pixels
            plain.step(actions)
            older, frames = frames, drawn(renderer, 4)
            assert np.array_equal(pixels, np.hstack([older, frames]))
        renderer.close()
        saved = pool.get_state()
        expected = pool.step(actions).pixels
        pool.set_state(saved)
        assert np.array_equal(pool.step(actions).pixels, expected)


def drawn(renderer: Renderer, count: int) -> Any:
    """Returns pictures as planes, uint8 (count, 3, height, width)."""
    return np.stack([renderer.draw(i).transpose(2, 0, 1) for i in range(count)])


@pytest.mark.slow
@needs_opengl
def test_a_pool_of_pixels_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "egl")
    options = {"from_pixels": True, "render_width": 16, "render_height": 8}
    for check in (rules.spaces, rules.snapshots, rules.threads, guards.writes):
        check("CheetahRun-v1", few=True, options=options)


@needs_opengl
@pytest.mark.parametrize(
    ("id", "options", "why"),
    [
        ("CheetahRun-v1", {"render_camera_id": 2}, "render_camera_id=2: choose -1 to 1"),
        ("QuadrupedEscape-v1", {}, "quadruped-escape has no pictures"),
    ],
)
def test_pixels_that_are_not_there_are_refused(
    id: str, options: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(ValueError, match=why):
        Pool(id, 1, options={"from_pixels": True, **options})


def test_pixels_need_egl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with pytest.raises(ValueError, match="draws with EGL, and the backend is osmesa"):
        Pool("CheetahRun-v1", 1, options={"from_pixels": True})


def test_a_task_without_pictures_says_so() -> None:
    with pytest.raises(ValueError, match="render_mode='rgb_array': choose None"):
        parallel_pool.make_vec(f"dm_control/{WITHOUT}-v0", 1, render_mode="rgb_array")


def test_a_camera_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="camera_name='top': choose 'side' or 'back'"):
        parallel_pool.make_vec("CheetahRun-v1", 1, render_mode="rgb_array", camera_name="top")
