"""Registered: Gymnasium's registry as a program has it, for its workers to make the same of names.

A worker imports no main program, and not what that has imported to register environments: without
this it would know only what Gymnasium brings.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from typing import Any

from parallel_pool.workers.wire import by_value

# of a keyword argument that needs no module to be read
PLAIN = (str, int, float, bool, tuple, type(None))


def gather() -> list[bytes]:
    """Returns the registry in parts, each of which can be read or not."""
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
    return parts


def add(parts: list[bytes]) -> None:
    """Makes what was gathered known here."""
    import gymnasium

    for part in parts:
        # it may need a module that is not found: so it will be told, should anybody ask for it
        with contextlib.suppress(Exception):
            gymnasium.registry.update(pickle.loads(part))
