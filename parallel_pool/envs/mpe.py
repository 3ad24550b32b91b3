"""The particle worlds of mpe2: what they need from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool.envs import numpy_loops

if TYPE_CHECKING:
    from parallel_pool.specs import Definition

# options that are None for "all" in mpe2, and 0 in C
NEIGHBORS = ("num_agent_neighbors", "num_landmark_neighbors")


def complete(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the addresses of NumPy's loops, and without those that are None."""
    given = {
        name: value
        for name, value in options.items()
        if not (value is None and name in NEIGHBORS and name in definition.options)
    }
    for name in NEIGHBORS:
        if given.get(name) == 0 and name in definition.options:
            raise ValueError(f"{name}=0: choose 1 or more, or None for all")
    return {"_numpy": numpy_loops.packed(), **given}
