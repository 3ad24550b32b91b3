"""Choices: the values of options that a proof combines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from parallel_pool._engine.specs import Option
from parallel_pool._prover.target import Facts

# combinations that are played at most; those after them are named as not covered
MAX_COMBINATIONS = 24


def near(option: Option) -> list[Any]:
    """Returns values near an option's default that its range allows, without the default."""
    default = option.default
    if option.kind == "bool":
        return [not default]
    if option.kind == "int":
        assert isinstance(default, int)
        return _allowed(option, [default + 1, default - 1, default + 2])
    if option.kind == "float" and default is not None:
        number = float(default)
        other = [number * 1.25, number * 0.5] if number else [0.25, -0.25]
        return _allowed(option, other) if math.isfinite(number) else []
    return []


def _allowed(option: Option, values: Sequence[Any]) -> list[Any]:
    has_range = bool(option.low or option.high)
    fits = [each for each in values if not has_range or option.low <= each <= option.high]
    return fits[:2]


def guessed(ours: Facts, theirs: Facts) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the defaults and values near them, for options that both sides have.

    Returns:
        Combinations, the defaults first: each value alone, then all first values together; and the
        names of options of which only the default is played.
    """
    others = {each.name for each in theirs.options} | set(theirs.parameters)
    values = {each.name: near(each) for each in ours.options if each.name in others}
    found: list[dict[str, Any]] = [{}]
    for name, some in values.items():
        found += [{name: value} for value in some]
    first = {name: some[0] for name, some in values.items() if some}
    if len(first) > 1:
        found.append(first)
    unvaried = [each.name for each in ours.options if not values.get(each.name)]
    return found, unvaried


def combined(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns all combinations of the given values; a value that is no list stands alone."""
    lists = [list(each) if isinstance(each, (list, tuple)) else [each] for each in given.values()]
    return [dict(zip(given, values, strict=True)) for values in itertools.product(*lists)]
