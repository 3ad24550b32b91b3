"""PyTorch: environments that take and return tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.torch.torch_env import TorchEnv

__all__ = ["TorchEnv"]

__getattr__, __dir__ = lazy(__name__, {"parallel_pool._apis.torch.torch_env": ("TorchEnv",)})
