"""Tensors in place of arrays, in the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from parallel_pool._apis.common.dependencies import install
from parallel_pool._engine.actions import unreadable
from parallel_pool._engine.trees import map_leaves
from parallel_pool.errors import MissingDependencyError

try:
    import torch
except ImportError as error:
    raise MissingDependencyError(
        f"tensors need PyTorch ({error}): pip install torch, or {install('sb3')}"
    ) from error


def has_tensor(value: Any) -> bool:
    """Returns whether a leaf of a result becomes a tensor.

    Arrays of objects, texts and dates do not, nor of numbers that no version of PyTorch has:
    NumPy's longdouble, and those in another order of bytes.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc":
        return False
    return value.dtype.isnative and value.dtype.char not in "gG"


def tensors(value: Any) -> Any:
    """Returns a result with tensors in place of arrays, in the same memory.

    Arrays for which `has_tensor` is false stay as they are.
    """
    return map_leaves(_tensor, value)


def _tensor(value: Any) -> Any:
    return torch.from_numpy(value) if has_tensor(value) else value


def arrays(value: Any) -> Any:
    """Returns a value with arrays in place of tensors, in the same memory."""
    return map_leaves(_array, value)


def _array(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    try:
        return value.detach().numpy()
    except Exception as error:
        raise unreadable("actions", value.detach(), error) from error
