"""The built-in zip; in Python 3.9, which may run workers, one that takes `strict` as later ones."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 10):
    zip = builtins.zip
else:

    def zip(*iterables: Any, strict: bool = False) -> Any:
        """Does what zip does; with `strict`, raises ValueError if one iterable is shorter."""
        lists = [list(each) for each in iterables] if strict else iterables
        if strict and len({len(each) for each in lists}) > 1:
            raise ValueError("zip() arguments have different lengths")
        return builtins.zip(*lists)  # noqa: B905 - it has no strict
