"""Transfers: how results become tensors on a device, and tensors arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from parallel_pool._apis.torch.cuda_device import CudaDevice
from parallel_pool._apis.torch.stream_transfers import StreamTransfers
from parallel_pool._apis.torch.tensors import arrays, tensors
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from collections.abc import Callable

    from parallel_pool._apis.torch.device import Device

# devices with streams that copy beside the program, by the type of their name
STREAM_DEVICES: dict[str, Callable[[torch.device], Device]] = {"cuda": CudaDevice}


class Transfers(Protocol):
    """Between environments and a user whose tensors are on a device.

    Attributes:
        device: of all tensors.
    """

    device: torch.device

    def tensors(self, value: Any) -> Any:
        """Returns a result with tensors in place of arrays: they are the caller's own.

        Arrays of objects and of texts stay as they are.
        """
        ...

    def arrays(self, value: Any) -> Any:
        """Returns a value with arrays in place of tensors: complete, and not to be written.

        Raises:
            TypeError: NumPy can't read a tensor, or it is on another device.
        """
        ...

    def release(self) -> None:
        """Lets go of results that were read; called before the environments look for memory that
        nobody holds, and after `arrays`, which waits for much of what is in flight."""
        ...

    def close(self) -> None:
        """Waits for what is in flight; tensors stay valid. May be called again."""
        ...


class NoTransfers:
    """Tensors in the memory of the arrays; see `Transfers`.

    Attributes:
        device: a CPU.
    """

    tensors = staticmethod(tensors)
    arrays = staticmethod(arrays)

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def release(self) -> None:
        pass

    def close(self) -> None:
        pass


class WaitingTransfers:
    """Copies that are done when a call returns; see `Transfers`.

    Attributes:
        device: of all tensors.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def tensors(self, value: Any) -> Any:
        return map_leaves(self._uploaded, tensors(value))

    def _uploaded(self, value: Any) -> Any:
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def arrays(self, value: Any) -> Any:
        return arrays(map_leaves(self._downloaded, value))

    def _downloaded(self, value: Any) -> Any:
        is_there = isinstance(value, torch.Tensor) and value.device == self.device
        return value.detach().cpu() if is_there else value

    def release(self) -> None:
        pass

    def close(self) -> None:
        pass


def transfers_to(device: Any) -> Transfers:
    """Returns the transfers between environments and a device.

    Raises:
        TypeError: device names none.
        ValueError: PyTorch can't use it here, or it holds no values ("meta").
    """
    try:
        named = torch.device(device)
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"device={quote(device)}: give 'cpu', 'cuda' or another device of PyTorch's: {error}"
        ) from None
    if named.type == "cpu":
        return NoTransfers(named)
    try:
        if named.type in STREAM_DEVICES:
            return StreamTransfers(STREAM_DEVICES[named.type](named))
        # its name with an index, if it has one; and whether values come back
        there = torch.ones(1, device=named)
        there.cpu()
        return WaitingTransfers(there.device)
    except Exception as error:
        # PyTorch raises AssertionError, RuntimeError, NotImplementedError, ImportError and others
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"device={quote(device)}: PyTorch {torch.__version__} can't use it here"
            f" ({type(error).__name__}: {reason}): give 'cpu', or a device that it has"
        ) from error
