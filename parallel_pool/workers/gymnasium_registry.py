"""Registered: Gymnasium's registry as a program has it, for its workers to make the same of names.

A worker imports no main program, and not what that has imported to register environments: without
this it would know only what Gymnasium brings. What environments import there registers again what
the program has registered by the same import, and perhaps changed since: the entries of the program
hold.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import sys
from collections.abc import Callable, Mapping
from typing import Any

from parallel_pool.workers.connection import by_value

# of a keyword argument that needs no module to be read
PLAIN = (str, int, float, bool, tuple, type(None))

# where Gymnasium keeps its function `register`
PLACES = ("gymnasium", "gymnasium.envs", "gymnasium.envs.registration")


def gather() -> list[bytes]:
    """Returns the names of imported modules, and then the registry in parts, each of which can be
    read or not; nothing without Gymnasium."""
    gymnasium = sys.modules.get("gymnasium")
    if gymnasium is None:
        return []
    plain: dict[str, Any] = {}
    parts = []
    for name, spec in list(gymnasium.registry.items()):
        if isinstance(spec.entry_point, str) and all(
            type(v) in PLAIN for v in spec.kwargs.values()
        ):
            plain[name] = spec
            continue
        # what can't travel is not known there
        with contextlib.suppress(Exception):
            parts.append(by_value({name: spec}))
    with contextlib.suppress(Exception):
        parts.append(by_value(plain))
    return [pickle.dumps(frozenset(sys.modules) - {"__main__"}), *parts]


def add(gathered: list[bytes]) -> None:
    """Makes what was gathered known here, and keeps it from being registered again."""
    if not gathered:
        return
    import gymnasium

    modules, *parts = gathered
    given: dict[str, Any] = {}
    _guard(gymnasium.registry, given, pickle.loads(modules))
    for part in parts:
        # it may need a module that is not found: so it will be told, should anybody ask for it
        with contextlib.suppress(Exception):
            specs = pickle.loads(part)
            given.update(specs)
            gymnasium.registry.update(specs)


def _guard(registry: Mapping[str, Any], given: Mapping[str, Any], modules: frozenset[str]) -> None:
    """Has `gymnasium.register` leave given specs alone while one of these modules is imported."""
    original: Callable[..., None] = sys.modules["gymnasium"].register

    @functools.wraps(original)
    def register(id: str, *args: Any, **kwargs: Any) -> None:
        is_given = id in given and registry.get(id) is given[id]
        if not is_given or _importing() not in modules:
            original(id, *args, **kwargs)

    for place in PLACES:
        vars(sys.modules[place])["register"] = register


def _importing() -> str | None:
    """Returns the name of the module whose code, or whose call, is being run by its import."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else frame.f_globals.get("__name__")
