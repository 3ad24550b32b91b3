"""Address space: how much of it this process may still map under its limit (`ulimit -v`)."""

from __future__ import annotations

import contextlib
import os
import resource


def remaining() -> int | None:
    """Returns how many bytes this process may still map; None without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - used())


def used() -> int:
    """Returns how many bytes are mapped; 0 where /proc is missing."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
