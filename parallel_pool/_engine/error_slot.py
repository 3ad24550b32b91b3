"""ErrorSlot: each thread's `pp_error`, for calls of C that any thread may make."""

from __future__ import annotations

import threading

from parallel_pool._native import new_error, raise_error


class ErrorSlot(threading.local):
    """A `pp_error` for each thread: C writes to it without holding the GIL."""

    def __init__(self) -> None:
        self.raw = new_error()


error_slot = ErrorSlot()


def check(status: int) -> None:
    """Raises the exception of a call that was given `error_slot`, if its status is negative."""
    if status < 0:
        raise_error(status, error_slot.raw)
