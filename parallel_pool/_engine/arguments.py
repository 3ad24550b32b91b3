"""Arguments: checks them, and shortens their values for error messages."""

from __future__ import annotations

import math
import operator
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from parallel_pool._native import ffi, lib

# PP_MAX_ENVS in csrc; checked before lists of that length are made
MAX_ENVS = 2**24
INT32_MAX = 2**31 - 1
# seconds: 31 years; in nanoseconds it fits into 64 bits
FOREVER = 1e9


class _Shortener(reprlib.Repr):
    """A repr of limited length."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 60

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to convert very long integers to decimal
        bits = x.bit_length()
        return f"an integer of {bits} bits" if bits > 256 else repr(x)


_shortener = _Shortener()


def quote(value: Any) -> str:
    """Returns a value as messages show it: its repr in one line, shortened if it is long."""
    try:
        return " ".join(_shortener.repr(value).split())
    except Exception:
        return f"an object of {type(value).__name__}"


# characters of a name that messages show in full, and of each end of a longer one
MAX_NAME, NAME_END = 400, 120


def named(name: object) -> str:
    """Returns a path or another long name as messages show it without quotes: in one line, its
    middle left out if it is long, bytes that are not UTF-8 and control characters escaped."""
    text = os.fsdecode(name) if isinstance(name, (bytes, os.PathLike)) else str(name)
    if len(text) > MAX_NAME:
        text = f"{text[:NAME_END]}...{text[-NAME_END:]}"
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    # a surrogate of this range is what Python makes of a byte that is not UTF-8
    byte = ord(char) - 0xDC00
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else repr(char)[1:-1]


def env_names(env_ids: Sequence[int]) -> str:
    """Returns how a message names environments, in ascending order."""
    if not env_ids:
        return "its environments"
    first, last = env_ids[0], env_ids[-1]
    if first == last:
        return f"environment {first}"
    if last - first == len(env_ids) - 1:
        return f"environments {first} to {last}"
    return f"environments {list(env_ids)}"


def a_type(value: Any) -> str:
    """Returns the name of a value's type with its article, for messages: "an int", "a str"."""
    name = type(value).__name__
    # "ndarray" is pronounced "en-d-array", and "uint8" begins like "you"
    return f"{'an' if re.match('[aeio]|nd', name, re.IGNORECASE) else 'a'} {name}"


def one_of(**given: Any) -> Any:
    """Returns the value of the only argument that is given (not None) of several names for one
    thing, None if none is; raises TypeError for two of them."""
    values = {name: value for name, value in given.items() if value is not None}
    if len(values) > 1:
        both = " and ".join(f"{name}={quote(value)}" for name, value in values.items())
        raise TypeError(f"{both}: give one of the two")
    return next(iter(values.values()), None)


def is_number(value: Any) -> bool:
    """Returns whether a value is a real number of Python's or NumPy's; bools and arrays are not."""
    is_bool = isinstance(value, (bool, np.bool_))
    return isinstance(value, (int, float, np.integer, np.floating)) and not is_bool


def check_count(name: str, value: Any, low: int, high: int = INT32_MAX) -> int:
    """Returns an integer from `low` to `high`; raises TypeError or ValueError that names it."""
    number = whole(name, value)
    if not low <= number <= high:
        choice = f"{low} or more" if number < low else f"{low} to {high}"
        raise ValueError(f"{name}={quote(number)}: choose {choice}")
    return number


def whole(name: str, value: Any) -> int:
    """Returns an integer of any type as an int; raises TypeError for others, including bools."""
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{name}={quote(value)} is {a_type(value)}: give an integer")


def check_choice(name: str, value: Any, choices: Mapping[str, Any]) -> Any:
    """Returns the value of a choice; raises ValueError that lists all choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={quote(value)}: choose {' or '.join(map(repr, choices))}")
    return choices[value]


def check_sizes(num_envs: Any, batch_size: Any) -> tuple[int, int]:
    """Returns num_envs and batch_size as ints; batch_size None or 0 means num_envs.

    Raises:
        TypeError: one is not an integer.
        ValueError: one is too small or too large, or batch_size > num_envs.
    """
    envs = check_count("num_envs", num_envs, 1, MAX_ENVS)
    if batch_size is None or whole("batch_size", batch_size) == 0:
        return envs, envs
    rows = check_count("batch_size", batch_size, 1)
    if rows > envs:
        raise ValueError(f"batch_size={rows} > num_envs={envs}: choose batch_size <= num_envs")
    return envs, rows


def check_limit(max_episode_steps: Any) -> int:
    """Returns a time limit in steps in Gymnasium's form: 1 or more, or -1 for none."""
    limit = whole("max_episode_steps", max_episode_steps)
    if limit == 0 or limit < -1:
        raise ValueError(f"max_episode_steps={quote(limit)}: choose 1 or more, or -1 for none")
    return check_count("max_episode_steps", limit, -1)


def usable_memory() -> int:
    """Returns how many bytes of memory this process may use."""
    return int(lib.pp_usable_memory(ffi.NULL))


def check_memory(num_envs: int, bytes_each: int, what: str) -> None:
    """Raises MemoryError if environments of `bytes_each` need more memory than is usable."""
    usable = usable_memory()
    needed = num_envs * bytes_each
    if needed > usable:
        raise MemoryError(
            f"num_envs={num_envs} {what} take {needed / 1e9:.3g} GB or more, and this process may"
            f" use {usable / 1e9:.3g} GB: choose a smaller num_envs"
        )


def seconds(timeout: Any, name: str = "timeout") -> float | None:
    """Returns a timeout in seconds, None for none; raises TypeError or ValueError."""
    if timeout is None:
        return None
    if not is_number(timeout):
        raise TypeError(f"{name}={quote(timeout)} is {a_type(timeout)}: give seconds")
    if not timeout >= 0:
        raise ValueError(f"{name}={quote(timeout)}: choose 0 or more seconds, or None")
    # an integer may be larger than any float
    return math.inf if timeout > FOREVER else cast("float", timeout)


def nanoseconds(timeout: float | None) -> int:
    """Returns a timeout of `seconds` as C takes it: -1 for none."""
    return -1 if timeout is None or timeout > FOREVER else round(float(timeout) * 1e9)
