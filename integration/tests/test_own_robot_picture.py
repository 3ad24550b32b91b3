"""The picture of docs/own-robot.md can be drawn again."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image

from integration import own_robot_picture
from tests.parity.test_mujoco_rendering import needs_opengl


@needs_opengl
def test_the_picture_shows_three_moments(tmp_path: Path) -> None:
    own_robot_picture.main(["--out", str(tmp_path / "robot.png")])
    picture = matplotlib.image.imread(tmp_path / "robot.png")
    assert picture.shape[:2] == (180, 720)
    first, second, third = picture[:, :240], picture[:, 240:480], picture[:, 480:]
    assert (first != second).any() and (second != third).any()
