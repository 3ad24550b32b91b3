"""Checks what error messages have: values of a limited length, and a cure."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "parallel_pool"

Find = Callable[[ast.Raise], Iterator[int]]


def places(words: str, find: Find) -> list[str]:
    """Returns the places of the package where `find` finds lines.

    Args:
        words: a pattern that only files with such lines contain; the others are not parsed.
        find: yields lines of a statement that raises.
    """
    return [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if re.search(words, text := path.read_text())
        for line in lines(text, find)
    ]


def lines(text: str, find: Find) -> list[int]:
    raising = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Raise))
    return [line for node in raising for line in find(node)]


def unlimited(error: ast.Raise) -> Iterator[int]:
    """Yields the lines of texts that show a value as `name={value!r}`, however long it is."""
    for text in ast.walk(error):
        if isinstance(text, ast.JoinedStr):
            for before, part in itertools.pairwise(text.values):
                is_named = isinstance(before, ast.Constant) and str(before.value).endswith("=")
                if (
                    is_named
                    and isinstance(part, ast.FormattedValue)
                    and part.conversion == ord("r")
                ):
                    yield text.lineno


def without_cure(error: ast.Raise) -> Iterator[int]:
    """Yields the line of a ClosedError that does not say what to do."""
    if re.fullmatch(r"Closed\w*Error\((?!.*: ).*\)", ast.unparse(error).removeprefix("raise ")):
        yield error.lineno


def test_values_in_messages_have_a_limit() -> None:
    found = places(r"=\{[^{}]*!r\}", unlimited)
    assert not found, f"write {{quote(value)}} in place of {{value!r}}: {', '.join(found)}"


def test_what_is_closed_has_a_cure() -> None:
    found = places(r"raise Closed", without_cure)
    assert not found, f'write "...: make a new one": {", ".join(found)}'


def test_such_messages_are_noticed() -> None:
    assert lines('raise ValueError(f"{name}={value!r}: choose 1" f" or 2")', unlimited) == [1]
    assert not lines('raise ValueError(f"{name}={quote(value)}: choose {it!r}")', unlimited)
    assert lines('raise ClosedError("the pool is closed")', without_cure) == [1]
    assert not lines('raise ClosedError(f"{self} is closed: make a new one")', without_cure)
