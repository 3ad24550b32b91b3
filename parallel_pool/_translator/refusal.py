"""Refusal: why a program can't be translated, and what to write instead."""

from __future__ import annotations

import ast
from typing import Any

# of the OverflowError in the program
OVERFLOW = "the int leaves 64 bits"


class Dead(Exception):
    """What follows is never reached: an item is taken from a list that is always empty.

    Its text is that of the IndexError.
    """


class Restart(Exception):
    """Something was found that changes what was translated before."""


# what a translator that meets something unexpected raises
MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Refusal(Exception):
    """Something that is not translated.

    Attributes:
        file, line: where it is; "" and 0 until the translator of the function adds them.
    """

    def __init__(self, message: str, at: ast.AST | None = None, file: str = "") -> None:
        super().__init__(message)
        self.file = file
        self.line: int = getattr(at, "lineno", 0)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file else ""
        return f"{where}{self.args[0]}"


class Wider(Exception):
    """A function puts items of another type into a list that it was given.

    Attributes:
        c: the parameter in C.
        item: the type that its items must have.
    """

    def __init__(self, c: str, item: Any) -> None:
        super().__init__("a function puts items of another type into this list: return a list")
        self.c, self.item = c, item
