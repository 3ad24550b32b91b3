"""Anonymous file: a file without a name, which other processes open by its descriptor."""

from __future__ import annotations

import errno
import os
import tempfile

# a temporary file would need the same
LACK = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def create(name: str) -> int:
    """Returns the descriptor of an empty file, which programs do not inherit.

    The file is in memory. Where the system has no such files (macOS), or a sandbox forbids them, it
    is a temporary file that was deleted.

    Args:
        name: what system tools show of a file in memory.

    Raises:
        OSError: neither can be made.
    """
    refusal = None
    if hasattr(os, "memfd_create"):
        try:
            fd: int = os.memfd_create(name)
            return fd
        except OSError as error:
            if error.errno in LACK:
                raise
            refusal = error
    try:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError as error:
        either = "" if refusal is None else f", nor a file in memory ({refusal.strerror})"
        raise OSError(
            error.errno,
            f"no temporary file can be made ({error.strerror}){either}: set TMPDIR to a folder that"
            " this process can write to",
        ) from error
