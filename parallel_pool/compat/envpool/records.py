"""Named tuples whose fields are known only at run time, and which can be pickled all the same."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import cache
from typing import Any, cast


@cache
def record_type(name: str, fields: tuple[str, ...]) -> Any:
    """Returns the type of named tuples with this name and these fields, always the same one."""
    kind = cast("Any", namedtuple)(name, fields)
    # pickle would look for the type by its name in a module
    kind.__reduce__ = _reduce
    return kind


def record(name: str, fields: tuple[str, ...], values: Iterable[Any]) -> Any:
    """Returns a named tuple of these values."""
    return record_type(name, fields)(*values)


def _reduce(self: Any) -> tuple[Any, ...]:
    return record, (type(self).__name__, self._fields, tuple(self))
