"""The models of Gymnasium-Robotics: its XML files, and how its environments begin.

The files are those of the installed gymnasium_robotics, found without importing it: importing
registers its ids with Gymnasium, and some of its environments fail with newer versions of MuJoCo,
with which the files work.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._families import mujoco
from parallel_pool.errors import MissingDependencyError

# without what it asks for: it is only read
INSTALL = "pip install --no-deps gymnasium-robotics"


@cache
def assets() -> Path:
    """Returns the folder of Gymnasium-Robotics' models.

    Raises:
        MissingDependencyError: it is not installed.
    """
    spec = importlib.util.find_spec("gymnasium_robotics")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        if (Path(folder) / "envs" / "assets").is_dir():
            return Path(folder) / "envs" / "assets"
    raise MissingDependencyError(
        f"the models of Gymnasium-Robotics are not installed: {INSTALL}"
    ) from ModuleNotFoundError("No module named 'gymnasium_robotics'", name="gymnasium_robotics")


def find_file(xml_file: str) -> Path:
    """Returns the path of a model: Gymnasium-Robotics' file, unless it begins with "/", "." or "~".

    Raises:
        MissingDependencyError: Gymnasium-Robotics is not installed.
        OSError: the file does not exist.
    """
    return mujoco.find_file(xml_file, assets, "one of Gymnasium-Robotics' models")


def joint_of(model: Any, name: str) -> Any:
    """Returns a joint of the model; raises ValueError if there is none of that name."""
    try:
        return model.joint(name)
    except KeyError:
        raise ValueError(f"the model has no joint {quote(name)}: choose another xml_file") from None


def welded_body(model: Any) -> int:
    """Returns the number of the body that is welded to the mocap body.

    Raises:
        ValueError: the model has no such body, or several.
    """
    weld = int(mujoco.import_mujoco().mjtEq.mjEQ_WELD)
    welds = np.flatnonzero(model.eq_type == weld)
    if model.nmocap != 1 or len(welds) != 1:
        raise ValueError(
            f"the model has {model.nmocap} mocap bodies and {len(welds)} welds: choose an xml_file"
            " with one of each"
        )
    bodies = int(model.eq_obj1id[welds[0]]), int(model.eq_obj2id[welds[0]])
    return bodies[1] if model.body_mocapid[bodies[0]] != -1 else bodies[0]


def set_up_fetch(model: Any, options: Mapping[str, Any]) -> list[float]:
    """Prepares Fetch's model, and moves the gripper to where episodes begin.

    Args:
        model: whose weld is reset, as the environment does.
        options: of the definition.

    Returns:
        The time, qpos, qvel, the gripper's place (x, y, z), and the object's height, 0 without one.

    Raises:
        ValueError: the model lacks something.
    """
    package = mujoco.import_mujoco()
    data = package.MjData(model)
    for i in range(3):
        data.qpos[joint_of(model, f"robot0:slide{i}").qposadr] = options[f"initial_slide{i}"]
    sites = [model.site(i).name for i in range(model.nsite)]
    if "object0" in sites:
        place = [options[f"initial_object_{axis}"] for axis in "xyz"]
        start = int(joint_of(model, "object0:joint").qposadr[0])
        data.qpos[start : start + 7] = [*place, 1.0, 0.0, 0.0, 0.0]
    welds = model.eq_type == int(package.mjtEq.mjEQ_WELD)
    model.eq_data[welds, :7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    package.mj_forward(model, data)
    grip = data.site("robot0:grip").xpos
    height = -0.431 + options["gripper_extra_height"]
    data.mocap_pos[0] = np.array([-0.498, 0.005, height]) + grip
    data.mocap_quat[0] = [1.0, 0.0, 1.0, 0.0]
    for _ in range(10):
        package.mj_step(model, data, nstep=options["frame_skip"])
    object_height = data.site("object0").xpos[2] if "object0" in sites else 0.0
    return [data.time, *data.qpos, *data.qvel, *grip, object_height]


def control_places(model: Any) -> dict[str, int]:
    """Returns for each actuator the place of its joint in qpos, -1 if it is a motor."""
    return {
        f"control{i}_qpos": (
            int(model.jnt_qposadr[model.actuator_trnid[i, 0]])
            if model.actuator_biastype[i] != 0
            else -1
        )
        for i in range(model.nu)
    }
