"""PinnedMemory: the memory of batches whose pages are locked, so that devices read it directly."""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from parallel_pool._engine.buffers import memory_of

if TYPE_CHECKING:
    from parallel_pool._apis.torch.device import Device
    from parallel_pool._apis.torch.uploads import Uploads
    from parallel_pool._engine.buffers import Array

# Smaller memory is not locked. CUDA copies so few bytes aside at once; and memory of less than a
# page may lie in one page with other memory, which would be locked with it.
MIN_BYTES = 1 << 16

# forks of this process
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_parent=_count_fork)


@dataclass(eq=False)
class Pin:
    """Memory that is locked, or was refused.

    Attributes:
        memory: keeps it mapped until it is unlocked, even if its arrays are gone. It is not the
            owner, whose references say whether a user holds the memory (`Held`).
        owner: of the memory; gone when the memory may be unlocked and freed.
        address: where it begins.
        size: of its pages, in bytes.
        device: where it was registered.
        is_registered: whether it is locked; also true while that is tried.
        forks: of this process when it was locked.
    """

    memory: object
    owner: weakref.ref[Array]
    address: int
    size: int
    device: Device
    is_registered: bool = True
    forks: int = -1

    def lock(self) -> None:
        # noted before the call, after which an exception such as Ctrl-C may come
        self.is_registered = True
        self.is_registered = self.device.register(self.address, self.size)
        self.forks = _forks

    def unlock(self) -> None:
        if self.is_registered:
            self.device.unregister(self.address)
        self.is_registered = False

    def lock_again(self) -> None:
        self.unlock()
        self.lock()


class PinnedMemory:
    """All memory of batches and rollouts that this process has locked.

    There is one object in a process, as memory can be locked only once, and several `TorchEnv` may
    use the same pool. Memory is unlocked before it is freed: otherwise CUDA would take what is
    mapped there later for locked, and read pages that are no longer there. No code runs when arrays
    are dropped; the next call here looks for owners that are gone.
    """

    def __init__(self) -> None:
        # taken before those of `Uploads`, of which its holder alone may have several
        self._lock = threading.Lock()
        # by address
        self._pins: dict[int, Pin] = {}
        # to all devices that may read the memory
        self._uploads: set[Uploads] = set()

    def pin(self, arrays: Iterable[Array], uploads: Uploads) -> list[Pin]:
        """Locks the memory of C's that arrays lie in; returns what is locked, or was refused.

        To be called before each upload: after a fork it locks the memory again, since the pages of
        memory that parent and child share become others when one of the two writes to them.

        Args:
            arrays: of a result, all in this process.
            uploads: to the device that will read them.
        """
        owners = {id(owner): owner for owner in map(memory_of, arrays) if owner is not None}
        return [self._pin(owner, uploads) for owner in owners.values() if owner.nbytes >= MIN_BYTES]

    def _pin(self, owner: Array, uploads: Uploads) -> Pin:
        address: int = owner.__array_interface__["data"][0]
        with self._lock:
            self._uploads.add(uploads)
            pin = self._pins.get(address)
            if pin is not None and pin.forks == _forks:
                return pin
            self._sweep()
            if pin is None:
                size = -(-owner.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
                pin = Pin(owner.base, weakref.ref(owner), address, size, uploads.device)
                self._pins[address] = pin
                pin.lock()
            else:
                self._when_unread(pin.lock_again)
            return pin

    def _sweep(self) -> None:
        """Unlocks memory that is about to be freed."""
        self._drop([each for each in self._pins.values() if each.owner() is None])

    def _drop(self, pins: Iterable[Pin]) -> None:
        for pin in pins:
            pin.unlock()
            del self._pins[pin.address]

    def _when_unread(self, act: Callable[[], None]) -> None:
        """Waits for uploads of memory that may still be read, and calls a function before others
        begin: another thread may be about to start one, for which it has called `pin`."""
        # nested calls, as Ctrl-C in a context manager in Python could leave a lock behind
        for uploads in self._uploads:
            act = partial(uploads.when_done, act)
        act()

    def drop(self, pins: Iterable[Pin]) -> None:
        """Unlocks memory, and all other memory that is about to be freed."""
        with self._lock:
            self._sweep()
            there = [pin for pin in pins if self._pins.get(pin.address) is pin]
            if there:
                self._when_unread(partial(self._drop, there))


# of this process
pinned = PinnedMemory()
