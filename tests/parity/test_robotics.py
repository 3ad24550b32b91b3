"""Tasks of Gymnasium-Robotics equal its own, in the same process and with a MuJoCo that fits."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from parallel_pool import EnvError, MissingDependencyError, Pool
from parallel_pool._apis.gymnasium.single_env import class_of
from parallel_pool._engine import registry
from parallel_pool._families import robotics_models
from tests.support.reference import robotics_player
from tests.support.reference.player_process import SAME
from tests.support.reference.robotics_player import IDS, Play
from tests.support.sampling import sampled, thinned

pytestmark = pytest.mark.proven("csrc/envs/mujoco")

with_reference = pytest.mark.skipif(
    not robotics_player.is_installed(),
    reason=f"Gymnasium-Robotics is not in {robotics_player.FOLDER}, where make installs it",
)

# a task of each kind but the kitchen: an object, mazes, hands, touch sensors
QUICK = (
    *("FetchPushDense-v4", "PointMaze_Large_Diverse_GR-v3", "AntMaze_UMaze-v5"),
    *("AdroitHandRelocate-v1", "HandManipulatePenRotate_BooleanTouchSensors-v1"),
)
# environments that are compared in vectors, whose infos have types
VECTORS = sampled(
    (
        *("FetchReach-v4", "PointMaze_UMaze-v3", "AntMaze_UMaze-v4", "AntMaze_UMaze-v5"),
        *("AdroitHandRelocate-v1", "HandReach-v3", "HandManipulateEgg_BooleanTouchSensors-v1"),
    ),
    {"FetchReach-v4", "AdroitHandRelocate-v1"},
)
# goals that can be given to compute_reward as arrays
GOALS = tuple(id for id in IDS if not id.startswith(("Adroit", "Franka")))

# a map of a user's, whose goals are so near that they are reached
NARROW = [[1, 1, 1, 1], [1, "g", "g", 1], [1, "r", 0, 1], [1, 1, 1, 1]]

# options that change what a reset draws, or what a step does, and the id that they are for
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("PointMaze_Open-v3", {"reset_target": True}),
    ("PointMaze_Open-v3", {"continuing_task": False}),
    ("PointMaze_UMaze-v3", {"maze_map": NARROW, "reset_target": True, "reward_type": "dense"}),
    ("AntMaze_UMaze-v3", {"maze_map": NARROW}),
    ("AntMaze_UMaze-v4", {"use_contact_forces": True, "maze_map": NARROW}),
    ("AntMaze_UMaze-v5", {"include_cfrc_ext_in_observation": False, "ctrl_cost_weight": 2.0}),
    ("HandReach-v3", {"distance_threshold": 0.1}),
    ("HandManipulateBlock-v1", {"target_position": "fixed", "randomize_initial_rotation": False}),
    (
        "HandManipulateEgg_ContinuousTouchSensors-v1",
        {"touch_get_obs": "log", "ignore_z_target_rotation": True, "rotation_threshold": 2.0},
    ),
]

# the kettle alone, after which an episode ends; a task that counts again; an episode that goes on
CHORES: list[dict[str, Any]] = [
    {"tasks_to_complete": ["kettle"], "robot_noise_ratio": 0.01},
    {"tasks_to_complete": ["microwave", "kettle"], "remove_task_when_completed": False},
    {"tasks_to_complete": ["kettle"], "terminate_on_tasks_completed": False},
]


@pytest.mark.quick(1)
@with_reference
@pytest.mark.parametrize("task_id", sampled(IDS, QUICK))
def test_episodes_are_the_same(task_id: str) -> None:
    assert robotics_player.played(Play(task_id, seed=5, run=4, limit=50)) == SAME


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize(
    "task_id",
    sampled(
        ("FetchSlide-v4", "PointMaze_Large_Diverse_GR-v3", "AntMaze_UMaze-v3", "AntMaze_UMaze-v4"),
        {"PointMaze_Large_Diverse_GR-v3"},
    ),
)
def test_many_resets_are_the_same(task_id: str) -> None:
    """Some draw an object under the gripper, or a start near the goal, and draw again."""
    assert robotics_player.played(Play(task_id, seed=6, steps=120, limit=2)) == SAME


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize(("task_id", "options"), thinned(OPTIONS, 3))
def test_options_do_what_they_do_there(task_id: str, options: dict[str, Any]) -> None:
    play = Play(task_id, seed=8, steps=200, run=20, limit=80, options=options)
    assert robotics_player.played(play) == SAME


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize("options", CHORES)
def test_tasks_of_the_kitchen_are_completed(options: dict[str, Any]) -> None:
    """In step 41 the second environment has pushed the kettle to where it should be."""
    play = Play(
        "FrankaKitchen-v1",
        seed=32,
        steps=50,
        run=30,
        dtype="float64",
        is_extreme=True,
        options=options,
    )
    assert robotics_player.played(play) == SAME


@with_reference
@pytest.mark.slow
@pytest.mark.parametrize("task_id", IDS)
def test_long_runs_are_the_same(task_id: str) -> None:
    play = Play(task_id, seed=2**32 - 5, num=1, steps=1000, run=8, dtype="float64")
    assert robotics_player.played(play) == SAME


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize("task_id", sampled(GOALS, tuple(id for id in QUICK if id in GOALS)))
def test_rewards_of_arrays_are_the_same(task_id: str) -> None:
    assert robotics_player.compared_rewards(task_id) == SAME


@pytest.mark.slow
@with_reference
@pytest.mark.parametrize("task_id", VECTORS)
def test_vector_environments_are_the_same(task_id: str) -> None:
    assert robotics_player.compared_vectors(task_id) == SAME


@with_reference
@pytest.mark.parametrize("task_id", sampled(("FetchReach-v4", "PointMaze_UMaze-v3"), ()))
def test_hindsight_replay_learns_the_same(task_id: str) -> None:
    assert robotics_player.compared_training(task_id) == SAME


@pytest.mark.slow
@with_reference
def test_another_seed_gives_other_episodes() -> None:
    """So that a comparison that compares nothing would not pass."""
    found = robotics_player.played(Play("FetchReach-v4", ours=1, steps=5))
    assert found.startswith("FetchReach-v4, step 0, environment 0: desired_goal is")


def test_every_id_of_the_reference_is_there() -> None:
    ids = {
        definition.id: definition.reference
        for definition in registry.definitions().values()
        if definition.family == "robotics"
    }
    assert {each for each, reference in ids.items() if reference.endswith(each)} == set(IDS)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    robotics_models.assets.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install --no-deps gymnasium-robotics"):
        Pool("FetchReach-v4", 1)


@pytest.mark.slow
def test_single_environments_have_the_methods() -> None:
    env = class_of("FetchReach-v4")(distance_threshold=0.2)
    goals = np.zeros((2, 3)), np.array([[0.1, 0, 0], [0.3, 0, 0]])
    assert env.compute_reward(*goals, {}).tolist() == [0, -1]
    assert not env.compute_terminated(*goals, {})
    with pytest.raises(AttributeError, match="no attribute compute_nothing"):
        env.compute_nothing()
    env.close()


def test_a_reset_starts_in_chosen_cells() -> None:
    with Pool("PointMaze_Large-v3", 2, seed=1) as pool:
        batch = pool.reset(options={"goal_cell": [7, 10], "reset_cell": (1, 1)})
        assert (abs(batch.desired_goal - [4.5, -3]) <= 0.25).all()
        assert (abs(batch.achieved_goal - [-4.5, 3]) <= 0.25).all()
        with pytest.raises(ValueError, match=r"goal_cell=\(0, 1\) is a wall"):
            pool.reset(options={"goal_cell": (0, 1)})
        with pytest.raises(ValueError, match="the maze has 9 rows and 12 columns"):
            pool.reset(options={"reset_cell": (9, 1)})
        with pytest.raises(TypeError, match="give two integers, a row and a column"):
            pool.reset(options={"goal_cell": 3})


def test_wrong_maps_are_explained() -> None:
    for value, error, match in (
        ("MOON", ValueError, "choose a list of rows, or one of EMPTY_MAZE, OPEN"),
        ([[1, 1], [1]], ValueError, "rows of different lengths"),
        ([[1, "x"]], ValueError, "has a cell 'x'"),
        ([[1, 1]], ValueError, "has no cell for a goal"),
        (3, TypeError, "give a list of rows"),
        ([0, 1], TypeError, "give a list of rows"),
        ([], ValueError, "rows of different lengths, or none"),
        (np.array([[1, 1], [1, 1]]), ValueError, "has no cell for a goal"),
    ):
        with pytest.raises(error, match=match):
            Pool("PointMaze_UMaze-v3", 1, options={"maze_map": value})


def test_a_maze_without_places_fails() -> None:
    """The reference never returns: it draws forever."""
    pool = Pool("PointMaze_UMaze-v3", 1, options={"maze_map": "111/101/111"})
    with pytest.raises(EnvError, match="are near the goal: choose another maze_map"):
        pool.reset()
    pool.close()
