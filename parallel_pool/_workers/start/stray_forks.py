"""Stray forks: ends processes that an environment forked and that return into the worker's code.

A child that does work of its own and exits is left alone. A child that returns from the environment
into the worker's loop would do the worker's work a second time, so it is ended.
"""

from __future__ import annotations

import contextlib
import os

# exit code of a stray fork
EXIT_CODE = 1


def exit_if_forked(worker: int, what: str) -> None:
    """Ends this process unless it is the worker itself.

    Args:
        worker: the worker's process id.
        what: the call that this process returned from, for the message.
    """
    pid = os.getpid()
    if pid == worker:
        return
    message = (
        f"process {pid}, forked by an environment in worker process {worker}, returned from {what}"
        " and was ended: end a child process with os._exit()\n"
    )
    # not through sys.stderr: this process has a copy of it with text that is not yet written
    with contextlib.suppress(OSError):
        os.write(2, message.encode())
    os._exit(EXIT_CODE)
