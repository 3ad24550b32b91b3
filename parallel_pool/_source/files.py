"""Files: reads regular files only. Others, such as a FIFO, may have no end or never answer."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read(path: Path, limit: int) -> bytes:
    """Returns what a file holds.

    Raises:
        OSError: it can't be read, is no regular file, or holds more than `limit` bytes.
    """
    with _open(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it holds more than {limit >> 20} MiB")
    return data


def digest(path: Path) -> str | None:
    """Returns the SHA-256 of what a file holds; None if it can't be read."""
    try:
        with _open(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def _open(path: Path) -> BufferedReader:
    # to open some devices does something, so their kind is asked for before
    _check(os.stat(path))
    # and to open a FIFO would wait for its other end, if one took the file's place just now
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check(os.fstat(number))
    except BaseException:
        os.close(number)
        raise
    return os.fdopen(number, "rb")


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise OSError(errno.EINVAL, f"it is {kind}")
