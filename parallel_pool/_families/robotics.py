"""What C needs of the models of Gymnasium-Robotics (csrc/envs/mujoco/robotics/task.h)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._families import (
    mujoco,
    numpy_loops,
    robotics_hands,
    robotics_kitchen,
    robotics_mazes,
    robotics_models,
)

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# arrays of mjData that tasks use, besides those of every link
DATA_ARRAYS = ("mocap_pos", "mocap_quat", "xquat", "site_xmat", "sensordata")
# and those of mjModel that tasks write to
MODEL_ARRAYS = ("body_pos", "body_quat", "site_pos")

# the options that determine the link
FETCH_OPTIONS = (
    *("xml_file", "frame_skip", "gripper_extra_height"),
    *("initial_slide0", "initial_slide1", "initial_slide2"),
    *("initial_object_x", "initial_object_y", "initial_object_z"),
)
MAZE_OPTIONS = ("xml_file", "maze_map", "maze_size_scaling", "maze_height")


# mujoco.INPUTS, but for the controls
INPUTS = tuple(name for name in mujoco.INPUTS if name != "CTRL")


@dataclass(frozen=True)
class Task:
    """What differs in Python between kinds of tasks.

    Attributes:
        options: those that determine the link.
        set_up: prepares a model, given options; returns the setup, and lines of the link.
        inputs: the parts of MuJoCo's integration state that an environment does not keep.
    """

    options: tuple[str, ...]
    set_up: Callable[[Any, Mapping[str, Any]], tuple[Sequence[float], Mapping[str, int]]]
    inputs: tuple[str, ...] = mujoco.INPUTS


def _set_up_fetch(model: Any, chosen: Mapping[str, Any]) -> tuple[list[float], dict[str, int]]:
    setup = robotics_models.set_up_fetch(model, chosen)
    welded = {"body:welded": robotics_models.welded_body(model)}
    return setup, {**welded, **robotics_models.control_places(model)}


def _set_up_adroit(model: Any, chosen: Mapping[str, Any]) -> tuple[list[float], dict[str, int]]:
    robotics_hands.set_up_adroit(model)
    return [], {}


def _set_up_reach(model: Any, chosen: Mapping[str, Any]) -> tuple[list[float], dict[str, int]]:
    return robotics_hands.set_up_reach(model), {}


def _set_up_manipulate(model: Any, chosen: Mapping[str, Any]) -> tuple[list[float], dict[str, int]]:
    setup = robotics_hands.set_up_manipulate(model, mujoco.state_spec(INPUTS))
    return setup, robotics_hands.find_touch_sensors(model)


def _set_up_kitchen(model: Any, chosen: Mapping[str, Any]) -> tuple[list[float], dict[str, int]]:
    return robotics_kitchen.read_configuration(model.nv), {}


# by the beginning of their ids
TASKS = {
    "Fetch": Task(FETCH_OPTIONS, _set_up_fetch),
    "AdroitHand": Task(("xml_file",), _set_up_adroit),
    "HandReach": Task(("xml_file",), _set_up_reach),
    "HandManipulate": Task(("xml_file",), _set_up_manipulate, INPUTS),
    "FrankaKitchen": Task(("xml_file",), _set_up_kitchen),
}


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the task's model. Returns the options with its link and digest.

    Raises:
        MissingDependencyError: mujoco or gymnasium_robotics is not installed, or lacks something.
        OSError: the model's file does not exist.
        TypeError, ValueError: an option is wrong, or MuJoCo refuses the model.
    """
    if is_maze(definition):
        return _fill_maze(definition, options)
    return _fill_task(definition, options)


def is_maze(definition: Definition) -> bool:
    """Returns whether a task is in a maze."""
    return "maze_map" in definition.options


def fill_reset(definition: Definition, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns options of a reset in the form that C takes; raises TypeError for a wrong cell."""
    return robotics_mazes.fill_reset(options) if is_maze(definition) else options


def _fill_task(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    kept: list[Any] = []
    task = next(task for name, task in TASKS.items() if definition.id.startswith(name))
    chosen_options = dict(options)
    if "tasks_to_complete" in chosen_options:
        names = robotics_kitchen.join_tasks(chosen_options["tasks_to_complete"])
        chosen_options["tasks_to_complete"] = names

    def make(chosen: Mapping[str, Any]) -> tuple[Any, bytes, str]:
        path = robotics_models.find_file(str(chosen["xml_file"]))
        model, _ = mujoco.load(path, switches=False, warns=False)
        setup, lines = task.set_up(model, chosen)
        lines = {**lines, **describe(model, setup, kept)}
        link = mujoco.make_link(model, mujoco.state_spec(task.inputs), lines)
        return model, mujoco.digest(model), link

    completed, _ = mujoco.add_link(definition, chosen_options, task.options, make)
    return _with_kept(completed, kept)


def _fill_maze(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    kept: list[Any] = []
    has_ant = "ctrl_cost_weight" in definition.options
    completed = mujoco.rename(definition, options)
    given = completed.get("maze_map")
    if given is None or (isinstance(given, str) and not given):
        given = robotics_mazes.own_map(definition)
    completed["maze_map"] = robotics_mazes.map_text(given)

    def make(chosen: Mapping[str, Any]) -> tuple[Any, bytes, str]:
        find_file = mujoco.find_file if has_ant else robotics_models.find_file
        maze = robotics_mazes.Maze(
            chosen["maze_map"],
            chosen["maze_size_scaling"],
            chosen["maze_height"],
            is_v3=has_ant and definition.id.endswith("-v3"),
        )
        model = maze.model(find_file(str(chosen["xml_file"])))
        _check_integrator(definition, model)
        lines = describe(model, maze.setup(), kept)
        link = mujoco.make_link(model, mujoco.state_spec(mujoco.INPUTS), lines)
        return model, mujoco.digest(model), link

    completed, model = mujoco.add_link(definition, completed, MAZE_OPTIONS, make)
    if has_ant:
        mujoco.number_body(completed, model)
    return _with_kept(completed, kept)


def _check_integrator(definition: Definition, model: Any) -> None:
    """Raises ValueError for a ball's model that MuJoCo can't step in two halves."""
    is_rk4 = model.opt.integrator == mujoco.import_mujoco().mjtIntegrator.mjINT_RK4
    if is_rk4 and definition.id.startswith("PointMaze"):
        raise ValueError("PointMaze needs another integrator than RK4: choose another xml_file")


def _with_kept(options: dict[str, Any], kept: list[Any]) -> dict[str, Any]:
    """Keeps what a new link has addresses of; an older link has its own."""
    if kept:
        options["_link"].kept = kept
    return options


def describe(model: Any, setup: Sequence[float], kept: list[Any]) -> dict[str, int]:
    """Returns the lines of the link that only these tasks read, by name.

    Args:
        model: the MjModel.
        setup: the numbers that the task computes in Python.
        kept: gets what the lines have addresses of.
    """
    data = mujoco.import_mujoco().MjData(model)
    numbers = np.array(setup, np.float64)
    loops = ctypes.create_string_buffer(numpy_loops.packed())
    kept += [numbers, loops]
    return {
        **mujoco.find_names(model),
        **mujoco.find_offsets(data, DATA_ARRAYS),
        **mujoco.find_offsets(model, MODEL_ARRAYS),
        "time": mujoco.time_offset(data),
        "disableflags": mujoco.flags_offset(model),
        "no_sensors": int(mujoco.import_mujoco().mjtDisableBit.mjDSBL_SENSOR)
        if model.nsensor
        else 0,
        "numpy_loops": ctypes.addressof(loops),
        "setup": numbers.ctypes.data,
        "setup_size": numbers.size,
    }
