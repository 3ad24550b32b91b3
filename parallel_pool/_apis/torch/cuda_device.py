"""CudaDevice: all that transfers call of CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

# parts of it have no types
cuda: Any = torch.cuda

# cudaHostRegisterPortable: the memory counts as locked for all devices
PORTABLE = 1


class CudaDevice:
    """A GPU of NVIDIA's, or one of AMD's, which PyTorch also calls "cuda"; see `Device`.

    Attributes:
        device: its name, with an index.
    """

    def __init__(self, device: torch.device) -> None:
        """Raises what PyTorch raises if it has no such device."""
        # also finds the index of "cuda", which is the current device
        self.device = torch.ones(1, device=device).device
        self._uploads = cuda.Stream(self.device)

    def register(self, address: int, size: int) -> bool:
        with cuda.device(self.device):
            return self._is_success(cuda.cudart().cudaHostRegister(address, size, PORTABLE))

    def unregister(self, address: int) -> None:
        with cuda.device(self.device):
            self._is_success(cuda.cudart().cudaHostUnregister(address))

    def _is_success(self, status: Any) -> bool:
        """Returns whether a call of the runtime succeeded, and makes it forget an error.

        It keeps the error for the next check in this thread, which would be that of some kernel of
        the user's. So one is launched here.
        """
        if int(status) == 0:
            return True
        with suppress(RuntimeError):
            torch.ones(1, device=self.device)
        return False

    def upload(self, sources: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        # The copies are allocated on this stream, too: the memory may have been used for an earlier
        # upload, which the stream has done then.
        with cuda.stream(self._uploads):
            return [source.to(self.device, non_blocking=True) for source in sources]

    def mark(self) -> Any:
        return self._uploads.record_event()

    def hand_over(self, copies: Sequence[torch.Tensor], event: Any) -> None:
        stream = cuda.current_stream(self.device)
        stream.wait_event(event)
        for copy in copies:
            # when it is dropped, its memory waits for this stream before it is used again
            copy.record_stream(stream)

    def is_done(self, event: Any) -> bool:
        return bool(event.query())

    def wait(self, event: Any) -> None:
        event.synchronize()

    def finish(self) -> None:
        self._uploads.synchronize()

    def has(self, tensor: torch.Tensor) -> bool:
        is_plain = tensor.layout == torch.strided and not tensor.is_quantized
        return tensor.device == self.device and is_plain

    def download(self, tensor: torch.Tensor) -> torch.Tensor:
        # a copy on the current stream that waits for its end; nothing is in flight afterwards
        return tensor.detach().cpu()
