"""Clock: a thread that calls somebody at the times it is asked to, and sleeps else."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
import weakref
from collections.abc import Callable

from parallel_pool.workers.watch import OWN

# returns seconds until the next call, None for not before `stir`
Look = Callable[[], float | None]


class Clock:
    """Calls a bound method again and again, whose object it does not keep alive.

    The thread ends with that object, or with `close`.

    Attributes:
        is_asleep: the method wants no more calls before `stir`, or is being called.
    """

    def __init__(self, look: Look) -> None:
        """Starts the thread, which calls the method at once."""
        self.is_asleep = False
        # No lock that Python code could hold: the garbage collector rings this bell, whatever the
        # thread is about in which it does.
        self._bell = bell = queue.SimpleQueue[bool]()
        self._look = weakref.WeakMethod(look, lambda _: bell.put(True))
        threading.Thread(target=self._run, name="pp-clock", daemon=True).start()

    def stir(self) -> None:
        """Has the method called, after something that it should know of."""
        if self.is_asleep:
            self.is_asleep = False
            self._bell.put(False)

    def close(self) -> None:
        """Ends the thread; a call that has begun goes on."""
        self._bell.put(True)

    def _run(self) -> None:
        # what arrives here would not wake the main thread, and Ctrl-C would be late
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - OWN)
        is_over = False
        while not is_over:
            pause = self._call()
            with contextlib.suppress(queue.Empty):
                is_over = self._bell.get(timeout=pause)

    def _call(self) -> float | None:
        look = self._look()
        if look is None:
            return None
        # before it looks: who changes what it has looked at already must ring
        self.is_asleep = True
        pause = look()
        if pause is not None:
            self.is_asleep = False
        return pause
