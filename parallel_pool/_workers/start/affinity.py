"""Affinity: the cores that this process may run on, where the system restricts them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Set


def allowed_cores() -> set[int]:
    """Returns the numbers of the cores; none where the system does not restrict processes."""
    cores: set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    return cores


def restrict(cores: Set[int]) -> None:
    """Restricts this process to some cores, as far as the system can."""
    # a core may have gone offline
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)
