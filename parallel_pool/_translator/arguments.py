"""Arguments: which ones a function that is translated reads; any other is refused.

What a function takes is written as names in Python's order: `"a axis? dtype?"`. A question mark
stands behind one that may be missing, and `*` for any number of them. Behind a bar are keywords,
`**` for any of them; `name=value` is one that is translated for its default value only.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parallel_pool._translator.values import Fixed, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

Handler = Callable[..., Value]
Bound = tuple[list[Value], dict[str, Value]]


def taking(takes: str, handler: Handler) -> Handler:
    """Returns a handler whose arguments are those that it reads."""

    @functools.wraps(handler)
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        return handler(body, *bound(body, takes, given, keywords))

    return translate


def all_taking(takes: Mapping[Any, str], handlers: Mapping[Any, Handler]) -> dict[Any, Handler]:
    """Returns handlers whose arguments are those that they read."""
    return {key: taking(takes[key], handler) for key, handler in handlers.items()}


def bound(body: Body, takes: str, given: list[Value], keywords: dict[str, Value]) -> Bound:
    """Returns the arguments of a call; those by name at their places, as far as they follow.

    Raises:
        Refusal: one is missing, or is not translated.
    """
    parsed = _parsed(takes)
    places, given, left = parsed.places, list(given), dict(keywords)
    if "*" not in places and len(given) > len(places):
        raise body.refuse(
            f"this call with {len(given)} arguments is not translated: it takes {len(places)}"
        )
    while len(given) < len(places) and places[len(given)] in left:
        given.append(left.pop(places[len(given)]))
    if len(given) < parsed.needed:
        raise body.refuse(f"this call needs the argument {places[len(given)]}")
    names = {*places[len(given) :], *parsed.names}
    left = {name: each for name, each in left.items() if not parsed.is_default(name, each)}
    for name, value in left.items():
        if name not in names and "**" not in names:
            raise body.refuse(
                f"this call with {name}={_shown(value)} is not translated: leave it out"
            )
    return given, left


def _shown(value: Value) -> str:
    return repr(value.value)[:40] if isinstance(value, Fixed) else "..."


@dataclass
class _Parsed:
    """What a function takes.

    Attributes:
        places: the names of arguments by place.
        needed: how many of them are needed.
        names: the keywords behind the bar.
        defaults: those with one value that is translated.
    """

    places: list[str]
    needed: int
    names: list[str]
    defaults: dict[str, Any]

    def is_default(self, name: str, value: Value) -> bool:
        if name not in self.defaults or not isinstance(value, Fixed):
            return False
        default = self.defaults[name]
        return type(value.value) is type(default) and bool(value.value == default)


@functools.cache
def _parsed(takes: str) -> _Parsed:
    places, others = (part.split() for part in (takes + "|").split("|")[:2])
    needed = sum(name != "*" and not name.endswith("?") for name in places)
    pairs = [word.partition("=") for word in others if "=" in word]
    return _Parsed(
        [name.rstrip("?") for name in places],
        needed,
        [word for word in others if "=" not in word],
        {name: ast.literal_eval(value) for name, _, value in pairs},
    )
