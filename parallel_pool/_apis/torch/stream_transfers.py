"""StreamTransfers: results to a device with streams while the program goes on, actions back."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from parallel_pool._apis.torch.pinned_memory import Pin, pinned
from parallel_pool._apis.torch.tensors import arrays, has_tensor
from parallel_pool._apis.torch.uploads import uploads_to
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool._apis.torch.device import Device
    from parallel_pool._engine.buffers import Array


class StreamTransfers:
    """Transfers of one `TorchEnv`; see `Transfers`.

    Attributes:
        device: of all tensors.
    """

    def __init__(self, device: Device) -> None:
        self._uploads = uploads_to(device)
        self.device = device.device
        # the memory of these environments by address; what was freed is gone
        self._pins: dict[int, weakref.ref[Pin]] = {}
        # what environments that were dropped have left
        pinned.drop(())

    def tensors(self, value: Any) -> Any:
        found: list[Array] = []
        map_leaves(lambda leaf: found.append(leaf) if has_tensor(leaf) else None, value)
        if not found:
            return value
        for pin in pinned.pin(found, self._uploads):
            self._pins[pin.address] = weakref.ref(pin)
        sources = [torch.from_numpy(np.asarray(array, order="C")) for array in found]
        copies = iter(self._uploads.start(sources))
        return map_leaves(lambda leaf: next(copies) if has_tensor(leaf) else leaf, value)

    def arrays(self, value: Any) -> Any:
        return arrays(map_leaves(self._downloaded, value))

    def _downloaded(self, value: Any) -> Any:
        device = self._uploads.device
        is_there = isinstance(value, torch.Tensor) and device.has(value)
        return device.download(value) if is_there else value

    def release(self) -> None:
        self._uploads.release()

    def close(self) -> None:
        if self._uploads.are_here():
            self._uploads.finish()
            pinned.drop(pin for there in self._pins.values() if (pin := there()) is not None)
