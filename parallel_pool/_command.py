"""Command lines: the exit status after Ctrl-C, and the message about a missing package.

`python -m parallel_pool` and `python -m benchmarks` both use this; neither may import the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

INTERRUPTED = 130


def until_interrupted(run: Callable[[], int]) -> int:
    """Runs a command; returns its exit status, or 130 after Ctrl-C."""
    try:
        return run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def missing(name: str, command: str, extra: str | None = None) -> int:
    """Prints what to install, in one sentence; returns the exit status."""
    print(
        f"parallel_pool {command} needs {name.partition('.')[0]}, which is not installed:"
        f" pip install 'parallel_pool[{extra or command}]'",
        file=sys.stderr,
    )
    return 1
