"""Interpreter: another Python in which workers run, such as that of a virtual environment."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parallel_pool._engine.arguments import a_type, named, quote
from parallel_pool._workers.start import numpy_names

# the oldest Python that can load this package's C module and its Python files
OLDEST = (3, 9)
# what a worker imports, besides what its environments do
NEEDED = ("numpy", "gymnasium", "cffi")
# seconds in which an interpreter must answer
TIMEOUT = 60.0
# what an interpreter is asked
QUESTION = (
    "import importlib.util as u,json,sys;print(json.dumps([sys.implementation.name,"
    "list(sys.version_info[:3]),[n for n in {names!r} if u.find_spec(n) is None]]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python that has been asked what it is.

    Attributes:
        path: absolute, of the program.
        version: of Python.
    """

    path: str
    version: tuple[int, ...]

    @property
    def shares_code(self) -> bool:
        """Whether it can be given functions by value: code depends on Python's version."""
        return self.version[:2] == sys.version_info[:2]

    def __str__(self) -> str:
        return f"{self.path}, Python {'.'.join(map(str, self.version))}"


def find(python: Any) -> Interpreter:
    """Returns the interpreter with this path; it is started once, to ask for its version.

    Raises:
        TypeError: python is not a path.
        ValueError: it is no Python that can run workers; the message says why, and the cure.
    """
    try:
        path = os.fspath(python)
    except TypeError:
        raise TypeError(
            f"python={quote(python)} is {a_type(python)}: give the path of a Python interpreter"
        ) from None
    numpy_names.understand()
    # not resolved: a virtual environment's python is a link to another one
    return _find(str(Path(path).absolute()))


@functools.cache
def _find(path: str) -> Interpreter:
    what = f"python='{named(path)}'"
    command = [path, "-c", QUESTION.format(names=NEEDED)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise ValueError(f"{what} can't be run: {error.strerror}: give a Python interpreter") from (
            error
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{what} did not answer within {TIMEOUT:.0f} s") from None
    try:
        name, version, missing = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise ValueError(f"{what} is no Python interpreter: it printed {last}") from None
    found = Interpreter(path, tuple(version))
    if name != "cpython" or found.version[:2] < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ValueError(f"python={found} ({name}): workers need CPython {oldest} or newer")
    if missing:
        raise ValueError(
            f"python={found} lacks {', '.join(missing)}: {path} -m pip install {' '.join(missing)}"
        )
    return found


def for_each(python: Any, count: int) -> list[Interpreter | None]:
    """Returns the interpreter of each environment; None for this one.

    Args:
        python: None; a path, for all; or a sequence of paths and None, one for each environment.
        count: of the environments.

    Raises:
        TypeError, ValueError: see `find`; or their number is wrong.
    """
    if python is None:
        return [None] * count
    if not isinstance(python, Sequence) or isinstance(python, (str, bytes)):
        return [find(python)] * count
    if len(python) != count:
        raise ValueError(f"{len(python)} paths of python for {count} environments: give one each")
    return [None if path is None else find(path) for path in python]


def of_share(interpreters: Sequence[Interpreter | None], first: int) -> Interpreter | None:
    """Returns the interpreter of the environments that share a worker; `first`: id of the first.

    Raises:
        ValueError: they differ.
    """
    for i, each in enumerate(interpreters):
        if each != interpreters[0]:
            raise ValueError(
                f"environments {first} and {first + i} share a worker process, but not their"
                " python: choose num_workers=num_envs, or put those together that share it"
            )
    return interpreters[0]


def environment() -> dict[str, str]:
    """Returns the environment variables for another interpreter."""
    # where this one finds its own library
    return {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
