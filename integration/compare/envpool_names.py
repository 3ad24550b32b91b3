"""Checks that each name of EnvPool's wheel exists here or is on the migration page.

    python -m integration.compare.envpool_names

It compares the package, its modules, pools of every kind, specs, and the argument names of
functions. The exit status is 1 if a name is neither here nor on the page.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import envpool
import envpool.python
import envpool.registration

import parallel_pool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "migrating-from-envpool.md"
TASKS = ["CartPole-v1", "Pong-v5"]
KINDS = ["make_gym", "make_gymnasium", "make_dm"]

# Functions with quite different arguments: the page must name the function, not its arguments.
OWN_WAY = {"register", "gen_config"}


def public(thing: Any) -> list[str]:
    """Returns the public names; of a module only those from EnvPool, not what it imports."""
    names = [name for name in dir(thing) if not name.startswith("_")]
    if not isinstance(thing, ModuleType):
        return names
    prefix = "envpool"
    own = []
    for name in names:
        value = getattr(thing, name)
        home = value.__name__ if isinstance(value, ModuleType) else value
        home = getattr(value, "__module__", prefix) if home is value else home
        if str(home).startswith(prefix):
            own.append(name)
    return own


def counterparts() -> Iterator[tuple[str, Any, Any]]:
    """Yields what is compared: its name, the wheel's object and ours."""
    yield "envpool", envpool, parallel_pool
    yield "envpool.registration", envpool.registration, parallel_pool.registration
    yield (
        "envpool.python.protocol",
        importlib.import_module("envpool.python.protocol"),
        parallel_pool.python.protocol,
    )
    for task in TASKS:
        yield f"spec of {task}", envpool.make_spec(task), parallel_pool.make_spec(task)
        for kind in KINDS:
            pools = [getattr(package, kind)(task) for package in (envpool, parallel_pool)]
            yield f"{kind} {task}", *pools


def arguments(function: Any) -> list[str]:
    return [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]


def missing() -> Iterator[tuple[str, str]]:
    """Yields the names of the wheel that we lack, each after the name of what it belongs to."""
    for name in (each.name for each in pkgutil.iter_modules(envpool.python.__path__)):
        if not hasattr(parallel_pool.python, name):
            yield "envpool.python", name
    for where, theirs, ours in counterparts():
        for name in public(theirs):
            # the package contains itself, through its own import statements
            if where == "envpool" and name == "envpool":
                continue
            if not hasattr(ours, name):
                yield where, name
            elif inspect.isroutine(getattr(theirs, name)) and name not in OWN_WAY:
                found = arguments(getattr(ours, name))
                for argument in arguments(getattr(theirs, name)):
                    if argument not in found:
                        yield f"{where}.{name}()", argument


def main() -> int:
    # the words that the page has in code style, without its code blocks
    page = re.sub(r"^```.*?^```", "", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    absent = list(missing())
    unnamed = [(where, name) for where, name in absent if name not in named]
    unnamed += [("the page", name) for name in OWN_WAY if name not in named]
    for where, name in unnamed:
        print(f"{where}: {name} is neither here nor on {PAGE.name}")
    print(f"{len(absent)} names are not here, {len(absent) - len(unnamed)} of them on the page")
    return int(bool(unnamed))


if __name__ == "__main__":
    sys.exit(main())
