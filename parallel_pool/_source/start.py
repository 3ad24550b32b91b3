"""Start: writes the first file of an environment, which compiles and trains as it is."""

from __future__ import annotations

import contextlib
import keyword
import os
import re
from collections.abc import Mapping
from pathlib import Path

from parallel_pool._engine.arguments import named
from parallel_pool._families import robot_header
from parallel_pool._source import toolchain
from parallel_pool.errors import SourceError

# the name that the starts have
IDENTIFIER, ID = "my_env", "mine/MyEnv-v0"
PYTHON_SUFFIX = ".py"


def write(path: Path, model: Path | None = None) -> str:
    """Writes a commented environment in Python, C or C++, by the file's suffix; returns its id.

    Args:
        path: the file.
        model: a MuJoCo model in XML: the environment is a robot's, in C, or a task in Python on
            `mujoco.batch`, of which the name of the class is returned.

    Raises:
        SourceError: the suffix is of no language, or MuJoCo refuses the model.
        MissingDependencyError: mujoco is not installed.
        FileExistsError: the file exists, and is not changed.
        OSError: it can't be written.
    """
    if model is not None:
        return _write_robot(path, model)
    if path.suffix == PYTHON_SUFFIX:
        return _write_python(path)
    cpp = toolchain.is_cpp(path)
    identifier, task_id = names(path.stem)
    suffix = ".cpp" if cpp else ".c"
    parts = {
        f"pp_env_{IDENTIFIER}": f"pp_env_{identifier}",
        ID: task_id,
        f"{IDENTIFIER}{suffix}": named(path.name),
    }
    _write(path, _filled(f"start{suffix}", parts))
    return task_id


def _write_robot(path: Path, model: Path) -> str:
    is_python = path.suffix == PYTHON_SUFFIX
    if not is_python and path.suffix not in toolchain.C_SUFFIXES:
        raise SourceError(
            f"{named(path)}: a robot is written in C or Python: choose a name that ends in .c or"
            " .py"
        )
    shown = os.path.relpath(model.absolute(), path.absolute().parent)
    if not is_python and re.search(r'["\\\n]|\*/|/\*', shown):
        raise SourceError(
            f"--mujoco {named(model)}: a string in C can't hold its path: choose another name"
        )
    if not model.is_file():
        raise SourceError(f"--mujoco {named(model)}: there is no such file: name a model in XML")
    try:
        if is_python:
            return _write_python_robot(path, model, shown)
        return _write_c_robot(path, model, shown)
    except ValueError as error:
        raise SourceError(f"--mujoco: {error}") from None


def _write_c_robot(path: Path, model: Path, shown: str) -> str:
    identifier, task_id = names(path.stem)
    parts = {
        '_MODEL "MODEL"': f'_MODEL "{shown}"',
        "of MODEL must": f"of {named(model.name)} must",
        "pp_env_my_robot": f"pp_env_{identifier}",
        "mine/MyRobot-v0": task_id,
        "my_robot.c": named(path.name),
    }
    _write(path, _filled("start_robot.c", {**parts, **robot_header.start_parts(model)}))
    return task_id


def _write_python_robot(path: Path, model: Path, shown: str) -> str:
    cls = _class_name(path)
    parts = {
        "/ SHOWN": f"/ {shown!r}",
        "of MODEL must": f"of {ascii(model.name)[1:-1]} must",
        "MyRobot": cls,
    }
    text = _filled("start_robot_py.txt", {**parts, **robot_header.python_start_parts(model)})
    _write(path, text)
    return cls


def _filled(start: str, parts: Mapping[str, str]) -> str:
    """Returns the text of a start with some words replaced, each by what may hold another."""
    text = (Path(__file__).parent / start).read_text("utf-8")
    words = "|".join(map(re.escape, parts))
    return re.sub(words, lambda found: parts[found[0]], text)


def _write(path: Path, text: str) -> None:
    """Writes a new file, all of it or none."""
    file = path.open("x", encoding="utf-8")
    try:
        with file:
            file.write(text)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def _write_python(path: Path) -> str:
    cls = _class_name(path)
    parts = {"MyEnv": cls, f"{IDENTIFIER}.py": named(path.name)}
    _write(path, _filled("start_py.txt", parts))
    return f"{cls}-v0"


def _class_name(path: Path) -> str:
    name = names(path.stem)[1].removeprefix("mine/").removesuffix("-v0")
    # no class can be called 2048 or None
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"My{name}"


def names(stem: str) -> tuple[str, str]:
    """Returns an identifier in C and an id for a file's name: my_env and mine/MyEnv-v0."""
    words = re.findall(r"[A-Za-z0-9]+", stem) or IDENTIFIER.split("_")
    camel = "".join(word[0].upper() + word[1:] for word in words)
    return "_".join(words).lower(), f"mine/{camel}-v0"
