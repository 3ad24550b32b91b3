"""Closing: ends the threads of pools within a time, and keeps the memory of those that run on."""

from __future__ import annotations

import atexit
import ctypes
import time
import warnings
from typing import TYPE_CHECKING

from parallel_pool._engine.arguments import env_names
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._core import CData

# seconds that `close`, and the end of the process, wait for steps to end
CLOSE_TIMEOUT = 5.0
# the same for a pool that is deleted: the garbage collector waits in whatever thread it runs
DELETE_TIMEOUT = 1.0
# seconds of one wait in C, after which Python handles signals
SLICE = 0.05
# threads that a message names
MAX_NAMED = 4


class Keeper:
    """A pool's part in C, and all memory that its threads use, kept until they have ended.

    Attributes:
        number: by which compiled programs name the pool; 0 until it is shared.
    """

    def __init__(self, name: str, handle: CData, *memory: object) -> None:
        """
        Args:
            name: of the environments, for messages.
            handle: the `pp_pool *`.
            memory: objects whose memory C uses.
        """
        self.number = 0
        self._name = name
        self._handle = handle
        self._memory = memory
        self._was_reported = False
        for other in [each for each in open_keepers if each._was_reported]:
            # its step may have returned after all
            other._try(0.0)
        open_keepers.add(self)

    def close(self, timeout: float | None = None) -> None:
        """Ends the threads, each after what it is stepping, and the calls of compiled programs.

        After an exception, such as Ctrl-C's, it may be called again.

        Args:
            timeout: seconds after which it returns although some still run; None for
                `CLOSE_TIMEOUT`.

        Warns:
            RuntimeWarning: some still run.
        """
        limit = CLOSE_TIMEOUT if timeout is None else timeout
        if not self.wait(time.monotonic() + limit):
            self._report(limit)

    def close_deleted(self) -> None:
        """Closes a pool that was deleted, in the thread that happened to delete it."""
        if not self._was_reported:
            self.close(DELETE_TIMEOUT)

    def wait(self, end: float) -> bool:
        """Ends all and waits until `end` (monotonic time) at most; returns whether all ended."""
        while not self._try(left := max(0.0, min(SLICE, end - time.monotonic()))):
            if not left:
                return False
        return True

    def _try(self, timeout: float) -> bool:
        """Returns whether all have ended within the timeout."""
        nanoseconds = int(timeout * 1e9)
        if lib.pp_pool_close(self._handle, nanoseconds) == lib.PP_AGAIN:
            return False
        if self.number and lib.pp_xla_unshare(self.number, nanoseconds) == lib.PP_AGAIN:
            return False
        open_keepers.discard(self)
        return True

    def _report(self, timeout: float) -> None:
        """Warns of what still runs."""
        self._was_reported = True
        warnings.warn(
            f"closing {self._name}: {self._running()} did not return within {timeout:g} s. The"
            " thread and the pool's memory remain until it does, or the process ends: look for a"
            " loop that never ends, or choose a longer close(timeout=...)",
            RuntimeWarning,
            # the caller of Pool.close
            stacklevel=5,
        )

    def _running(self) -> str:
        """Returns words for what still runs."""
        env_ids, counts = ffi.new("int32_t[]", MAX_NAMED), ffi.new("int32_t[]", MAX_NAMED)
        found = lib.pp_pool_stepping(self._handle, env_ids, counts, MAX_NAMED)
        names = [
            env_names(range(first, first + count))
            for first, count in zip(env_ids[0:found], counts[0:found], strict=True)
        ]
        if names:
            return f"a step or reset of {' and '.join(names)}"
        return "a call of a compiled program" if self.number else "a thread"


# those of pools whose threads run
open_keepers: set[Keeper] = set()


def _close_all() -> None:
    """Closes the pools that are open when the process ends.

    Threads that do not end run on while the interpreter is finalized, so their memory is never
    freed.
    """
    lib.pp_xla_park()
    there = [keeper for keeper in open_keepers if not keeper._was_reported]
    # all begin to end before the first is waited for
    for keeper in there:
        keeper.wait(0.0)
    end = time.monotonic() + CLOSE_TIMEOUT
    try:
        left = [keeper for keeper in there if not keeper.wait(end)]
    finally:
        for keeper in open_keepers:
            _make_immortal(keeper)
    for keeper in left:
        keeper._report(CLOSE_TIMEOUT)


def _make_immortal(thing: object) -> None:
    """Keeps an object even when the interpreter frees all others."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


atexit.register(_close_all)
