"""Actions: checks what the caller passes and converts it to C's form.

The reference passes an action on as the caller gave it, and NumPy computes in its dtype: a float64
action gives other bits than the same one in float32. So actions keep their dtype here if the
definition supports it (`pp_env_def.action_dtypes`). The dtype may differ between environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.specs import (
    DTYPES,
    MAX_EXACT_INT,
    NUMBER_CODES,
    NUMBER_DTYPES,
    PYTHON_CODES,
    Spec,
)
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array

    DType = np.dtype[Any]

CODES = {dtype: code for code, dtype in DTYPES.items()}

INT64 = np.dtype(np.int64)


def described(value: Any) -> str:
    """Returns a short description of a value for an error message."""
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{a_type(value)} of dtype {value.dtype} and shape {value.shape}"
    return f"{a_type(value)}, {quote(value)}"


def take_array(actions: Any) -> Any:
    """Returns arrays of other libraries as NumPy arrays, and other objects unchanged.

    Raises:
        TypeError: NumPy can't read the array (a tensor on a GPU, for example).
    """
    is_numpy = isinstance(actions, (np.ndarray, np.generic))
    if is_numpy or not hasattr(type(actions), "__array__"):
        return actions
    try:
        return np.asarray(actions)
    except Exception as error:
        raise unreadable("actions", actions, error) from error


def unreadable(name: str, actions: Any, error: Exception) -> TypeError:
    """Returns an exception for an array of another library that NumPy can't read.

    Args:
        name: what the message calls it.
        actions: the array.
        error: what NumPy, or the library, raised.
    """
    kind = f"{type(actions).__module__}.{type(actions).__name__}"
    seen = "".join(
        f" {what} {getattr(actions, attribute)}"
        for what, attribute in (("of dtype", "dtype"), ("on", "device"), ("of", "layout"))
        if hasattr(actions, attribute)
    )
    return TypeError(
        f"{name} are a {kind}{seen}, which NumPy can't read: give {_cure(name, actions)}:"
        f" {type(error).__name__}: {error}"
    )


def _cure(name: str, actions: Any) -> str:
    """Returns what a caller gives instead of an array that NumPy can't read."""
    if not hasattr(actions, "detach"):
        return f"{name}.cpu().numpy()" if hasattr(actions, "cpu") else "a NumPy array"
    # a tensor of PyTorch
    if actions.device.type == "meta":
        return "a tensor with values, on the CPU"
    steps = [".detach()"] if actions.requires_grad else []
    steps += [".cpu()"] if actions.device.type != "cpu" else []
    steps += [".dequantize()"] if actions.is_quantized else []
    steps += [".to_dense()"] if str(actions.layout) != "torch.strided" else []
    # NumPy has neither bfloat16 nor floats of fewer bits
    steps += [".float()"] if str(actions.dtype).startswith(("torch.bfloat", "torch.float8")) else []
    steps += [".resolve_conj()"] if actions.is_conj() else []
    steps += [".resolve_neg()"] if actions.is_neg() else []
    return f"{name}{''.join(steps) or '.numpy()'}"


def check_sequence(actions: Any, count: int, name: str = "actions") -> None:
    """Refuses objects without an order, a length or indexing.

    Raises:
        TypeError: actions are not a sequence.
    """
    if isinstance(actions, (Mapping, Set)):
        why = "which has no order"
    elif isinstance(actions, (str, bytes, bytearray)) or not hasattr(type(actions), "__iter__"):
        why = "which holds no actions"
    elif not hasattr(type(actions), "__len__"):
        why = "which has no length"
    elif not hasattr(type(actions), "__getitem__"):
        why = "which is not a sequence"
    else:
        return
    seen = "None" if actions is None else described(actions)
    raise TypeError(f"{name} are {seen}, {why}: give an array or a list of {count} actions")


def take_list(actions: Any, count: int) -> list[Any]:
    """Returns the items of a sequence of actions as a list.

    Raises:
        TypeError: actions are not a sequence.
        ValueError: there are more or fewer than `count`.
    """
    check_sequence(actions, count)
    # an object with a wrong __len__ may yield without end
    single = list(islice(iter(actions), count + 1))
    if len(single) != count:
        seen = f"more than {count}" if len(single) > count else f"{len(single)}"
        raise ValueError(f"{seen} actions: give one for each of {count} environments")
    return single


class ActionReader:
    """Checks the actions of one pool; C then checks that they are in the space.

    Attributes:
        shape: of one environment's action, with an axis of players if there are several.
    """

    __slots__ = ("_field", "_keeps_dtypes", "_seen", "shape")

    def __init__(self, spec: Spec) -> None:
        self._field = field = spec.action
        has_players = field.per_player and spec.num_players > 1
        self.shape = (*((spec.num_players,) if has_players else ()), *field.shape)
        # whether C's callbacks support dtypes other than the action's own
        self._keeps_dtypes = bool(spec.definition.raw.action_dtypes)
        # The last dtype passed, and its code: contiguous arrays of this dtype object and the right
        # shape go to C unchanged. A tuple is assigned at once: several threads may send.
        self._seen: tuple[DType, int] = (field.dtype, CODES[field.dtype])

    def read(self, actions: Any, count: int) -> tuple[CData, int]:
        """Returns actions of count environments in C's form, and the code of their dtype.

        Raises:
            TypeError, ValueError: the type, the dtype, the shape or a value is wrong.
        """
        seen, code = self._seen
        shape = (count, *self.shape)
        if type(actions) is np.ndarray and actions.dtype is seen and actions.shape == shape:
            # the usual case in a loop; contextlib.suppress costs ten times as much
            try:
                return ffi.from_buffer(actions), code
            except ValueError:  # not contiguous
                pass
        actions = _plain_array(take_array(actions))
        if type(actions) is np.ndarray and (actions.dtype != object or not actions.ndim):
            return self._read_array(actions, shape)
        return self._read_list(actions, shape)

    def dtypes(self, actions: Any, count: int) -> DType | list[DType]:
        """Returns the dtype in which NumPy computes with these actions: one for all, or a list.

        The actions must be valid for `read`.
        """
        actions = _plain_array(take_array(actions))
        if type(actions) is np.ndarray and actions.dtype != object:
            return _native(actions.dtype)
        single = take_list(actions, count)
        code = _common_code(single)
        if code is not None:
            return NUMBER_DTYPES[code & ~lib.PP_PYTHON]
        return [_native(np.asarray(action).dtype) for action in single]

    # -------------------------------------------------------------------------------- arrays --

    def _read_array(self, array: Array, shape: tuple[int, ...]) -> tuple[CData, int]:
        """Returns an array in C's form, converted if necessary, and its code."""
        field = self._field
        if array.shape != shape:
            raise ValueError(
                f"actions have shape {array.shape}: {shape[0]} environments take {shape}"
            )
        dtype = _native(array.dtype)
        self._check_dtype(dtype, "actions have")
        if field.dtype.kind == "f" and dtype.kind != "f":
            return self._mix(array, NUMBER_CODES[dtype])
        if field.dtype.kind in "iu":
            # before any conversion, which would wrap what is too large
            self._check_integers(array, field.dtype if field.space_kind == "box" else INT64)
            if field.space_kind == "box":
                dtype = field.dtype
            elif dtype not in CODES:
                if self._keeps_dtypes:
                    return self._mix(array, NUMBER_CODES[dtype])
                dtype = field.dtype
        elif dtype not in CODES:
            return self._mix(array, NUMBER_CODES[dtype])
        # NumPy has several objects for some dtypes: `read` compares with the last one
        if array.dtype == dtype and array.dtype.isnative:
            self._seen = (array.dtype, CODES[dtype])
        array = np.ascontiguousarray(array, dtype)
        return ffi.from_buffer(array), CODES[dtype]

    def _check_dtype(self, dtype: DType, what: str) -> None:
        """Refuses dtypes of a kind that the action does not take, and those without a code in C."""
        kind = self._field.dtype.kind
        kinds = {"f": "iufb", "b": "b"}.get(kind, "iu")
        if dtype.kind not in kinds:
            wanted = {"f": "real numbers", "b": "bools"}.get(kind, "integers")
            raise TypeError(f"{what} dtype {dtype}: give {wanted}")
        if dtype not in NUMBER_CODES:
            # also refuses NumPy's `long long` where it is not its int64
            raise TypeError(
                f"{what} dtype {dtype}: native environments compute in float16, float32 and"
                " float64: give actions.astype(numpy.float64), or make Python environments"
            )

    def _mix(self, array: Array, codes: Any) -> tuple[CData, int]:
        """Returns numbers of any dtype as doubles, followed by one dtype code per action."""
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            self._check_size(array)
        count = len(array)
        size = array.size * 8
        mixed = np.empty(size + count, np.uint8)
        mixed[:size].view(np.float64)[...] = array.reshape(-1)
        mixed[size:] = codes
        return ffi.from_buffer(mixed), lib.PP_MIXED_DTYPES

    def _check_integers(self, array: Array, dtype: DType, *first: int) -> None:
        """Refuses integers that an action's dtype can't hold, and so no space of that dtype.

        first: the index of the array, if it is one environment's.
        """
        if not array.size or np.can_cast(array.dtype, dtype):
            return
        bounds = np.iinfo(dtype)
        wrong = np.argwhere((array < bounds.min) | (array > bounds.max))
        if len(wrong):
            at = tuple(wrong[0].tolist())
            where = ", ".join(map(str, (*first, *at)))
            raise ValueError(
                f"actions[{where}] is {array[at]}, outside its space: choose from"
                f" {self._field.space()}"
            )

    def _check_size(self, array: Array) -> None:
        """Refuses integers that are not exact as doubles; C checks those of a discrete space."""
        if self._field.dtype.kind != "f" or not array.size:
            return
        for number in (int(array.min()), int(array.max())):
            if abs(number) > MAX_EXACT_INT:
                raise ValueError(f"actions hold {number}: choose integers of -2^53 to 2^53")

    # --------------------------------------------------------------------------------- lists --

    def _read_list(self, actions: Any, shape: tuple[int, ...]) -> tuple[CData, int]:
        """Returns a sequence of actions in C's form; each may have its own dtype."""
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
        """Returns one environment's action as an array of the right shape."""
        array = _as_array(take_array(action), f"actions[{i}]", f"one of shape {self.shape}")
        if array.shape != self.shape:
            raise ValueError(
                f"actions[{i}] is {described(action)}, of shape {array.shape}: give one of shape"
                f" {self.shape}"
            )
        self._check_kind(array.dtype, _code_of(action, array), f"actions[{i}] has")
        self._check_size(array)
        if self._field.dtype.kind in "iu":
            self._check_integers(array, INT64, i)
        return array

    def _check_kind(self, dtype: DType, code: int, what: str) -> None:
        """Checks as `_check_dtype` does, but accepts Python's bool as an integer."""
        if dtype.kind == "b" and code & lib.PP_PYTHON and self._field.space_kind != "multi_binary":
            return
        self._check_dtype(_native(dtype), what)


def _native(dtype: DType) -> DType:
    """Returns a dtype in the machine's byte order."""
    # dtypes of NumPy's newer kind, such as StringDType, have no order, and refuse the method
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _plain_array(actions: Any) -> Any:
    """Returns an array of an ndarray subclass as a plain one, except masked arrays and matrices."""
    is_converted = isinstance(actions, np.ndarray) and not isinstance(
        actions, np.ma.MaskedArray | np.matrix
    )
    return np.asarray(actions) if is_converted else actions


def _as_array(value: Any, what: str, wanted: str) -> Array:
    try:
        return np.asarray(value)
    except Exception as error:
        raise ValueError(f"{what} can't be made an array: give {wanted}: {error}") from error


def _code_of(action: Any, array: Array) -> int:
    """Returns the code of the dtype in which NumPy computes with an action, and PP_PYTHON if its
    numbers are Python's own."""
    while type(action) in (list, tuple) and action:
        action = action[0]
    code = NUMBER_CODES.get(_native(array.dtype), lib.PP_FLOAT64)
    return code | (lib.PP_PYTHON if type(action) in PYTHON_CODES else 0)


def _common_code(single: list[Any]) -> int | None:
    """Returns the code of actions that all are Python's numbers of one type, lists of such numbers,
    or arrays of one dtype; None for others, which are checked one by one."""
    kinds = set(map(type, single))
    if kinds <= {list, tuple}:
        kinds = set(map(type, chain.from_iterable(single)))
    elif kinds == {np.ndarray}:
        dtypes = {array.dtype for array in single}
        return NUMBER_CODES.get(dtypes.pop()) if len(dtypes) == 1 else None
    return PYTHON_CODES.get(kinds.pop()) if len(kinds) == 1 else None


def info_dtype(dtype: DType, follows: int) -> DType:
    """Returns the dtype of an info whose dtype depends on the action's; follows: as in `Field`."""
    factor = follows - 1
    # NumPy adds integers in 64 bits
    total = dtype if dtype.kind == "f" else np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    if not factor & lib.PP_PYTHON:
        return np.result_type(total, NUMBER_DTYPES[factor])
    is_float = factor == PYTHON_CODES[float]
    return np.dtype(np.float64) if is_float and dtype.kind != "f" else total


def cast_info(values: Array, dtype: DType) -> Array:
    """Returns doubles from C in another dtype; for uint64 negative ones wrap, as in NumPy."""
    if dtype == np.uint64:
        return values.astype(np.int64).astype(np.uint64)
    return values.astype(dtype)
