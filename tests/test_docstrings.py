"""Docstrings of public objects: an example that runs, and shape and dtype of every array."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docstrings import ON_RAY, example, public_objects, run_example, write_sources

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = public_objects()

# Functions that people begin with. Classes all have an example; errors share PoolError's.
BEGINNINGS = {
    *("check", "each", "each_reset", "env", "list_all_envs", "load", "load_source", "make"),
    *("make_dm", "make_gymnasium", "make_vec", "parallel_env", "register", "xla"),
}
LONGEST = 8

# Runs the examples one after another, in a process that may load environments
RUN = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import tests.test_docstrings as these
these.run_all()
"""


def is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def lines(value: Any) -> list[str]:
    return [line for line in example(value).splitlines() if line.strip()]


def run_all() -> None:
    """Prints what failed, then how many examples ran."""
    import jax
    import torch

    given = {"jax": jax, "torch": torch}
    runnable = {
        path: value
        for path, value in OBJECTS.items()
        if example(value) and value.__name__ not in ON_RAY
    }
    for path, value in runnable.items():
        print(run_example(path, value, given), end="", flush=True)
    print(f"{len(runnable)} examples")


def without_example(objects: dict[str, Any]) -> list[str]:
    """Returns the paths of classes and functions that need an example and have none."""
    return [
        path
        for path, value in objects.items()
        if (isinstance(value, type) and not is_error(value)) or value.__name__ in BEGINNINGS
        if ">>> " not in example(value)
    ]


def test_the_objects_are_found() -> None:
    names = {path.rpartition(".")[2] for path in OBJECTS}
    assert names >= BEGINNINGS | ON_RAY and len(OBJECTS) > 60


def test_every_public_class_has_an_example() -> None:
    assert without_example(OBJECTS) == []
    assert example(OBJECTS["parallel_pool.PoolError"])


def test_a_missing_example_is_noticed() -> None:
    class Bare:
        """No example."""

    class Derived(OBJECTS["parallel_pool.Pool"]):
        pass

    assert without_example({"Bare": Bare, "Derived": Derived}) == ["Bare", "Derived"]


@pytest.mark.parametrize("path", [path for path, value in OBJECTS.items() if example(value)])
def test_an_example_is_short(path: str) -> None:
    assert len(lines(OBJECTS[path])) <= LONGEST


def test_a_wrong_example_is_noticed() -> None:
    def wrong() -> None:
        """Adds.

        Example:
            >>> 1 + 1
            3
        """

    assert "Got:\n    2" in run_example("wrong", wrong, {})


@pytest.mark.slow
def test_examples_run(tmp_path: Path) -> None:
    """In one process of their own, because some load environments."""
    write_sources(tmp_path, "corridor", "lake", "maze")
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    expected = sum(bool(example(v)) and v.__name__ not in ON_RAY for v in OBJECTS.values())
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{expected} examples\n", done.stdout
