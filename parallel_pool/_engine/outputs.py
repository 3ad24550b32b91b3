"""Outputs: finds out whether a file can be written, before the work whose result it shall hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from parallel_pool._engine.arguments import quote

# opening a FIFO without a reader would wait for one
FLAGS = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def check_file(path: Path) -> None:
    """Checks that a file can be written; it stays as it is, or absent.

    Raises:
        ValueError: the path holds a zero byte.
        OSError: the file can't be written. Its folder does not exist (FileNotFoundError), it is a
            folder (IsADirectoryError), or a FIFO, say. The text is a clause with the cure.
    """
    try:
        _check(Path(os.path.realpath(path, strict=False)), path)
    except ValueError:
        raise ValueError("it holds a zero byte: name a file") from None
    except OSError as error:
        if error.errno is None:
            raise
        reason = f"it can't be written: {error.strerror}: name another file"
        raise type(error)(reason) from None


def _check(real: Path, given: Path) -> None:
    try:
        # not of the real path: a link to itself has none
        mode = os.stat(given).st_mode
    except FileNotFoundError:
        if not given.parent.is_dir():
            folder = quote(str(given.parent))
            raise FileNotFoundError(f"there is no folder {folder}: make it") from None
        # only the system knows: the folder may be full, or of a file system that is not writable
        os.close(os.open(real, FLAGS | os.O_CREAT | os.O_EXCL, 0o600))
        real.unlink()
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError("it is a folder: name a file in it")
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        # to look at a FIFO would end its reader
        raise OSError("it is a FIFO, a socket or a disk: name a file")
    number = os.open(real, FLAGS)
    try:
        # a device may refuse every write
        os.write(number, b"")
    finally:
        os.close(number)


def open_without_waiting(path: str, flags: int) -> int:
    """Opens a file, for `open(path, "w", opener=...)`, which may have become a FIFO by now."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
