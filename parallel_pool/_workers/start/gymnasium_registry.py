"""Gymnasium's registry: copied from the parent process into its workers.

A worker imports neither the main program nor the modules that this imported to register
environments. Without the copy it would know only the environments that Gymnasium itself registers.
A module that is imported in the worker registers its environments again; the parent may have
changed those entries since, so the parent's entries take precedence.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from parallel_pool._workers.start import main_module
from parallel_pool._workers.start.connection import by_value

# types of keyword arguments that can be unpickled without importing a module
PLAIN = (str, int, float, bool, tuple, type(None))

# the modules that hold Gymnasium's function `register`
MODULES = ("gymnasium", "gymnasium.envs", "gymnasium.envs.registration")


def gather() -> list[bytes]:
    """Returns the names of imported modules, then the registry; an empty list without Gymnasium.

    The registry is pickled in parts, so that a part which can't be unpickled affects no other.
    """
    gymnasium = sys.modules.get("gymnasium")
    if gymnasium is None:
        return []
    plain: dict[str, Any] = {}
    parts = []
    for name, spec in list(gymnasium.registry.items()):
        parts += _entry_of_main(spec.entry_point)
        if isinstance(spec.entry_point, str) and all(
            type(v) in PLAIN for v in spec.kwargs.values()
        ):
            plain[name] = spec
            continue
        # a spec that can't be pickled is not registered in the worker
        with contextlib.suppress(Exception):
            parts.append(by_value({name: spec}))
    with contextlib.suppress(Exception):
        parts.append(by_value(plain))
    return [pickle.dumps(frozenset(sys.modules) - {"__main__"}), *parts]


@dataclass(frozen=True)
class _MainEntry:
    """What an entry point "__main__:name" names."""

    name: str
    value: Any


def _entry_of_main(entry_point: Any) -> list[bytes]:
    """Returns what an entry point names in the main module, by value, so that no worker has to
    import that; nothing for other entry points."""
    if not isinstance(entry_point, str) or not entry_point.startswith("__main__:"):
        return []
    name = entry_point.partition(":")[2]
    # it may have been deleted, or not be picklable: then the worker imports the module
    with contextlib.suppress(Exception):
        return [by_value(_MainEntry(name, getattr(sys.modules["__main__"], name)))]
    return []


def add(gathered: list[bytes]) -> None:
    """Adds what was gathered to this process's registry, and protects it from later imports."""
    if not gathered:
        return
    import gymnasium

    modules, *parts = gathered
    given: dict[str, Any] = {}
    _protect(gymnasium.registry, given, pickle.loads(modules))
    for part in parts:
        # A part may need a module that is not found here. Gymnasium raises if its name is used.
        with contextlib.suppress(Exception):
            specs = pickle.loads(part)
            if isinstance(specs, _MainEntry):
                main_module.define(specs.name, specs.value)
                continue
            given.update(specs)
            gymnasium.registry.update(specs)


def _protect(
    registry: Mapping[str, Any], given: Mapping[str, Any], modules: frozenset[str]
) -> None:
    """Makes `gymnasium.register` keep given specs while one of these modules is imported."""
    original: Callable[..., None] = sys.modules["gymnasium"].register

    @functools.wraps(original)
    def register(id: str, *args: Any, **kwargs: Any) -> None:
        is_given = id in given and registry.get(id) is given[id]
        if not is_given or _importing() not in modules:
            original(id, *args, **kwargs)

    for module in MODULES:
        vars(sys.modules[module])["register"] = register


def _importing() -> str | None:
    """Returns the name of the module that is being imported by the call in progress."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else frame.f_globals.get("__name__")
