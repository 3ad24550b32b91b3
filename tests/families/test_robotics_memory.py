"""Each kind of Gymnasium-Robotics' tasks plays, is saved and restored: for the sanitizers.

`tests/parity/test_robotics.py` compares results, in a process that no sanitizer sees.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.support.replays import check_replay

IDS = (
    *("FetchReach-v4", "FetchSlideDense-v4", "FetchPickAndPlace-v4"),
    *("PointMaze_Open_Diverse_GR-v3", "AntMaze_UMaze-v3", "AntMaze_UMazeDense-v5"),
    *("AdroitHandHammer-v1", "AdroitHandPen-v1", "HandReach-v3"),
    *("HandManipulatePenDense-v1", "HandManipulateBlockRotateParallel_BooleanTouchSensors-v1"),
    "FrankaKitchen-v1",
)


@pytest.mark.skipif(find_spec("gymnasium_robotics") is None, reason="needs its models")
@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("task_id", IDS)
def test_episodes_and_snapshots(task_id: str) -> None:
    check_replay(task_id)
