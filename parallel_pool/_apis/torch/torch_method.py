"""TorchMethod: `torch` of batches of environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parallel_pool._apis.torch.torch_env import TorchEnv


class TorchMethod:
    """Gives batches of environments their form with tensors."""

    def torch(self, device: Any = "cpu") -> TorchEnv:
        """Returns these environments with tensors in place of arrays: a `TorchEnv`.

        Args:
            device: of all tensors: "cpu", "cuda", "cuda:1", or another one of PyTorch's.

        Raises:
            MissingDependencyError: PyTorch is not installed.
            TypeError: device names none.
            ValueError: PyTorch can't use this device here.
        """
        from parallel_pool._apis.torch.torch_env import TorchEnv

        return TorchEnv(self, device)
