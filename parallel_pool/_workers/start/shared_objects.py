"""Shared objects: queues, locks, and whatever else multiprocessing lets processes inherit.

They can be pickled only for a process that is being started. Some of them, such as pipes, consist
of descriptors, which the new process must get as well.
"""

from __future__ import annotations

import contextlib
import io
import pickle
from collections import ChainMap
from collections.abc import Iterator, Sequence
from multiprocessing import reduction
from multiprocessing.context import get_spawning_popen, set_spawning_popen
from typing import Any, ClassVar

from parallel_pool._workers.start.connection import ValuePickler, add_main_to_pickled, by_value

# in a worker: the descriptors that it was given for the objects in its argument
_inherited: list[int] = []


class Descriptor:
    """A descriptor in a pickle, by its index among those that the worker inherits."""

    def __init__(self, index: int) -> None:
        self._index = index

    def detach(self) -> int:
        """Returns the descriptor; multiprocessing calls this in the worker."""
        return _inherited[self._index]


class Package:
    """What a worker is given, pickled. In place of multiprocessing's `Popen` while it pickles.

    Attributes:
        parts: the pickles.
        fds: descriptors that the worker inherits. They belong to the objects that were pickled.
    """

    DupFd = Descriptor

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.fds: list[int] = []

    def duplicate_for_child(self, fd: int) -> int:
        """Adds a descriptor; returns its index."""
        self.fds.append(fd)
        return len(self.fds) - 1

    def add(self, value: Any) -> None:
        """Pickles an object by value, with the shared objects in it.

        Raises:
            RuntimeError: it holds a lock that only forked processes can share.
            Exception: what pickling raised.
        """
        add_main_to_pickled()
        file = io.BytesIO()
        with self._spawning():
            _Pickler(file, 5).dump(value)
        self.parts.append(file.getvalue())

    def add_by_reference(self, value: Any) -> None:
        """Pickles an object for another version of Python, which can't read this one's code.

        Raises:
            TypeError: something in it can't be found by its name in a module.
        """
        try:
            raw = pickle.dumps(value, 5)
            if b"__main__" in raw or b"__mp_main__" in raw:
                raise TypeError("it is defined in the program's main module")
        except Exception as error:
            raise TypeError(
                f"{error}: another version of Python can't be given functions by value. Give a"
                " function of a module that it can import, or its name: 'module:function'"
            ) from error
        self.parts.append(raw)

    def add_plain(self, value: Any) -> None:
        """Pickles an object that holds no shared objects."""
        self.parts.append(by_value(value))

    @contextlib.contextmanager
    def _spawning(self) -> Iterator[None]:
        own: Any = self
        before = get_spawning_popen()
        set_spawning_popen(own)
        try:
            yield
        finally:
            set_spawning_popen(before)


class _Pickler(ValuePickler):
    # multiprocessing registers how its objects are pickled for its own pickler alone
    dispatch_table: ClassVar[Any] = ChainMap(
        ValuePickler.dispatch_table,
        reduction.ForkingPickler._extra_reducers,  # type: ignore[attr-defined]
    )


def inherit(fds: Sequence[int]) -> None:
    """Sets the descriptors that this worker was given; in the order of `Package.fds`."""
    _inherited[:] = fds
