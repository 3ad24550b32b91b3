"""The reset mask of Gymnasium's vector environments: who is reset, and who stays as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool.compat.vector_errors import NotResetError

if TYPE_CHECKING:
    from parallel_pool.buffers import Array


def take(options: dict[str, Any] | None, num_envs: int, was_reset: bool) -> Array | None:
    """Pops the mask from the options of a reset and checks it as Gymnasium does.

    Returns:
        A copy, bool (num_envs,); None if there is none.

    Raises:
        TypeError, ValueError: it is no such mask, or names nobody.
        NotResetError: it leaves out environments before the first reset of all (was_reset).
    """
    if options is None or "reset_mask" not in options:
        return None
    mask = options.pop("reset_mask")
    shape = (num_envs,)
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"options['reset_mask'] is a {type(mask).__name__}: give an array")
    if mask.shape != shape:
        raise ValueError(f"options['reset_mask'] has shape {mask.shape}: give {shape}")
    if mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] has dtype {mask.dtype}: give bools")
    if not mask.any():
        raise ValueError("options['reset_mask'] is False everywhere: name an environment")
    if not was_reset and not mask.all():
        raise NotResetError(
            f"environment {int(np.argmin(mask))} was never reset and is not in"
            " options['reset_mask']: reset all environments first"
        )
    return mask.copy()
