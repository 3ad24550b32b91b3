"""EnvPool's ids of Gymnasium-Robotics' tasks have EnvPool's options, observations and actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import registry
from tests.support.sampling import thinned

envpool: Any = pytest.importorskip("envpool", reason="EnvPool is in the dependency group bench")

OURS = {
    definition.id for definition in registry.builtin().values() if definition.family == "robotics"
}
KINDS = ("Fetch", "PointMaze_", "AdroitHand", "HandReach", "HandManipulate", "FrankaKitchen")
IDS = sorted(each for each in envpool.list_all_envs() if each.startswith(KINDS))
# The id or the model says most of them; some have no effect; Gymnasium-Robotics has no threshold,
# and no option for the range of a hand's goals. relative_control fails there.
NOT_OURS = {
    *("has_object", "target_offset_z", "reward_threshold", "adroit_task", "hand_task"),
    *("obs_dim", "action_dim", "goal_dim", "qpos_dim", "qvel_dim", "reset_dim"),
    *("touch_visualisation", "relative_control"),
    *(f"target_position_{end}{axis}" for end in ("low", "high") for axis in range(3)),
}
# what only tasks with an object have here
NOT_OF_REACH = {
    *("target_position", "target_rotation", "rotation_threshold", "touch_get_obs"),
    *("randomize_initial_position", "randomize_initial_rotation", "ignore_z_target_rotation"),
}


def test_every_id_is_there() -> None:
    assert len(IDS) == 157 and OURS.issuperset(IDS)


@pytest.mark.quick(2)
@pytest.mark.parametrize("task_id", thinned(IDS, 16))
def test_specs_are_envpools(task_id: str) -> None:
    ours, theirs = parallel_pool.make_spec(task_id), envpool.make_spec(task_id)
    # defaults differ, as EnvPool's are FetchReach's in all specs of Fetch
    lacking = NOT_OURS | (NOT_OF_REACH if task_id.startswith("HandReach") else set())
    options = set(theirs.config._fields)
    assert options - set(ours.config._fields) == lacking & options
    assert ours.config.frame_skip == theirs.config.frame_skip
    assert ours.config.max_episode_steps == theirs.config.max_episode_steps
    assert described(ours) == described(theirs)
    action, expected = ours.action_array_spec["action"], theirs.action_array_spec["action"]
    assert list(action.shape) == list(expected.shape)
    assert np.all(action.minimum == expected.minimum)
    assert np.all(action.maximum == expected.maximum)


def described(spec: Any) -> dict[str, Any]:
    """Returns shapes and dtypes of observations by name; of dicts in dicts EnvPool joins the names
    by colons in its specs, and by dots elsewhere."""
    return {
        name.replace(":", "."): (list(each.shape), np.dtype(each.dtype))
        for name, each in spec.state_array_spec.items()
        if name.startswith("obs:")
    }
