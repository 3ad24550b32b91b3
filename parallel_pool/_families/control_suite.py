"""What C needs of the models of dm_control's suite (csrc/envs/mujoco/suite/model.h)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._families import (
    control_suite_models,
    control_suite_pixels,
    mujoco,
    numpy_loops,
)

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# arrays of mjData and mjModel that tasks use, besides those of every link
DATA_ARRAYS = (
    *("act", "xmat", "xquat", "xanchor", "site_xmat", "geom_xpos", "geom_xmat", "sensordata"),
)
MODEL_ARRAYS = (
    *("jnt_range", "jnt_stiffness", "dof_damping", "geom_pos", "geom_size", "site_pos"),
    *("site_size", "body_pos", "body_quat", "light_pos", "wrap_prm", "body_subtreemass"),
    *("hfield_data", "hfield_size"),
)
# the options that determine the link
MODEL_OPTIONS = (
    *("_model", "speed_switches", "from_pixels", "render_width", "render_height"),
    "render_camera_id",
)
# numbers that no field of a new mjData or mjModel has
UNIQUE_NUMBER = 0x5A17C3
UNIQUE_WARNING = 0x3B29E5


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the task's model. Returns the options with its link and digest, and NumPy's loops.

    Raises:
        MissingDependencyError: mujoco or dm_control is not installed, or lacks something.
        TypeError, ValueError: an option is wrong, or MuJoCo refuses the model.
    """

    kept: list[Any] = []

    def make(chosen: Mapping[str, Any]) -> tuple[Any, bytes, str]:
        model, digest = control_suite_models.load(
            str(chosen["_model"]), switches=bool(chosen["speed_switches"])
        )
        lines = describe(model)
        if chosen["from_pixels"]:
            pictures, kept[:] = control_suite_pixels.describe(definition, chosen)
            lines |= pictures
        return model, digest, mujoco.make_link(model, mujoco.state_spec(mujoco.INPUTS), lines)

    completed, _ = mujoco.add_link(definition, options, MODEL_OPTIONS, make)
    if kept:
        completed["_link"].kept = kept
    return {**completed, "_numpy": numpy_loops.packed()}


# -------------------------------------------------------------------------------------- link --


def describe(model: Any) -> dict[str, int]:
    """Returns the lines of the link that only these tasks read, by name."""
    package = mujoco.import_mujoco()
    data = package.MjData(model)
    return {
        **mujoco.find_offsets(data, DATA_ARRAYS),
        **mujoco.find_offsets(model, MODEL_ARRAYS),
        "time": mujoco.time_offset(data),
        **_find_numbers(model, data),
        **_joints(model),
        **mujoco.find_names(model),
        "na": model.na,
        "gravity": struct.unpack("<q", struct.pack("<d", -model.opt.gravity[2]))[0],
        "is_rk4": int(model.opt.integrator == package.mjtIntegrator.mjINT_RK4),
        "no_actuation": int(package.mjtDisableBit.mjDSBL_ACTUATION),
        "num_warnings": len(data.warning),
        "actuator_ctrllimited": model.actuator_ctrllimited.ctypes.data,
    }


def _find_numbers(model: Any, data: Any) -> dict[str, int]:
    """Returns the offsets of numbers that are no arrays, found by values that no other has."""
    data.ncon = UNIQUE_NUMBER
    data.warning[0].number = UNIQUE_WARNING
    found = {
        "disableflags": mujoco.flags_offset(model),
        "ncon": mujoco.find_number("ncon", data, UNIQUE_NUMBER),
        # MuJoCo's mjWarningStat begins with another number
        "warnings": mujoco.find_number("warnings", data, UNIQUE_WARNING) - 4,
    }
    data.ncon = 0
    return found


def _joints(model: Any) -> dict[str, int]:
    lines = {"njnt": int(model.njnt)}
    for i in range(model.njnt):
        lines[f"joint{i}_type"] = int(model.jnt_type[i])
        lines[f"joint{i}_limited"] = int(model.jnt_limited[i])
        lines[f"joint{i}_qpos"] = int(model.jnt_qposadr[i])
        lines[f"joint{i}_qvel"] = int(model.jnt_dofadr[i])
    return lines
