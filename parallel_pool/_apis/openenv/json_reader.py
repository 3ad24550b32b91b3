"""JSON reader: values of a space from what JSON holds; checked, as a stranger may have sent it."""

from __future__ import annotations

import base64
import binascii
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.arguments import quote

# of a value: its space, where it is, and whether it is an action
Reader = Callable[[Any, Any, str, bool], Any]
# by kind of a space's dtype, the kinds of arrays that may stand for it
KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}
# Characters of a dtype's name, and dimensions of an array: NumPy's have no more. Hundreds of
# thousands would take seconds to parse, and to multiply.
MAX_DTYPE, MAX_DIMENSIONS = 32, 64


def from_json(value: Any, space: spaces.Space[Any], where: str, *, is_action: bool = True) -> Any:
    """Returns the value of a space that JSON stands for, with the dtypes and types of the space.

    Args:
        value: what `json.loads` returned.
        space: one that `space_schemas.schema_of` takes.
        where: what the value is, for messages.
        is_action: numbers of Discrete and MultiDiscrete spaces, and texts, must be in the space.
            Bounds of a Box are not checked, as Gymnasium's environments do not do so.

    Raises:
        ValueError: it is of another type, shape or dtype, or not in the space.
    """
    kind: Any = type(space)
    return _reader_of(kind)(value, space, where, is_action)


@functools.cache
def _reader_of(kind: type) -> Reader:
    # looked up by type: to ask a Dict or Tuple for its class takes ten times as long
    return next((READERS[each] for each in kind.__mro__ if each in READERS), _box)


def _dict(value: Any, space: Any, where: str, is_action: bool) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != space.spaces.keys():
        raise ValueError(f"{where} is {quote(value)}: give an object with {list(space)}")
    read = (
        (key, from_json(value[key], each, f"{where}.{key}", is_action=is_action))
        for key, each in space.spaces.items()
    )
    return dict(read)


def _items(value: Any, space: Any, where: str, is_action: bool) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{where} is {quote(value)}: give a list")
    is_tuple = isinstance(space, spaces.Tuple)
    each = list(space.spaces) if is_tuple else [space.feature_space] * len(value)
    if len(each) != len(value):
        raise ValueError(f"{where} has {len(value)} items: give {len(each)}")
    return tuple(
        from_json(item, one, f"{where}[{i}]", is_action=is_action)
        for i, (item, one) in enumerate(zip(value, each, strict=True))
    )


def _discrete(value: Any, space: Any, where: str, is_action: bool) -> Any:
    start, last = int(space.start), int(space.start + space.n) - 1
    if type(value) is not int or (is_action and not start <= value <= last):
        raise ValueError(f"{where} is {quote(value)}: give an integer from {start} to {last}")
    try:
        return space.dtype.type(value)
    except OverflowError:
        raise ValueError(f"{where} is {quote(value)}: it does not fit") from None


def _text(value: Any, space: Any, where: str, is_action: bool) -> str:
    if not isinstance(value, str) or (is_action and not space.contains(value)):
        raise ValueError(f"{where} is {quote(value)}: give a text of {quote(space)}")
    return value


def _box(value: Any, space: Any, where: str, is_action: bool) -> Any:
    return _array(value, space.shape or (), np.dtype(space.dtype), where)


def _in_space(value: Any, space: Any, where: str, is_action: bool) -> Any:
    array = _box(value, space, where, is_action)
    if is_action and not space.contains(array):
        raise ValueError(f"{where} is {quote(value)}, which is not in {quote(space)}")
    return array


def _array(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> Any:
    """Returns an array of this shape and dtype from nested lists, a number, or base64."""
    array = _from_base64(value, where) if isinstance(value, dict) else _from_lists(value, where)
    if array.shape != shape:
        raise ValueError(f"{where} has shape {array.shape}: give {shape}")
    if array.dtype.kind not in KINDS.get(dtype.kind, "") and array.size:
        raise ValueError(f"{where} is {quote(value)}: give numbers of {dtype}")
    with np.errstate(all="ignore"):
        found = array.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(found, array):
        raise ValueError(f"{where} is {quote(value)}: it does not fit into {dtype}")
    return found


def _from_lists(value: Any, where: str) -> np.ndarray[Any, Any]:
    # NumPy would give each item the size of the longest text
    if _has_text(value):
        raise ValueError(f"{where} is {quote(value)}: give numbers")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{where} is {quote(value)}: its lists differ in length") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{where} is {quote(value)}: give numbers")
    return array


def _has_text(value: Any) -> bool:
    """Returns whether a text is in nested lists.

    It looks at all lists of a depth together, which takes less time than `np.asarray`.
    """
    items, kinds = [value], {type(value)}
    while list in kinds and str not in kinds:
        lists = items if len(kinds) == 1 else [each for each in items if type(each) is list]
        items = list(itertools.chain.from_iterable(lists))
        kinds = set(map(type, items))
    return str in kinds


def _from_base64(value: dict[str, Any], where: str) -> np.ndarray[Any, Any]:
    wrong = ValueError(f'{where} is {quote(value)}: give lists, or "base64", "dtype" and "shape"')
    shape, name = value.get("shape"), value.get("dtype")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise wrong
    if not all(type(n) is int and n >= 0 for n in shape):
        raise wrong
    if not isinstance(name, str) or len(name) > MAX_DTYPE:
        raise wrong
    try:
        dtype = np.dtype(name)
        data = base64.b64decode(value["base64"], validate=True)
    except (KeyError, TypeError, ValueError, SyntaxError, binascii.Error):
        raise wrong from None
    # not even an unpickled object can be in an array of these kinds
    if dtype.kind not in "biuf" or len(data) != math.prod(shape) * dtype.itemsize:
        raise wrong
    return np.frombuffer(data, dtype).reshape(shape)


# of spaces; the others are Boxes
READERS: dict[type, Reader] = {
    spaces.Dict: _dict,
    spaces.Tuple: _items,
    spaces.Sequence: _items,
    spaces.Text: _text,
    spaces.Discrete: _discrete,
    spaces.MultiBinary: _in_space,
    spaces.MultiDiscrete: _in_space,
}
