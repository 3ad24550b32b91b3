"""Rewards of arrays of goals that the originals do not take: `tests/parity/test_robotics.py` has
those that they do."""

from __future__ import annotations

import numpy as np
import pytest

from parallel_pool._families import robotics_copies

POSE = {
    "reward_type": "dense",
    "target_position": "random",
    "distance_threshold": 0.01,
    "rotation_threshold": 0.1,
    "ignore_z_target_rotation": False,
}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_poses_may_have_any_axes(kind: str) -> None:
    rng = np.random.default_rng(0)
    goals = rng.standard_normal((2, 4, 3, 7))
    goals[..., 3:] /= np.linalg.norm(goals[..., 3:], axis=-1, keepdims=True)
    goals[0, 0] = goals[1, 0]
    options = {**POSE, "reward_type": kind}
    found = robotics_copies.pose_reward(options, goals[0], goals[1], {})
    rows = [
        robotics_copies.pose_reward(options, achieved, goal, {})
        for achieved, goal in zip(*goals.reshape(2, 12, 7), strict=True)
    ]
    assert found.tobytes() == np.array(rows).tobytes()
    assert (found[0] > -0.01).all() and (found[1:] < -0.5).all()


def test_poses_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"goals of shapes \(2, 3\) and \(3,\)"):
        robotics_copies.pose_reward(POSE, np.zeros((2, 7)), np.zeros(7), {})


def test_tasks_of_the_kitchen_are_counted() -> None:
    wanted = {"microwave": np.array([-0.75]), "hinge cabinet": np.array([0.0, 1.45])}
    achieved = {
        "microwave": np.array([[-0.5], [-0.7], [0.0]]),
        "hinge cabinet": np.array([[0.0, 1.4], [0.3, 1.4], [0.0, 0.0]]),
    }
    found = robotics_copies.kitchen_reward({}, achieved, wanted, {})
    assert found.dtype == np.float64 and found.tolist() == [2, 1, 0]
    one = {name: values[0] for name, values in achieved.items()}
    assert type(robotics_copies.kitchen_reward({}, one, wanted, {})) is float
