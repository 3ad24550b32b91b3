"""Address space: how much of it a limit (`ulimit -v`) leaves to this process."""

from __future__ import annotations

import contextlib
import os
import resource


def left() -> int | None:
    """Returns bytes that this process may still map; None for any number."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - _used())


def _used() -> int:
    """Bytes that are mapped; 0 where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
