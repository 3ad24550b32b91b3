"""Holdings: what a worker process has besides its own memory, which a forked copy lacks or shares.

A fork copies the memory and one thread. Other threads do not exist in the copy, and it shares child
processes, connections, GPUs and shared memory with the original: each would disturb the other. The
offset of an open file is shared, too, but a file can be opened once more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import threading
import time
from collections.abc import Collection, Iterator

# devices of GPUs, on which a context of the process depends
GPUS = ("/dev/nvidia", "/dev/kfd", "/dev/dri/")
# the pool's memory and reply files (csrc/os/shared_memory.c)
OWN_MEMORY = re.compile(r"/memfd:parallel_pool|.*/parallel_pool-\d+-\d+( \(deleted\))?$")
# stdin, stdout and stderr
NUM_STREAMS = 3
# looks for threads, and seconds between two: one that was joined may exist for a moment more
LOOKS, PAUSE = 50, 0.005


class Holdings:
    """Says what this process has got since the object was made that a fork can't copy."""

    def __init__(self) -> None:
        self._descriptors = set(descriptors().items())
        self._mappings = set(_shared_mappings())
        self._threads = set(_threads())

    def enter_branch(self, connection: int) -> None:
        """Ignores what a forked copy has of its own: its connection and its present threads."""
        self._descriptors.add((connection, os.readlink(f"/proc/self/fd/{connection}")))
        self._threads = set(_threads())

    def find(self, own: Collection[int], helpers: Collection[int | None]) -> list[str]:
        """Returns in words what can't be copied; [] if a fork is safe, but for `find_threads`.

        Args:
            own: descriptors that are not the environment's.
            helpers: process ids of children that are not.
        """
        opened = [(fd, target) for fd, target in self._opened() if fd not in own]
        found = [
            ("threads", _python_threads()),
            ("child processes", _children(helpers)),
            ("sockets", [f"descriptor {fd}" for fd, to in opened if to.startswith("socket:")]),
            ("GPUs", sorted({to for _, to in opened if to.startswith(GPUS)})),
            ("shared memory", [path for _, path in self._shared()]),
        ]
        return [f"{what} ({', '.join(names)})" for what, names in found if names]

    def find_threads(self) -> list[str]:
        """Returns in words which threads there are, besides Python's and those from before.

        Call it after a fork, in the original: libraries such as OpenBLAS end their threads before a
        fork, and start them again when they need them.
        """
        for _ in range(LOOKS):
            known = {thread.native_id for thread in threading.enumerate()} | self._threads
            found = [f"{_name_of(tid)}, thread {tid}" for tid in _threads() if tid not in known]
            if not found:
                return []
            time.sleep(PAUSE)
        return [f"threads ({', '.join(found)})"]

    def _opened(self) -> Iterator[tuple[int, str]]:
        for fd, target in descriptors().items():
            if fd >= NUM_STREAMS and (fd, target) not in self._descriptors:
                yield fd, target

    def _shared(self) -> Iterator[tuple[str, str]]:
        return (each for each in _shared_mappings() if each not in self._mappings)

    def reopen_files(self) -> None:
        """Gives this process offsets of its own in the files that it shares with the original.

        Raises:
            OSError: a file can't be opened again.
        """
        for fd, target in list(self._opened()):
            if target.startswith("/") and not OWN_MEMORY.match(target):
                _reopen(fd)


def _threads() -> list[int]:
    """Returns the numbers of this process's threads; [] where /proc is missing."""
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir("/proc/self/task")]
    return []


def _python_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each is not threading.main_thread()]


def _children(helpers: Collection[int | None]) -> list[str]:
    """Returns the names of child processes that have not ended."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children") as file:
                pids = [int(pid) for pid in file.read().split()]
            for pid in pids:
                if pid not in helpers and _is_running(pid):
                    found.append(f"{_name_of(pid)}, process {pid}")
    return found


def _is_running(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _name_of(pid: int) -> str:
    """Returns the name of a process or thread; empty if it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", errors="replace") as file:
        return file.read().strip()
    return ""


def descriptors() -> dict[int, str]:
    """Returns what each open descriptor refers to; {} where /proc is missing."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def _shared_mappings() -> Iterator[tuple[str, str]]:
    """Yields range and path of each writable mapping that other processes may share, not ours."""
    with contextlib.suppress(OSError), open("/proc/self/maps", errors="replace") as file:
        for line in file:
            # range, permissions, offset, device, inode, path
            place, permissions, _, _, _, *path = line.split(None, 5)
            if permissions[1] == "w" and permissions[3] == "s":
                name = path[0].strip() if path else ""
                if not OWN_MEMORY.match(name):
                    yield place, name


def _reopen(fd: int) -> None:
    """Opens a regular file once more, at the same offset, under the same descriptor."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    own = os.open(f"/proc/self/fd/{fd}", flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))
    try:
        os.lseek(own, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(own, fd, inheritable=os.get_inheritable(fd))
    finally:
        os.close(own)
