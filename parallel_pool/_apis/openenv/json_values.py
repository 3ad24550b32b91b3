"""JSON values: what an environment returns, as what JSON can hold."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parallel_pool._engine.arguments import quote

# arrays of so many elements are written in base64 for clients that ask for it
MIN_BASE64 = 32

# types of which values are what JSON holds
PLAIN = {bool, float, int, str, type(None)}

Arrays = Callable[[np.ndarray[Any, Any]], Any]


def as_lists(array: np.ndarray[Any, Any]) -> Any:
    """Returns an array as nested lists of numbers, a 0-dimensional one as a number."""
    if array.dtype.kind in "biufU":
        # a longdouble has no float of its own in Python
        return (array.astype(np.float64) if array.dtype.char == "g" else array).tolist()
    return [to_json(each) for each in array] if array.ndim else to_json(array.item())


def as_base64(array: np.ndarray[Any, Any]) -> Any:
    """Returns a large array of numbers as {"base64", "dtype", "shape"}, others as lists.

    The bytes are those of the array in C order.
    """
    if array.size < MIN_BASE64 or array.dtype.kind not in "biuf" or array.dtype.char == "g":
        return as_lists(array)
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"base64": data, "dtype": array.dtype.str, "shape": list(array.shape)}


def to_json(value: Any, arrays: Arrays = as_lists) -> Any:
    """Returns a value as what `json.dumps` takes: numbers keep their bits.

    Arrays become what `arrays` makes of them, NumPy's scalars become Python's, tuples and sets
    become lists, keys become strings, bytes become base64, and objects of other types a short text.

    Raises:
        RecursionError: it contains itself, or is nested too deeply.
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return arrays(value)
    if isinstance(value, np.generic):
        return as_lists(np.asarray(value))
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(each, arrays) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(each, arrays) for each in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    dump = getattr(value, "model_dump", None)
    return to_json(dump(), arrays) if callable(dump) else quote(value)
