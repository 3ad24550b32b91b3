"""The reset mask of Gymnasium's vector environments: which environments a reset is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common import mask_ids
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.named_batch import NamedBatch
    from parallel_pool._engine.pool import Pool

KEY = mask_ids.KEY


def split(
    options: dict[str, Any] | None, num_envs: int, was_reset: bool
) -> tuple[Array | None, dict[str, Any] | None]:
    """Checks the mask among the options of a reset as Gymnasium does, and changes nothing.

    Args:
        options: of the reset.
        num_envs: environments.
        was_reset: whether all environments were reset before.

    Returns:
        A copy of the mask, bool (num_envs,), None if there is none; and the other options.

    Raises:
        TypeError: options are not a dict, or the mask is not a bool array.
        ValueError: the mask has a wrong shape, or no True.
        NotResetError: the mask leaves out environments that were never reset.
    """
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options={quote(options)} is {a_type(options)}: give a dict")
    if options is None or KEY not in options:
        return None, options
    mask = options[KEY]
    _check(mask, num_envs)
    if not was_reset and not mask.all():
        raise NotResetError(
            f"environment {int(np.argmin(mask))} was never reset and is not in"
            " options['reset_mask']: reset all environments first"
        )
    return mask.copy(), {key: value for key, value in options.items() if key != KEY}


def observe_others(pool: Pool, mask: Array | None) -> NamedBatch | None:
    """Returns the observations of environments that a masked reset leaves out; None: no such.

    Args:
        pool: of the environments.
        mask: bool (num_envs,); None for all.

    Raises:
        NotResetError: one of them failed: it has no observation to repeat.
    """
    if mask is None or mask.all():
        return None
    try:
        return pool.observe(np.flatnonzero(~mask))
    except StateError as error:
        if type(error) is not StateError:
            raise
        raise NotResetError(f"{error}; nothing was reset: add it to the reset_mask") from None


def _check(mask: Any, num_envs: int) -> None:
    """Raises TypeError or ValueError, with Gymnasium's text, for anything that is not a mask."""
    what = "`options['reset_mask']`"
    if not isinstance(mask, np.ndarray):
        raise TypeError(
            f"{what} must be a numpy array, got {type(mask)}: give numpy.array(..., dtype=bool)"
        )
    if isinstance(mask, np.ma.MaskedArray):
        raise TypeError(
            f"{what} must be a plain numpy array, got a masked array {mask}: give"
            " mask.filled(False) or mask.filled(True)"
        )
    if mask.shape != (num_envs,):
        raise ValueError(
            f"{what} must have shape `({num_envs},)`, got {mask.shape}: give one bool for each"
            " environment"
        )
    if mask.dtype != np.bool_:
        raise TypeError(
            f"{what} must have `dtype=np.bool_`, got {mask.dtype}: give mask.astype(bool)"
        )
    if not mask.any():
        raise ValueError(
            f"{what} must contain a boolean array with at least one True value, got"
            f" reset_mask={mask}: name an environment, or leave the reset out"
        )
