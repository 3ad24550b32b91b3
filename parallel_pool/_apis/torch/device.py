"""Device: what transfers ask of a device that copies while the program goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch


class Device(Protocol):
    """A device with streams: what is queued on one is done in order, beside the program.

    Uploads have a stream of their own. All else is queued on the *current stream*, that of the
    thread that calls, where the user's own work is.

    Attributes:
        device: its name, with an index.
    """

    device: torch.device

    def register(self, address: int, size: int) -> bool:
        """Locks whole pages of memory, which uploads then read without a copy by the processor.

        Returns whether it did. If it did not, uploads from there are slower, and as right.
        """
        ...

    def unregister(self, address: int) -> None:
        """Unlocks memory that `register` was called with, whether it locked it or not.

        No upload may be reading it.
        """
        ...

    def upload(self, sources: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Starts copies of contiguous tensors of the processor, in order; returns the copies."""
        ...

    def mark(self) -> Any:
        """Returns an event behind all uploads that were started so far."""
        ...

    def hand_over(self, copies: Sequence[torch.Tensor], event: Any) -> None:
        """Makes the current stream wait for an event before it uses copies."""
        ...

    def is_done(self, event: Any) -> bool:
        """Returns whether the uploads before an event are done."""
        ...

    def wait(self, event: Any) -> None:
        """Waits until the uploads before an event are done."""
        ...

    def finish(self) -> None:
        """Waits until all uploads are done."""
        ...

    def has(self, tensor: torch.Tensor) -> bool:
        """Returns whether a tensor is one that `download` takes."""
        ...

    def download(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns a copy in the processor's memory, after all that the current stream does before;
        it is complete."""
        ...
