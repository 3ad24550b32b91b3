"""Robots: environments of a user's own MuJoCo model, whose C file is compiled by `_source`.

The engine simulates them as it does Gymnasium's tasks (csrc/envs/mujoco/robot.c).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import named, quote
from parallel_pool._families import mujoco
from parallel_pool._native import ffi

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# The arrays of mjModel that a robot's `vary` may write: names, and beginnings of names. Arrays that
# hold meshes, textures and texts are left out, because they are large and seldom vary.
VARIED = ("qpos0", "qpos_spring", "hfield_data")
VARIED_PREFIXES = (
    *("body_", "jnt_", "dof_", "geom_", "site_", "cam_", "light_", "mat_", "pair_", "eq_"),
    *("tendon_", "wrap_", "actuator_", "sensor_"),
)
# bytes between two arrays that are treated as one part of the model
GAP = 64


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Loads the model of `xml_file`. Returns the options with its link and digest added.

    Raises:
        MissingDependencyError: mujoco is not installed, or lacks a function.
        OSError: the file does not exist.
        TypeError, ValueError: a value is wrong, or MuJoCo refuses the file.
    """

    def make(chosen: Mapping[str, Any]) -> tuple[Any, bytes, str]:
        path = find_file(definition, str(chosen["xml_file"]))
        model, digest = mujoco.load(path, switches=False)
        more = {
            "robot_engine": int(ffi.cast("uintptr_t", registry.builtin()["_robot"].raw)),
            "version": int(mujoco.import_mujoco().mj_version()),
            "actuator_ctrllimited": model.actuator_ctrllimited.ctypes.data,
            **find_segments(model),
        }
        return model, digest, mujoco.make_link(model, mujoco.state_spec(), more)

    return mujoco.add_link(definition, options, ("xml_file",), make)[0]


def find_file(definition: Definition, xml_file: str) -> Path:
    """Returns the path of a model, which is named from the folder of the robot's C file on.

    On another machine it is named from the folder of the library on.

    Raises:
        OSError: the file does not exist.
    """
    folders = [Path(str(definition.options["_folder"].default))]
    origin = registry.origins_by_id.get(definition.id)
    if origin is not None and not origin.source:
        folders.append(Path(os.fsdecode(origin.library)).parent)
    paths = [folder / os.path.expanduser(xml_file) for folder in folders]
    for path in paths:
        if path.is_file():
            return path
    raise OSError(
        f"xml_file={quote(xml_file)}: there is no file {' or '.join(map(named, paths))}: give the"
        " path of a model, absolute or from that folder on"
    )


def find_segments(model: Any) -> dict[str, int]:
    """Returns the parts of mjModel that a robot may vary: offsets of the pointers to them, sizes.

    Arrays that lie side by side are one part. All copies of a model lie in memory alike.
    """
    arrays = {
        name: getattr(model, name)
        for name in sorted(set(dir(model)))
        if name in VARIED or name.startswith(VARIED_PREFIXES)
    }
    places = sorted((each.ctypes.data, each.nbytes, name) for name, each in arrays.items())
    joined: list[tuple[int, int, str]] = []
    for address, size, name in places:
        if not size:
            continue
        if joined and address - sum(joined[-1][:2]) < GAP:
            begin, _, first = joined[-1]
            joined[-1] = (begin, address + size - begin, first)
        else:
            joined.append((address, size, name))
    offsets = mujoco.find_offsets(model, [name for *_, name in joined])
    numbers = {"segments": len(joined)}
    for i, (_, size, name) in enumerate(joined):
        numbers |= {f"segment{i}": offsets[name], f"segment{i}_size": size}
    return numbers
