"""Pictures of Gymnasium-Robotics' tasks equal those of its own renderer, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

import parallel_pool
from tests.parity.test_mujoco_rendering import needs_opengl
from tests.support.reference import robotics_player
from tests.support.reference.player_process import SAME
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/mujoco")

# one of each kind, some of which take seconds. PickAndPlace is not there, as drawing it changes its
# next steps in the original
DRAWN = sampled(
    (
        *("FetchReach-v4", "FetchPush-v4", "PointMaze_Large-v3", "AntMaze_UMaze-v5"),
        *("AdroitHandDoor-v1", "AdroitHandPen-v1", "HandReach-v3", "FrankaKitchen-v1"),
    ),
    {"FetchReach-v4"},
)
# drawing these changes their next steps in the original, so that only the first picture is compared
DRAWN_ONCE = sampled(
    (
        "HandManipulateBlockRotateZ-v1",
        "HandManipulatePen-v1",
        "HandManipulateEgg_ContinuousTouchSensors-v1",
    ),
    {"HandManipulatePen-v1"},
)

with_reference = pytest.mark.skipif(
    not robotics_player.is_installed(),
    reason=f"Gymnasium-Robotics is not in {robotics_player.FOLDER}, where make installs it",
)


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize("task_id", DRAWN)
@needs_opengl
def test_pictures_are_the_same(task_id: str) -> None:
    assert robotics_player.compared_pictures(task_id) == SAME


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize("task_id", DRAWN_ONCE)
@needs_opengl
def test_first_pictures_are_the_same(task_id: str) -> None:
    assert robotics_player.compared_pictures(task_id, count=1) == SAME


@needs_opengl
def test_drawing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "egl")
    found = []
    for mode in ("rgb_array", None):
        envs = parallel_pool.make_vec("FetchPickAndPlace-v4", 2, render_mode=mode)
        envs.reset(seed=0)
        for _ in range(5):
            observations, *_ = envs.step(np.full((2, 4), 0.5, np.float32))
            envs.render() if mode else None
        found.append(observations["observation"])
        assert mode is None or envs.metadata["render_fps"] == 25
        envs.close()
    assert np.array_equal(*found)
