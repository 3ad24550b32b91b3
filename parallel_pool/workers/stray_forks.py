"""Strays: processes that an environment has forked and that go on with their worker's own work.

A child that does something of its own and ends is nobody's concern. One that returns from the
environment into the worker's loop would do all that the worker does a second time: it is ended.
"""

from __future__ import annotations

import contextlib
import os

# their exit code
STRAY = 1


def end_here(worker: int, what: str) -> None:
    """Ends this process, unless it is the worker itself.

    Args:
        worker: the worker's process id.
        what: this process has come back from, for the message.
    """
    pid = os.getpid()
    if pid == worker:
        return
    told = (
        f"process {pid}, forked by an environment in worker process {worker}, returned from {what}"
        " and was ended: let a child end itself by os._exit()\n"
    )
    # not through sys.stderr, of which this process has a copy with all that is not written yet
    with contextlib.suppress(OSError):
        os.write(2, told.encode())
    os._exit(STRAY)
