"""Overrides: threads and workers that `tune` tries in place of those that a program asks for.

They change how fast a pool steps, never what it returns.
"""

from __future__ import annotations

# None: as the program says
num_threads: int | None = None
num_workers: int | None = None


def threads(given: int, num_envs: int) -> int:
    """Returns the threads of a pool."""
    return given if num_threads is None else min(num_threads, num_envs)


def workers(given: int, num_envs: int) -> int:
    """Returns the worker processes of a pool."""
    return given if num_workers is None else min(num_workers, num_envs)
