"""Start: writes the first file of an environment, which compiles and trains as it is."""

from __future__ import annotations

import re
from pathlib import Path

from parallel_pool._engine.arguments import named
from parallel_pool._source import toolchain

# the name that the starts have
IDENTIFIER, ID = "my_env", "mine/MyEnv-v0"
PYTHON_SUFFIX = ".py"


def write(path: Path) -> str:
    """Writes a commented environment in Python, C or C++, by the file's suffix; returns its id.

    Raises:
        SourceError: the suffix is of no language.
        FileExistsError: the file exists, and is not changed.
        OSError: it can't be written.
    """
    if path.suffix == PYTHON_SUFFIX:
        return _write_python(path)
    cpp = toolchain.is_cpp(path)
    identifier, env_id = names(path.stem)
    text = (Path(__file__).parent / ("start.cpp" if cpp else "start.c")).read_text("utf-8")
    text = text.replace(f"pp_env_{IDENTIFIER}", f"pp_env_{identifier}").replace(ID, env_id)
    text = text.replace(f"{IDENTIFIER}{'.cpp' if cpp else '.c'}", named(path.name))
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    return env_id


def _write_python(path: Path) -> str:
    cls = names(path.stem)[1].removeprefix("mine/").removesuffix("-v0")
    text = (Path(__file__).parent / "start_py.txt").read_text("utf-8")
    text = text.replace("MyEnv", cls).replace(f"{IDENTIFIER}.py", named(path.name))
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    return f"{cls}-v0"


def names(stem: str) -> tuple[str, str]:
    """Returns an identifier in C and an id for a file's name: my_env and mine/MyEnv-v0."""
    words = re.findall(r"[A-Za-z0-9]+", stem) or IDENTIFIER.split("_")
    camel = "".join(word[0].upper() + word[1:] for word in words)
    return "_".join(words).lower(), f"mine/{camel}-v0"
