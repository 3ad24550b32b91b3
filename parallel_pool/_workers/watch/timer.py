"""Timer: a thread that calls a function, and waits as long as the function says between calls."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable

from parallel_pool._workers.watch.watch import THREAD_SIGNALS

# returns the seconds until its next call; None: not before `wake`
Callback = Callable[[], float | None]


class Timer:
    """Calls a function again and again, from construction until `close`.

    Attributes:
        is_asleep: the function wants no call before `wake`, or is being called.
    """

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self.is_asleep = False
        # A signal handler may call `wake`, whatever it interrupts, so this uses no lock that Python
        # code could hold. An item is whether to end the thread.
        self._wakeups = queue.SimpleQueue[bool]()
        threading.Thread(target=self._run, name="pp-timer", daemon=True).start()

    def wake(self) -> None:
        """Has the function called soon, if it is asleep."""
        if self.is_asleep:
            self.is_asleep = False
            self._wakeups.put(False)

    def close(self) -> None:
        """Ends the thread; a call in progress is finished."""
        self._wakeups.put(True)

    def _run(self) -> None:
        # a signal that this thread received would not wake the main thread: Ctrl-C would be late
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - THREAD_SIGNALS)
        is_over = False
        while not is_over:
            # set before the call: `wake` must have an effect as soon as the function has looked
            self.is_asleep = True
            pause = self._callback()
            if pause is not None:
                self.is_asleep = False
            with contextlib.suppress(queue.Empty):
                is_over = self._wakeups.get(timeout=pause)
