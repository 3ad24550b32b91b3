"""Actions: what the caller passes, as C takes it.

The reference hands an action on as the caller gave it, and NumPy computes in its dtype: a float64
action has other bits than the same one in float32. So actions keep their dtype here, where the
definition knows it (`pp_env_def.action_dtypes`), and each environment's may have another one.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Set
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi, lib
from parallel_pool.specs import DTYPES, Spec

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool.buffers import Array

    DType = np.dtype[Any]

CODES = {dtype: code for code, dtype in DTYPES.items()}

# every dtype of an action that has a code in C
ACTION_CODES: dict[DType, int] = CODES | {
    np.dtype(np.int8): lib.PP_INT8,
    np.dtype(np.int16): lib.PP_INT16,
    np.dtype(np.uint16): lib.PP_UINT16,
    np.dtype(np.uint32): lib.PP_UINT32,
    np.dtype(np.uint64): lib.PP_UINT64,
    np.dtype(np.float16): lib.PP_FLOAT16,
}
ACTION_DTYPES = {code: dtype for dtype, code in ACTION_CODES.items()}

# of Python's own numbers
PYTHON_CODES: dict[type, int] = {
    float: lib.PP_FLOAT64 | lib.PP_PYTHON,
    int: lib.PP_INT64 | lib.PP_PYTHON,
    bool: lib.PP_BOOL | lib.PP_PYTHON,
}

# integers beyond are no doubles
MOST = 2**53


def described(value: Any) -> str:
    """What an error message says of a value: enough to find it, and never long."""
    if isinstance(value, np.ndarray | np.generic):
        return f"a {type(value).__name__} of dtype {value.dtype} and shape {value.shape}"
    return f"a {type(value).__name__}, {reprlib.repr(value)}"


def take_array(actions: Any) -> Any:
    """Returns arrays of other libraries as NumPy's, and all else as it is.

    Raises:
        TypeError: one can't be read from here, as a tensor on a GPU.
    """
    is_numpy = isinstance(actions, np.ndarray | np.generic)
    if is_numpy or not hasattr(type(actions), "__array__"):
        return actions
    try:
        return np.asarray(actions)
    except Exception as error:
        cure = "give a NumPy array"
        if hasattr(actions, "detach") or hasattr(actions, "cpu"):
            cure = "give actions.detach().cpu().numpy()"
        raise TypeError(
            f"actions are a {type(actions).__module__}.{type(actions).__name__} that NumPy can't"
            f" read: {cure}: {type(error).__name__}: {error}"
        ) from error


def check_sequence(actions: Any, count: int, name: str = "actions") -> None:
    """Refuses what has no order or no end.

    Raises:
        TypeError: it is no sequence of actions.
    """
    if isinstance(actions, Mapping | Set):
        why = "which has no order"
    elif isinstance(actions, str | bytes | bytearray) or not hasattr(type(actions), "__iter__"):
        why = "which holds no actions"
    elif not hasattr(type(actions), "__len__"):
        why = "which has no length"
    elif not hasattr(type(actions), "__getitem__"):
        why = "which is no sequence"
    else:
        return
    shown = "None" if actions is None else described(actions)
    raise TypeError(f"{name} are {shown}, {why}: give an array or a list of {count} actions")


def take_list(actions: Any, count: int) -> list[Any]:
    """Returns the single actions of a sequence, whatever they are.

    Raises:
        TypeError: it is no sequence of actions.
        ValueError: there are more or fewer than `count`.
    """
    check_sequence(actions, count)
    # what tells a wrong length may have no end
    single = list(islice(iter(actions), count + 1))
    if len(single) != count:
        seen = f"more than {count}" if len(single) > count else f"{len(single)}"
        raise ValueError(f"{seen} actions: give one for each of {count} environments")
    return single


class ActionReader:
    """Checks the actions of one pool and hands them on; C then checks that they are in the space.

    Attributes:
        shape: of one environment's action, players included.
    """

    __slots__ = ("_field", "_keeps_dtypes", "_seen", "shape")

    def __init__(self, spec: Spec) -> None:
        self._field = field = spec.action
        has_players = field.per_player and spec.num_players > 1
        self.shape = (*((spec.num_players,) if has_players else ()), *field.shape)
        # whether callbacks know of other dtypes than the action's own
        self._keeps_dtypes = bool(spec.definition.raw.action_dtypes)
        # The dtype that was passed last, and its code: contiguous arrays of that very dtype and the
        # right shape go to C as they are. One object, as threads may send.
        self._seen: tuple[DType, int] = (field.dtype, CODES[field.dtype])

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
        actions = _plain_array(take_array(actions))
        if type(actions) is np.ndarray and (actions.dtype != object or not actions.ndim):
            return self._read_array(actions, shape)
        return self._read_list(actions, shape)

    def dtypes(self, actions: Any, count: int) -> DType | list[DType]:
        """Returns in which dtype NumPy computes with these actions: one for all, or one for each.

        The actions are such that `read` takes them.
        """
        actions = _plain_array(take_array(actions))
        if type(actions) is np.ndarray and actions.dtype != object:
            dtype: DType = actions.dtype.newbyteorder("=")
            return dtype
        single = take_list(actions, count)
        code = _common_code(single)
        if code is not None:
            return ACTION_DTYPES[code & ~lib.PP_PYTHON]
        return [np.asarray(action).dtype.newbyteorder("=") for action in single]

    # -------------------------------------------------------------------------------- arrays --

    def _read_array(self, array: Array, shape: tuple[int, ...]) -> tuple[CData, int]:
        """Hands on an array, or makes one that C can read."""
        field = self._field
        if array.shape != shape:
            raise ValueError(
                f"actions have shape {array.shape}: {shape[0]} environments take {shape}"
            )
        dtype = array.dtype.newbyteorder("=")
        self._check_dtype(dtype, "actions have")
        if field.dtype.kind == "f" and dtype.kind != "f":
            return self._mix(array, ACTION_CODES[dtype])
        if field.dtype.kind in "iu":
            if dtype.kind == "u" and dtype.itemsize == 8:
                # beyond int64 nothing is in the space, but a cast would wrap
                array = np.minimum(array, np.uint64(2**63 - 1))
            if field.space_kind == "box":
                dtype = field.dtype
            elif dtype not in CODES:
                if self._keeps_dtypes:
                    return self._mix(array, ACTION_CODES[dtype])
                dtype = field.dtype
        elif dtype not in CODES:
            return self._mix(array, ACTION_CODES[dtype])
        # NumPy has several objects for some dtypes: the fast path looks for the one last seen
        if array.dtype == dtype and array.dtype.isnative:
            self._seen = (array.dtype, CODES[dtype])
        array = np.ascontiguousarray(array, dtype)
        return ffi.from_buffer(array), CODES[dtype]

    def _check_dtype(self, dtype: DType, what: str) -> None:
        """Refuses numbers of another kind than the action's, and those that nobody computes in."""
        kind = self._field.dtype.kind
        kinds = {"f": "iufb", "b": "b"}.get(kind, "iu")
        if dtype.kind not in kinds:
            wanted = {"f": "real numbers", "b": "bools"}.get(kind, "integers")
            raise TypeError(f"{what} dtype {dtype}: give {wanted}")
        if dtype not in ACTION_CODES:
            # NumPy's `long long`, where that is not its int64, is none of them either
            raise TypeError(
                f"{what} dtype {dtype}: native environments compute in float16, float32 and"
                " float64: give actions.astype(numpy.float64), or make Python environments"
            )

    def _mix(self, array: Array, codes: Any) -> tuple[CData, int]:
        """Returns numbers of any dtype as doubles, and behind them the code of each action's."""
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            self._check_size(array)
        count = len(array)
        size = array.size * 8
        mixed = np.empty(size + count, np.uint8)
        mixed[:size].view(np.float64)[...] = array.reshape(-1)
        mixed[size:] = codes
        return ffi.from_buffer(mixed), lib.PP_MIXED_DTYPES

    def _check_size(self, array: Array) -> None:
        """Refuses integers that a double can't hold; those of a discrete space are refused by C."""
        if self._field.dtype.kind != "f" or not array.size:
            return
        for number in (int(array.min()), int(array.max())):
            if abs(number) > MOST:
                raise ValueError(f"actions hold {number}: choose integers of -2^53 to 2^53")

    # --------------------------------------------------------------------------------- lists --

    def _read_list(self, actions: Any, shape: tuple[int, ...]) -> tuple[CData, int]:
        """Makes an array of a sequence of actions, each of which may have a dtype of its own."""
        if isinstance(actions, np.ma.MaskedArray) and (masked := np.ma.getmaskarray(actions)).any():
            raise ValueError(
                f"actions are a masked array, {masked.sum()} of whose numbers are masked: give"
                " actions.filled(value)"
            )
        check_sequence(actions, shape[0])
        if len(actions) != shape[0]:
            seen = (len(actions), *(np.shape(actions[0]) if len(actions) else ()))
            raise ValueError(f"actions have shape {seen}: {shape[0]} environments take {shape}")
        single = take_list(actions, shape[0])
        code = _common_code(single)
        if code is None:
            arrays = [self._take_one(i, action) for i, action in enumerate(single)]
            codes = [_code_of(action, array) for action, array in zip(single, arrays, strict=True)]
            return self._mix(np.stack([array.astype(np.float64) for array in arrays]), codes)
        array = _as_array(single, "actions", f"one action of shape {self.shape} for each")
        if array.shape != shape:
            raise ValueError(
                f"actions have shape {array.shape}: {shape[0]} environments take {shape}"
            )
        if array.dtype == object:
            raise ValueError(
                "actions hold an integer of more than 64 bits: choose one of -2^53 to 2^53"
            )
        self._check_kind(array.dtype, code, "actions have")
        if self._field.dtype.kind == "f" or self._keeps_dtypes:
            return self._mix(array, code)
        if array.dtype.kind == "b" and self._field.dtype.kind in "iu":
            array = array.astype(np.int64)
        return self._read_array(array, shape)

    def _take_one(self, i: int, action: Any) -> Array:
        """One environment's action as an array of the right shape."""
        array = _as_array(take_array(action), f"actions[{i}]", f"one of shape {self.shape}")
        if array.shape != self.shape:
            raise ValueError(
                f"actions[{i}] is {described(action)}, of shape {array.shape}: give one of shape"
                f" {self.shape}"
            )
        self._check_kind(array.dtype, _code_of(action, array), f"actions[{i}] has")
        self._check_size(array)
        return array

    def _check_kind(self, dtype: DType, code: int, what: str) -> None:
        """As _check_dtype; a bool of Python's own is an integer."""
        if dtype.kind == "b" and code & lib.PP_PYTHON and self._field.space_kind != "multi_binary":
            return
        self._check_dtype(dtype.newbyteorder("="), what)


def _plain_array(actions: Any) -> Any:
    """An array of a subclass of NumPy's as a plain one, unless its numbers mean something else."""
    is_like = isinstance(actions, np.ndarray) and not isinstance(
        actions, np.ma.MaskedArray | np.matrix
    )
    return np.asarray(actions) if is_like else actions


def _as_array(value: Any, what: str, wanted: str) -> Array:
    try:
        return np.asarray(value)
    except Exception as error:
        raise ValueError(f"{what} make no array: give {wanted}: {error}") from error


def _code_of(action: Any, array: Array) -> int:
    """The dtype that NumPy computes in with an action, and whether its numbers are Python's own."""
    while type(action) in (list, tuple) and action:
        action = action[0]
    code = ACTION_CODES.get(array.dtype.newbyteorder("="), lib.PP_FLOAT64)
    return code | (lib.PP_PYTHON if type(action) in PYTHON_CODES else 0)


def _common_code(single: list[Any]) -> int | None:
    """The code of all of these actions, if that is seen at a glance: they are Python's numbers, or
    lists of such; all of one type, or arrays of one dtype."""
    kinds = set(map(type, single))
    if kinds <= {list, tuple}:
        kinds = set(map(type, chain.from_iterable(single)))
    elif kinds == {np.ndarray}:
        dtypes = {array.dtype for array in single}
        return ACTION_CODES.get(dtypes.pop()) if len(dtypes) == 1 else None
    return PYTHON_CODES.get(kinds.pop()) if len(kinds) == 1 else None


def info_dtype(dtype: DType, follows: int) -> DType:
    """The dtype of an info that follows an action of this dtype; follows: a `pp_follow`."""
    if dtype.kind == "f":
        return dtype
    if follows == lib.PP_FOLLOW_FLOAT:
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)


def cast_info(values: Array, dtype: DType) -> Array:
    """Returns doubles that C computed as numbers of this dtype; negative ones may be unsigned."""
    if dtype == np.uint64:
        return values.astype(np.int64).astype(np.uint64)
    return values.astype(dtype)
