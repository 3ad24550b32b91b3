"""Uploads: copies to a device that go on beside the program, and the memory that they read."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from parallel_pool._apis.torch.device import Device

# Results that may be in flight; one more waits for the first. A pool needs more memory for each.
MAX_FLIGHTS = 8


@dataclass
class Flight:
    """An upload that may not be done.

    Attributes:
        sources: what it reads.
        event: behind its copies; None while these are started, or if an exception ended that.
    """

    sources: Sequence[torch.Tensor]
    event: Any = None


class Uploads:
    """Uploads to a device, and what they read, held until they have read it.

    A pool does not write to memory that somebody holds, so nobody writes there meanwhile. All
    environments on a device share one such object, which outlives a `TorchEnv` that is dropped
    while its uploads are in flight.

    Attributes:
        device: where to.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        # held while uploads are started; the last lock to take, after that of `PinnedMemory`
        self._lock = threading.Lock()
        # in the order in which they are done
        self._flights: deque[Flight] = deque()
        self._pid = os.getpid()

    def start(self, sources: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Starts copies of tensors, for which the current stream waits; returns the copies.

        Args:
            sources: contiguous, and in the processor's memory.
        """
        device, flight = self.device, Flight(sources)
        with self._lock:
            self._release()
            # first, since copies that were started go on after any exception
            self._flights.append(flight)
            copies = device.upload(sources)
            flight.event = event = device.mark()
        device.hand_over(copies, event)
        return copies

    def release(self) -> None:
        """Lets go of what was read."""
        if self.are_here():
            with self._lock:
                self._release()

    def _release(self) -> None:
        flights, device = self._flights, self.device
        while flights:
            first = flights[0]
            if first.event is None:
                # later than the copies that an exception left, which is late enough
                first.event = device.mark()
            if len(flights) >= MAX_FLIGHTS:
                device.wait(first.event)
            elif not device.is_done(first.event):
                return
            flights.popleft()

    def when_done(self, act: Callable[[], None]) -> None:
        """Waits until all uploads are done, and calls a function before another one begins."""
        with self._lock:
            self.device.finish()
            self._flights.clear()
            act()

    def finish(self) -> None:
        """Waits until all uploads are done."""
        self.when_done(lambda: None)

    def are_here(self) -> bool:
        """Returns whether this is the process that uploads: in a forked child CUDA does not work,
        and another thread may have held the lock."""
        return os.getpid() == self._pid


# by the name of the device
known: dict[torch.device, Uploads] = {}


def uploads_to(device: Device) -> Uploads:
    """Returns the uploads to a device: those to another object for the same device, if there are
    any."""
    return known.setdefault(device.device, Uploads(device))
