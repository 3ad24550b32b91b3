"""Actions: what the caller passes, as C takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi
from parallel_pool.specs import DTYPES, Spec

if TYPE_CHECKING:
    from parallel_pool._core import CData

CODES = {dtype: code for code, dtype in DTYPES.items()}


class ActionReader:
    """Checks and converts the actions of one pool; C then checks that they are in the space.

    Attributes:
        shape: of one environment's action, players included.
    """

    __slots__ = ("_field", "_seen", "shape")

    def __init__(self, spec: Spec) -> None:
        self._field = field = spec.action
        has_players = field.per_player and spec.num_players > 1
        self.shape = (*((spec.num_players,) if has_players else ()), *field.shape)
        # The dtype that was passed last, and its code: contiguous arrays of that very dtype and the
        # right shape go to C as they are. One object, as threads may send.
        self._seen: tuple[np.dtype[Any], int] = (field.dtype, CODES[field.dtype])

    def read(self, actions: Any, count: int) -> tuple[CData, int]:
        """Returns actions of count environments as C takes them, and the code of their dtype.

        Raises:
            TypeError, ValueError: the dtype or the shape is wrong.
        """
        seen, code = self._seen
        shape = (count, *self.shape)
        if type(actions) is np.ndarray and actions.dtype is seen and actions.shape == shape:
            # what loops pass; contextlib.suppress costs ten times as much
            try:
                return ffi.from_buffer(actions), code
            except ValueError:  # not contiguous
                pass
        return self._convert(actions, shape)

    def _convert(self, actions: Any, shape: tuple[int, ...]) -> tuple[CData, int]:
        """Makes an array that C can read of actions that it can't."""
        field = self._field
        array = np.asarray(actions)
        if array.shape != shape:
            raise ValueError(
                f"actions have shape {array.shape}: {shape[0]} environments take {shape}"
            )
        kinds = "iuf" if field.dtype.kind == "f" else "iu" if field.dtype.kind in "iu" else "b"
        if array.dtype.kind not in kinds:
            wanted = {"iuf": "real numbers", "iu": "integers", "b": "bools"}[kinds]
            raise TypeError(f"actions have dtype {array.dtype}: give {wanted}")
        if field.dtype.kind in "iu" and array.dtype.kind == "u" and array.dtype.itemsize == 8:
            # beyond int64 nothing is in the space, but a cast would wrap
            array = np.minimum(array, np.uint64(2**63 - 1))
        dtype = array.dtype.newbyteorder("=")
        code = CODES.get(dtype)
        if code is None or (field.dtype.kind == "f") != (dtype.kind == "f"):
            dtype = field.dtype
        if field.space_kind == "box" and field.dtype.kind in "iu":
            dtype = field.dtype
        array = np.ascontiguousarray(array, dtype)
        # NumPy has several objects for some dtypes: the fast path looks for the one last seen
        if type(actions) is np.ndarray and actions.dtype == dtype and actions.dtype.isnative:
            self._seen = (actions.dtype, CODES[dtype])
        return ffi.from_buffer(array), CODES[dtype]
