"""Docstrings of public objects: an example that runs, and shape and dtype of every array."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from parallel_pool._engine.buffers import Array
from parallel_pool._source import start
from tests.support.array_docs import Reader, has_bare_any, holds_arrays
from tests.support.docstrings import (
    ELSEWHERE,
    example,
    paths_with_example,
    public_methods,
    public_objects,
    run_example,
    write_sources,
)

ROOT = Path(__file__).resolve().parents[2]

# Functions that people begin with. Classes all have an example; errors share PoolError's.
BEGINNINGS = {
    *("check", "each", "each_reset", "env", "list_all_envs", "load", "load_source", "make"),
    *("make_dm", "make_gymnasium", "make_vec", "parallel_env", "register", "xla"),
}
MAX_EXAMPLE_LINES = 8


def is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


# Importing them all takes some seconds, which each pytest worker would need for collection.
objects = cache(public_objects)


@cache
def classes() -> dict[str, type]:
    return {
        value.__name__: value
        for value in objects().values()
        if isinstance(value, type) and not is_error(value)
    }


@cache
def reader() -> Reader:
    return Reader(classes())


# Results without a type, and why.
ANY = {
    "AsyncLease.call": "what the method returns",
    "AtariVectorEnv.xla": "ale-py's method has no annotations, and signatures are compared",
    "BatchVectorEnv.batch": "of MuJoCo's class, which older versions lack",
    "DMEnvPool.observation_spec": "a namedtuple with the fields of the task",
    "EnvPoolDataCollector.recv": "those of a step, or with `reset` those of a reset",
    "EnvPoolDataCollector.reset": "observations, or (observations, infos): make_gym decides",
    "EnvSpec.gen_config": "a namedtuple with the options of the task",
    "EnvSpec.observation_spec": "a namedtuple with the fields of the task",
    "GymnasiumEnvPool.reset": "observations, or (observations, infos): make_gym decides",
    "GymnaxEnv.action_space": "of gymnax's class, if the program has imported it",
    "GymnaxEnv.observation_space": "of gymnax's class, if the program has imported it",
    "Lease.call": "what the method returns",
    "Pool.option_value": "what the option is",
    "Task.observe": "an array, or a dict of arrays",
    "TorchEnv.recv": "what the environments return, with tensors",
    "TorchEnv.reset": "what the environments return, with tensors",
    "TorchEnv.step": "what the environments return, with tensors",
    "TorchEnv.reset_wait": "what the environments return, with tensors",
    "TorchEnv.step_wait": "what the environments return, with tensors",
}

# Runs the examples one after another, in a process that may load environments
RUN = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import tests.package.test_docstrings as these
these.run_all()
"""


def lines(value: Any) -> list[str]:
    return [line for line in example(value).splitlines() if line.strip()]


def run_all() -> None:
    """Prints what failed, then how many examples ran."""
    import jax
    import torch

    given = {"jax": jax, "torch": torch}
    runnable = {
        path: value
        for path, value in objects().items()
        if example(value) and value.__name__ not in ELSEWHERE
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
    names = {path.rpartition(".")[2] for path in objects()}
    assert names >= BEGINNINGS | ELSEWHERE and len(objects()) > 60
    assert [path for path, value in objects().items() if example(value)] == paths_with_example()


def test_every_public_class_has_an_example() -> None:
    assert without_example(objects()) == []
    assert example(objects()["parallel_pool.PoolError"])


def test_a_missing_example_is_noticed() -> None:
    class Bare:
        """No example."""

    class Derived(objects()["parallel_pool.Pool"]):
        pass

    assert without_example({"Bare": Bare, "Derived": Derived}) == ["Bare", "Derived"]


def test_examples_are_short() -> None:
    paths = paths_with_example()
    assert [path for path in paths if len(lines(objects()[path])) > MAX_EXAMPLE_LINES] == []


def grouped(text: str) -> list[str]:
    """Returns the lines of a docstring's sections that describe several names at once."""
    found, section = [], ""
    for line in text.splitlines():
        if line.strip() in ("Args:", "Attributes:", "Returns:"):
            section = line
        elif not line.strip() or line.strip() == "Raises:":
            section = ""
        names, colon, _ = line.strip().partition(": ")
        if section and colon and "," in names and names.replace(", ", "").isidentifier():
            found.append(line.strip())
    return found


def test_a_line_describes_one_name() -> None:
    """Tools take "a, b: text" for a name "a," of type "b"."""
    assert grouped("Args:\n    a, b: numbers.\n    c: one, two: three.") == ["a, b: numbers."]
    for path, value in objects().items():
        members = public_methods(value) if isinstance(value, type) else ()
        for name, each in [("", value), *members]:
            assert grouped(each.__doc__ or "") == [], f"{path}.{name}"


def test_a_wrong_example_is_noticed() -> None:
    def wrong() -> None:
        """Adds.

        Example:
            >>> 1 + 1
            3
        """

    assert "Got:\n    2" in run_example("wrong", wrong, {})


@cache
def functions() -> dict[str, tuple[FunctionType, type | None]]:
    """Returns all public functions and methods of public classes, with their class."""
    found: dict[FunctionType, tuple[str, type | None]] = {}
    for path, value in objects().items():
        if isinstance(value, FunctionType):
            found[value] = path, None
    for owner in classes().values():
        for _, method in public_methods(owner):
            found.setdefault(method, (f"{owner.__name__}.{method.__name__}", owner))
    return {name: (function, owner) for function, (name, owner) in found.items()}


@pytest.mark.slow
def test_docstrings_give_shape_and_dtype_of_arrays() -> None:
    with_arrays = [
        name
        for name, (function, _) in functions().items()
        if any(holds_arrays(str(each)) for each in function.__annotations__.values())
    ]
    assert len(with_arrays) >= 39
    untold = {
        f"{name}: {what}"
        for name, (function, owner) in functions().items()
        for what in reader().untold(function, owner)
        # of data classes; their docstring has the attributes
        if function.__doc__ or not name.endswith(".__init__")
    }
    assert untold == set()


@pytest.mark.slow
def test_docstrings_give_shape_and_dtype_of_attributes() -> None:
    assert "rewards" in vars(classes()["Batch"])["__annotations__"]
    untold = {
        f"{name}.{what}" for name in classes() for what in reader().untold_fields(classes()[name])
    }
    assert untold == set()


class Untold:
    """Has mistakes.

    Attributes:
        data: uint8, without a shape.
    """

    data: Array

    def same(self) -> Array:
        """Returns what `other` returns."""

    def other(self, rows: Array) -> Array:
        """Returns a picture, uint8 (height, width, 3).

        Args:
            rows: (n, 2).
        """

    def loose(self) -> Array:
        """Returns what it likes (at all times)."""

    def any(self) -> Any:
        """Returns something."""


def test_arrays_without_shape_or_dtype_are_noticed() -> None:
    reader = Reader({"Untold": Untold})
    found = {name: list(reader.untold(method, Untold)) for name, method in public_methods(Untold)}
    assert found == {"any": [], "loose": ["return"], "other": ["rows"], "same": []}
    assert list(reader.untold_fields(Untold)) == ["data"]
    assert has_bare_any(vars(Untold)["any"])


def test_results_have_a_type() -> None:
    found = {name for name, (function, _) in functions().items() if has_bare_any(function)}
    assert found - ANY.keys() == set(), "say the type, or in ANY why there is none"
    assert ANY.keys() - found == set(), "these have a type now"


@pytest.mark.slow
def test_examples_run(tmp_path: Path) -> None:
    """In one process of their own, because some load environments."""
    write_sources(tmp_path, "corridor", "lake", "maze")
    start.write(tmp_path / "cart.py")
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=tmp_path,
        env={**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "datasets")},
        capture_output=True,
        text=True,
        check=False,
    )
    expected = sum(bool(example(v)) and v.__name__ not in ELSEWHERE for v in objects().values())
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{expected} examples\n", done.stdout
