"""The public objects of the package, and the examples in their docstrings."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import gymnasium
import numpy as np

import parallel_pool
from tests.support.public_modules import PUBLIC

# the package first, so that an object has the shortest of its paths
MODULES = [f"parallel_pool.{path}".rstrip(".") for path in PUBLIC]

# Modules of methods that are checked; classes also inherit from Gymnasium's, for example.
OURS = ("parallel_pool", "test")

# Objects whose examples tests of their own run: tests/apis/cluster those that need Ray,
# tests/apis/mujoco_batch that which opens a window.
ON_RAY = {"Batch", "ClusterVecEnv", "ClusterVectorEnv", "Rollouts", "Stats"}
ELSEWHERE = ON_RAY | {"WorldView"}

# What a docstring's example may use without importing it.
GIVEN = {
    "__name__": "__main__",
    "asyncio": asyncio,
    "gymnasium": gymnasium,
    "np": np,
    "parallel_pool": parallel_pool,
    "subprocess": subprocess,
}


def public_objects() -> dict[str, Any]:
    """Returns all public classes and functions by their paths, each once."""
    found: dict[int, tuple[str, Any]] = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type | FunctionType):
                found.setdefault(id(value), (f"{path}.{name}", value))
    return dict(found.values())


def paths_with_example() -> list[str]:
    """Returns the paths of the public objects whose docstrings have an example.

    They are found in the sources, without importing all that the objects need. A private function
    of the same name may have an example instead of the public one: tests/package/test_docstrings.py
    compares with the objects.
    """
    found: dict[str, str] = {}
    named = names_with_example()
    for path in MODULES:
        for name in importlib.import_module(path).__all__:
            if name in named:
                found.setdefault(name, f"{path}.{name}")
    return list(found.values())


def names_with_example() -> set[str]:
    """Returns the names of the package's classes and functions whose docstrings have an example."""
    found = set()
    for file in Path(parallel_pool.__path__[0]).rglob("*.py"):
        for part in re.split(r"^(?:class|def) ", file.read_text(), flags=re.MULTILINE)[1:]:
            if "\n    Example:\n" in part:
                found.add(re.match(r"\w+", part)[0])
    return found


def public_methods(value: type) -> Iterator[tuple[str, FunctionType]]:
    """Yields names and functions of a class's public methods and properties that are ours."""
    for name in dir(value):
        member = inspect.getattr_static(value, name)
        for wrapped in ("__func__", "fget", "func"):
            member = getattr(member, wrapped, member)
        is_ours = isinstance(member, FunctionType) and member.__module__.startswith(OURS)
        if is_ours and (name == "__init__" or not name.startswith("_")):
            yield name, member


def example(value: Any) -> str:
    """Returns the example of an object's own docstring, without its title; "" if it has none."""
    own = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    _, title, text = inspect.cleandoc(own or "").partition("\nExample:\n")
    return text if title else ""


def run_example(path: str, value: Any, given: dict[str, Any]) -> str:
    """Runs an example; returns what doctest says of its failures, "" if there are none."""
    test = doctest.DocTestParser().get_doctest(
        example(value), {**GIVEN, **given}, path, inspect.getsourcefile(value), 0
    )
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    return "".join(told)


def write_sources(folder: Path, *names: str) -> None:
    """Writes C environments, named `<Name>-v0`, which the examples compile."""
    template = Path(__file__).resolve().parents[2] / "csrc" / "envs" / "_template.c"
    for name in names:
        text = template.read_text().replace("test/Template-v0", f"{name.title()}-v0")
        text = text.replace("pp_env_test_template_v0", f"pp_env_{name}")
        (folder / f"{name}.c").write_text(text)
