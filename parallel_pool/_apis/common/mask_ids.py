"""The environments that a reset mask names; of EnvPool's and ale-py's APIs, without Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

KEY = "reset_mask"


def named_ids(mask: Any, num_envs: int) -> Array:
    """Returns the ids of the environments that a mask names, int32, which may be none.

    Raises:
        TypeError: the mask is not an array of bools.
        ValueError: it has a wrong shape.
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"reset_mask is of {kind}: give an array of bools")
    if isinstance(mask, np.ma.MaskedArray):
        raise TypeError(f"reset_mask is a masked array {mask}: give mask.filled(False)")
    if mask.shape != (num_envs,):
        raise ValueError(f"reset_mask has shape {mask.shape}: give ({num_envs},)")
    return np.flatnonzero(mask).astype(np.int32)
