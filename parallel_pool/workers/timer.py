"""Timer: a thread that calls somebody at the times it is asked to, and sleeps else."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable

from parallel_pool.workers.watch import OWN

# returns seconds until the next call, None for not before `stir`
Look = Callable[[], float | None]


class Timer:
    """Calls a function again and again, from its beginning until it is closed.

    Attributes:
        is_asleep: the function wants no more calls before `stir`, or is being called.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self.is_asleep = False
        # no lock that Python code could hold: a signal's handler may ring, whatever it interrupts
        self._bell = queue.SimpleQueue[bool]()
        threading.Thread(target=self._run, name="pp-clock", daemon=True).start()

    def stir(self) -> None:
        """Has the function called, after something that it should know of."""
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
            # before it looks: who changes what it has looked at already must ring
            self.is_asleep = True
            pause = self._look()
            if pause is not None:
                self.is_asleep = False
            with contextlib.suppress(queue.Empty):
                is_over = self._bell.get(timeout=pause)
