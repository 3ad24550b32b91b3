"""Ray: imports it when it is needed, connects to a cluster, and shares its cores out."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from parallel_pool.errors import MissingDependencyError

# parts of a core in which Ray counts
UNITS = 10_000


def ray() -> Any:
    """Returns the module `ray`; MissingDependencyError if it is not installed."""
    try:
        import ray as module
    except ImportError as error:
        raise MissingDependencyError(
            "parallel_pool.cluster needs Ray: pip install 'parallel_pool[cluster]'"
        ) from error
    return module


def connect() -> None:
    """Connects to a cluster, unless the program has done so.

    Ray's own rules choose it: the one at RAY_ADDRESS, else one that runs on this machine, else one
    that is started for this process. Call `ray.init(...)` before for anything else.
    """
    if not ray().is_initialized():
        ray().init(include_dashboard=False, logging_level=logging.WARNING)


def cores_of_nodes(nodes: Sequence[Mapping[str, Any]]) -> list[float]:
    """Returns the cores of each node that has any, as Ray counts them.

    Args:
        nodes: Ray's description of each node.
    """
    found = (node["Resources"].get("CPU", 0.0) for node in nodes if node["Alive"])
    return [float(cores) for cores in found if cores > 0]


def share_out(
    nodes: Sequence[float], num_workers: int | None, cpus_per_worker: float | None
) -> tuple[int, float]:
    """Returns how many workers there are, and the cores of each.

    Args:
        nodes: cores of each node.
        num_workers: None for one for each node.
        cpus_per_worker: None for as many as fit.

    Raises:
        ValueError: the cluster has too few cores.
    """
    total = sum(nodes)
    if num_workers is None:
        if cpus_per_worker is None:
            num_workers = len(nodes)
        else:
            num_workers = sum(_fitting(cores, cpus_per_worker) for cores in nodes)
    if cpus_per_worker is not None:
        if sum(_fitting(cores, cpus_per_worker) for cores in nodes) < max(1, num_workers):
            raise ValueError(
                f"{max(1, num_workers)} workers of {cpus_per_worker:g} cores do not fit into a"
                f" cluster of {_described(nodes)}: choose fewer, or fewer cores for each"
            )
        return num_workers, cpus_per_worker
    # one for each node must fit into the smallest
    most = min(nodes, default=0) if num_workers == len(nodes) else max(nodes, default=0)
    for cores in range(int(most), 0, -1):
        if sum(int(own // cores) for own in nodes) >= num_workers > 0:
            return num_workers, float(cores)
    raise ValueError(
        f"{num_workers} workers do not fit into a cluster of {_described(nodes)}: choose"
        f" num_workers <= {math.floor(total)}, or cpus_per_worker below 1"
    )


def _fitting(cores: float, need: float) -> int:
    """Returns how many workers fit into the cores of a node; Ray counts in parts of 10,000."""
    return round(cores * UNITS) // max(1, round(need * UNITS))


def _described(nodes: Sequence[float]) -> str:
    cores = " + ".join(f"{each:g}" for each in nodes) or "0"
    return f"{cores} cores"
