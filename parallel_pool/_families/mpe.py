"""The particle worlds of mpe2: what they need from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._families import numpy_loops

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.specs import Definition

# options that are None for "all" in mpe2, and -1 in C
NEIGHBORS = ("num_agent_neighbors", "num_landmark_neighbors")


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
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


def benchmark_of_adversary(agent: int, row: Array) -> Any:
    """Returns squared distances: the adversary's to the goal, an agent's to all and to the goal."""
    return row[0] if agent == 0 else tuple(row)


def benchmark_of_treasure(agent: int, row: Array) -> Any:
    """Returns the kind held (None: nothing) or the number of holders, and the treasures there."""
    return None if np.isnan(row[0]) else int(row[0]), int(row[1])


# What mpe2 makes of an agent's benchmark data, from the numbers that C computes; floats are
# numpy.float64. mpe2's other worlds have none, which is an empty dict there.
BENCHMARKS: Mapping[str, Callable[[int, Array], Any]] = {
    "mpe/simple_spread_v3": lambda agent, row: (row[0], int(row[1]), row[2], int(row[3])),
    "mpe/simple_tag_v3": lambda agent, row: int(row[0]),
    "mpe/simple_world_comm_v3": lambda agent, row: int(row[0]),
    "mpe/simple_adversary_v3": benchmark_of_adversary,
    "mpe/simple_crypto_v3": lambda agent, row: (row[:4].copy(), row[4:].copy()),
    "mpe/simple_speaker_listener_v4": lambda agent, row: row[0],
    "mpe/collect_treasure_v1": benchmark_of_treasure,
}
