"""Robot header: the names of a model, as constants in C, for the compilation of a robot's file."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parallel_pool._families import mujoco

# sizes of the model that become constants
SIZES = ("nq", "nv", "nu", "na", "nbody", "ngeom", "nsite", "ntendon", "nsensor", "nsensordata")

# numbers of a joint in qpos and in qvel, by its type: free, ball, slide, hinge
JOINT_SIZES = (7, 4, 1, 1)

HEAD = "/* The names of a model, made by parallel_pool of its file. */\n"


class Name(NamedTuple):
    """One name of the model.

    Attributes:
        kind: of object, as MuJoCo's mjtObj names it: "JOINT".
        name: of the object.
        constants: by their prefixes, such as "QPOS".
        row: id, place, freedom, size, as pp_robot_name has them.
    """

    kind: str
    name: str
    constants: dict[str, int]
    row: tuple[int, int, int, int]


def write(path: Path, folder: Path) -> str:
    """Returns the header of a model, for a C file in a folder.

    Raises:
        ValueError: MuJoCo refuses the file, or the model has plugins.
    """
    model, _ = mujoco.load(path, switches=False, warns=False)
    taken: set[str] = set()
    lines = [f"  {size.upper()} = {getattr(model, size)}," for size in SIZES]
    rows = []
    for each in filter(lambda it: it.name, names(model)):
        constants = ", ".join(
            f"{_identifier(prefix, each.name, taken)} = {value}"
            for prefix, value in each.constants.items()
        )
        lines.append(f"  {constants},")
        row = ", ".join(map(str, each.row))
        rows.append(f"    {{mjOBJ_{each.kind}, {_literal(each.name)}, {row}}},")
    body = "\n".join(["enum {", *lines, "};"])
    table = "\n".join(
        [
            "static const pp_robot_name pp_robot_names[] = {",
            *rows,
            "    {0, NULL, 0, 0, 0, 0},",
            "};",
        ]
    )
    where = f"#define PP_ROBOT_FOLDER {_literal(os.fspath(folder))}"
    return f"{HEAD}{where}\n\n{body}\n\n{table}\n"


# characters of a line of a comment
LINE = 98


def start_parts(path: Path) -> dict[str, str]:
    """Returns what a start in C holds in place of the words NAMES, PLACE and SKIPPED.

    Raises:
        ValueError: MuJoCo refuses the file, or the model has no actuators.
    """
    model = _robot_model(path)
    taken: set[str] = set()
    words = [
        _identifier(prefix, each.name, taken)
        for each in names(model)
        if each.name
        for prefix in each.constants
    ]
    moves, hidden = _way(model)
    # the last body's position, as of the beginning of the last call of mj_step
    place = "sim->data->qpos[0]" if moves else "sim->data->xpos[3 * (NBODY - 1)]"
    return {
        "NAMES": textwrap.indent(_in_lines(words), " * "),
        "return PLACE;": f"return {place};",
        "SKIPPED": str(hidden),
    }


def python_start_parts(path: Path) -> dict[str, str]:
    """Returns what a start in Python holds in place of the words NAMES, PLACE and SKIPPED.

    Raises:
        ValueError: MuJoCo refuses the file, or the model has no actuators.
    """
    model = _robot_model(path)
    # a name may hold what ends a line
    words = [f"{each.kind.lower()}({each.name!a})" for each in names(model) if each.name]
    moves, hidden = _way(model)
    return {
        "NAMES": textwrap.indent(_in_lines(words), "# "),
        "return PLACE": f"return {'batch.qpos[:, 0]' if moves else 'batch.xpos[:, -1, 0]'}",
        "SKIPPED": str(hidden),
    }


def _robot_model(path: Path) -> Any:
    model, _ = mujoco.load(path, switches=False, warns=False)
    if not model.nu:
        raise ValueError(f"{path}: the model has no actuators: give it some")
    return model


def _in_lines(words: Sequence[str]) -> str:
    return textwrap.fill(", ".join(words) or "none", LINE, break_long_words=False)


def _way(model: Any) -> tuple[bool, int]:
    """Returns whether the first number of qpos is how far the robot has come along x, and how many
    numbers of qpos say how far it has come."""
    kind = int(model.jnt_type[0]) if model.njnt else -1
    free, slide = 0, 2
    return kind in (free, slide), {free: 2, slide: 1}.get(kind, 0)


def names(model: Any) -> Iterator[Name]:
    """Returns the named joints, actuators, sensors, bodies, geometries, sites, tendons, cameras."""
    for i in range(model.njnt):
        place, freedom = int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i])
        size = JOINT_SIZES[int(model.jnt_type[i])]
        constants = {"QPOS": place, "DOF": freedom, "JOINT": i}
        yield Name("JOINT", model.joint(i).name, constants, (i, place, freedom, size))
    for i in range(model.nsensor):
        place, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
        constants = {"SENSOR": place, "SENSOR_SIZE": size}
        yield Name("SENSOR", model.sensor(i).name, constants, (i, place, 0, size))
    plain = {
        "ACTUATOR": ("CTRL", model.nu, model.actuator),
        "BODY": ("BODY", model.nbody, model.body),
        "GEOM": ("GEOM", model.ngeom, model.geom),
        "SITE": ("SITE", model.nsite, model.site),
        "TENDON": ("TENDON", model.ntendon, model.tendon),
        "CAMERA": ("CAMERA", model.ncam, model.camera),
    }
    for kind, (prefix, count, get) in plain.items():
        for i in range(count):
            yield Name(kind, get(i).name, {prefix: i}, (i, 0, 0, 0))


def _identifier(prefix: str, name: str, taken: set[str]) -> str:
    """Returns a new identifier in C; the second of the same spelling ends in _2."""
    base = f"{prefix}_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    taken.add(found)
    return found


def _literal(text: str) -> str:
    """Returns a string literal in C."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\\\?' else f"\\{byte:03o}"
        for byte in os.fsencode(text)
    )
    return f'"{plain}"'
