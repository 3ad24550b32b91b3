"""LateDevice: a device for tests, whose uploads happen as late as streams permit.

Its tensors are ordinary ones on the CPU. An upload returns tensors of other values, and is made
only when something waits for it. So who writes to its source too early is found, by wrong numbers.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import signal
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch

libc = ctypes.CDLL(None)
# which may read one memory
all_devices: weakref.WeakSet[LateDevice] = weakref.WeakSet()


def as_in_c(method: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a method one call of C, in which no Ctrl-C comes."""

    @wraps(method)
    def called(*arguments: Any) -> Any:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return method(*arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return called


@dataclass
class Upload:
    """A copy that was not made yet.

    Attributes:
        copy: where to.
        source: where from. A weak reference: an upload holds nothing, on a GPU either.
        start, end: addresses of the source.
    """

    copy: torch.Tensor
    source: weakref.ref[torch.Tensor]
    start: int
    end: int


class LateDevice:
    """A `Device` in this process.

    Attributes:
        device: as `Device` has it; no device of this name is needed.
        is_refusing: whether `register` refuses all memory.
        registered: sizes of locked memory by address.
        num_registered: calls of `register`.
        done: uploads that were made.
        violations: what a GPU would have read wrongly, or not have allowed.
        fails: an exception for the next `upload`, after its first copy was started.
    """

    def __init__(
        self, index: int = 0, *, seed: int | None = None, is_refusing: bool = False
    ) -> None:
        """
        Args:
            index: of the device's name.
            seed: of how many uploads are made whenever somebody asks; None: none.
            is_refusing: as the attribute.
        """
        self.device = torch.device("cuda", index)
        self.is_refusing = is_refusing
        self.registered: dict[int, int] = {}
        self.num_registered = 0
        self.done = 0
        self.violations: list[str] = []
        self.fails: BaseException | None = None
        self._random = None if seed is None else random.Random(seed)
        self._waiting: deque[Upload] = deque()
        self._started = 0
        self._handed_over = 0
        all_devices.add(self)

    # ------------------------------------------------------------------------- as of a Device --

    @as_in_c
    def register(self, address: int, size: int) -> bool:
        self.num_registered += 1
        if address % mmap.PAGESIZE or size % mmap.PAGESIZE:
            self.violations.append("memory that shares a page with other memory is locked")
        for start, count in self.registered.items():
            if start < address + size and address < start + count:
                self.violations.append("memory is locked twice")
        if not self.is_refusing:
            self.registered[address] = size
        return not self.is_refusing

    @as_in_c
    def unregister(self, address: int) -> None:
        size = self.registered.pop(address, 0)
        for device in all_devices:
            if device.reads(address, address + size):
                self.violations.append("memory is unlocked while it is read")
        pages = ctypes.create_string_buffer(size // mmap.PAGESIZE)
        if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages):
            self.violations.append("memory is freed before it is unlocked")

    def upload(self, sources: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [self._start(source) for source in sources]

    @as_in_c
    def _start(self, source: torch.Tensor) -> torch.Tensor:
        if self.fails is not None and self._waiting:
            error, self.fails = self.fails, None
            raise error
        assert source.is_contiguous() and source.device.type == "cpu"
        # other values than those that will be there
        copy = torch.full_like(source, 101)
        address = source.data_ptr()
        end = address + source.numel() * source.element_size()
        self._waiting.append(Upload(copy, weakref.ref(source), address, end))
        self._started += 1
        return copy

    def mark(self) -> int:
        return self._started

    def hand_over(self, copies: Sequence[torch.Tensor], event: int) -> None:
        self._handed_over = max(self._handed_over, event)

    def is_done(self, event: int) -> bool:
        if self._random is not None:
            self.advance(self.done + self._random.randrange(len(self._waiting) + 1))
        return self.done >= event

    def wait(self, event: int) -> None:
        self.advance(event)

    def finish(self) -> None:
        self.advance(self._started)

    def has(self, tensor: torch.Tensor) -> bool:
        return True

    def download(self, tensor: torch.Tensor) -> torch.Tensor:
        # the current stream has waited for this
        self.advance(self._handed_over)
        return tensor.detach().clone()

    # --------------------------------------------------------------------------------------------

    @as_in_c
    def advance(self, event: int) -> None:
        """Makes the uploads before an event."""
        while self.done < event:
            upload = self._waiting.popleft()
            source: Any = upload.source()
            if source is None:
                self.violations.append("a source was let go of before it was read")
            else:
                upload.copy.copy_(source)
            self.done += 1

    def reads(self, start: int, end: int) -> bool:
        """Returns whether an upload that was not made reads what lies between two addresses."""
        return any(one.start < end and start < one.end for one in self._waiting)

    @property
    def in_flight(self) -> int:
        """The uploads that were started and not made."""
        return len(self._waiting)
