"""Missing: what dicts of Python's library have for keys that are not there.

A defaultdict puts a value there when the key is read; a Counter says 0, and puts nothing there.
"""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any

from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import Known

# what a defaultdict makes: by their classes empty, and values that are as they are
CONTAINERS: Mapping[str, type] = {"list": list, "set": set}
PLAIN = (bool, int, float, str)


def of_dict(value: dict[Any, Any]) -> Known | None:
    """Returns what a dict has for a key that is not there; None: it raises KeyError.

    Raises:
        Refusal: that is not translated.
    """
    if isinstance(value, Counter):
        return Known(Counter)
    if not isinstance(value, defaultdict) or value.default_factory is None:
        return None
    return of_factory(value.default_factory)


def of_factory(factory: Any) -> Known:
    """Returns what a defaultdict with this factory has for a key that is not there.

    Raises:
        Refusal: that is not translated.
    """
    if factory in (*CONTAINERS.values(), *PLAIN):
        return of_made(factory())
    code = getattr(factory, "__code__", None)
    # what depends on nothing is the same each time
    if inspect.isfunction(factory) and code and not (code.co_names or code.co_freevars):
        return of_made(factory())
    raise Refusal(
        "this defaultdict is not translated: give it int, float, bool, str, list, set, or a lambda"
        " that returns a number or a text"
    )


def of_made(value: Any) -> Known:
    """Returns what stands for a value that a factory has made.

    Raises:
        Refusal: it is not translated.
    """
    if type(value) in PLAIN:
        return Known(value)
    if type(value) in CONTAINERS.values() and not value:
        return Known(type(value))
    raise Refusal(
        f"a defaultdict of {value!r} is not translated: set the entry where the key is new"
    )


def described(known: Known) -> Mapping[str, Any]:
    """Returns the same as JSON."""
    if known.value is Counter:
        return {"kind": "Counter"}
    if isinstance(known.value, type):
        return {"kind": known.value.__name__}
    return {"kind": "value", "value": known.value}


def made(how: Mapping[str, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """Returns the dict in Python that `described` says."""
    if how["kind"] == "Counter":
        return Counter(items)
    if how["kind"] in CONTAINERS:
        return defaultdict(CONTAINERS[how["kind"]], items)
    value = how["value"]
    kind = type(value)
    return defaultdict(kind if value == kind() else lambda: value, items)


def is_in(value: Any) -> bool:
    """Returns whether such a dict is a value, or in it: what reads it may change it."""
    if isinstance(value, (defaultdict, Counter)):
        return True
    if isinstance(value, (list, tuple, deque)):
        return any(map(is_in, value))
    return isinstance(value, dict) and any(map(is_in, value.values()))
