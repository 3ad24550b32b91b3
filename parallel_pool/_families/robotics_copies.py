"""Methods of Gymnasium-Robotics' goal environments that take whole arrays of goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._families import robotics_rotations

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool

Options = Mapping[str, Any]

# distance in m from which a goal of a maze is reached
MAX_GOAL_DISTANCE = 0.45
# how near the joints of something must be to their goal, in m and radians
KITCHEN_THRESHOLD = 0.3


def distance_reward(options: Options, achieved_goal: Any, goal: Any, info: Any) -> Any:
    """Returns the rewards of goals whose last axis is a place, or several, in m: a dense one is a
    negative distance, a sparse one -1 or -0, a float32."""
    distance = _distance(achieved_goal, goal)
    if options["reward_type"] == "sparse":
        return -(distance > options["distance_threshold"]).astype(np.float32)
    return -distance


def pose_reward(options: Options, achieved_goal: Any, goal: Any, info: Any) -> Any:
    """Returns the rewards of goals whose last axis is a place in m and a quaternion.

    A dense one is the negative sum of 10 times the distance and of the angle in radians, a sparse
    one -1 or 0, a float32.
    """
    distance = angle = np.zeros_like(goal[..., 0])
    if options["target_position"] != "ignore":
        distance = _distance(achieved_goal[..., :3], goal[..., :3])
    angle = _angle(options, achieved_goal[..., 3:], goal[..., 3:])
    if options["reward_type"] != "sparse":
        return -(10.0 * distance + angle)
    is_near = (distance < options["distance_threshold"]).astype(np.float32)
    is_turned = (angle < options["rotation_threshold"]).astype(np.float32)
    return is_near * is_turned - 1.0


def _angle(options: Options, achieved: Any, goal: Any) -> Any:
    """Returns the angles between rotations, in radians."""
    if options["ignore_z_target_rotation"]:
        angles = robotics_rotations.to_angles(achieved)
        # as in the original: of several goals this is the third one, not the angle about z
        angles[2] = robotics_rotations.to_angles(goal)[2]
        achieved = robotics_rotations.from_angles(angles)
    between = robotics_rotations.multiply(achieved, robotics_rotations.conjugate(goal))
    return 2 * np.arccos(np.clip(between[..., 0], -1.0, 1.0))


def kitchen_reward(options: Options, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
    """Returns how many tasks are achieved: floats, for goals (..., n) by the names of tasks."""
    achieved = [
        np.linalg.norm(achieved_goal[task] - goal, axis=-1) < KITCHEN_THRESHOLD
        for task, goal in desired_goal.items()
    ]
    count = np.sum(achieved, axis=0, dtype=np.float64)
    return count if count.ndim else float(count)


def never(options: Options, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
    """Returns False: an episode goes on until its limit."""
    return False


def _distance(achieved_goal: Any, goal: Any) -> Any:
    if achieved_goal.shape != goal.shape:
        raise ValueError(
            f"goals of shapes {achieved_goal.shape} and {goal.shape}: give arrays of one shape"
        )
    return np.linalg.norm(achieved_goal - goal, axis=-1)


def maze_reward(options: Options, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
    """Returns the rewards of places, whose last axis is x and y, in m: the negative exponential of
    their distance from the goal, or 1.0 within 0.45 m of it."""
    distance = np.linalg.norm(achieved_goal - desired_goal, axis=-1)
    if options["reward_type"] == "dense":
        return np.exp(-distance)
    return (distance <= MAX_GOAL_DISTANCE).astype(np.float64)


def maze_terminated(options: Options, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
    """Returns whether a place ends the episode: if it is the goal, and the task does not go on."""
    if options["continuing_task"]:
        return False
    return bool(np.linalg.norm(achieved_goal - desired_goal) <= MAX_GOAL_DISTANCE)


ENDS = {"compute_terminated": never, "compute_truncated": never}
MAZE: Mapping[str, Callable[..., Any]] = {
    "compute_reward": maze_reward,
    "compute_terminated": maze_terminated,
    "compute_truncated": never,
}
# by the beginning of an id, the methods by name
METHODS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "AntMaze": MAZE,
    "Fetch": {"compute_reward": distance_reward, **ENDS},
    "FrankaKitchen": {"compute_reward": kitchen_reward},
    "HandManipulate": {"compute_reward": pose_reward, **ENDS},
    "HandReach": {"compute_reward": distance_reward, **ENDS},
    "PointMaze": MAZE,
}


class Copies:
    """The environments of a pool, as far as hindsight replay asks them."""

    def __init__(self, pool: Pool) -> None:
        """
        Args:
            pool: of Gymnasium-Robotics' tasks.
        """
        self._pool = pool
        title = pool.definition.id
        self._methods = next(
            (methods for start, methods in METHODS.items() if title.startswith(start)), {}
        )

    def has(self, name: str) -> bool:
        """Returns whether it is one of the methods."""
        return name in self._methods

    def attribute(self, env_id: int, name: str) -> Callable[..., Any]:
        """Returns a method of an environment."""
        return partial(self._methods[name], self._pool.options_of(env_id))

    def call(self, env_id: int, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a method: `compute_reward`, `compute_terminated` or `compute_truncated`.

        Their arguments are Gymnasium-Robotics': achieved goals and desired goals, arrays of one
        shape (..., n), and infos, which none of them reads.
        """
        return self.attribute(env_id, name)(*args, **kwargs)
