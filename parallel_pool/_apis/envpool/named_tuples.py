"""Named tuples whose fields are known only at run time; they can be pickled and copied."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from parallel_pool._lazy import public


@cache
def named_tuple_type(name: str, fields: tuple[str, ...]) -> Any:
    """Returns the named tuple type of this name and these fields; the same type in every call."""
    kind = cast("Any", namedtuple)(name, fields)
    # pickle would look for the type by its name in a module
    kind.__reduce__ = _reduce
    return kind


@public("compat.envpool")
def named_tuple(name: str, fields: tuple[str, ...], values: Iterable[Any]) -> Any:
    """Returns a named tuple of these values; pickles refer to this function."""
    return named_tuple_type(name, fields)(*values)


def _reduce(self: Any) -> tuple[Any, ...]:
    return named_tuple, (type(self).__name__, self._fields, tuple(self))
