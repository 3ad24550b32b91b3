"""Sampling: `make check` runs a few cases of a long parametrization, `make test` all of them."""

from __future__ import annotations

import dataclasses
import zlib
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from itertools import cycle, product
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

# Atari games that differ in what most code depends on: the cartridge (2K, 4K, F8, F6, E0, FE, DPC,
# with RAM), NTSC and PAL, the controllers, and how the game's rule finds score, lives and end
ATARI_GAMES = {
    *("adventure", "breakout", "double_dunk", "elevator_action", "montezuma_revenge", "pitfall2"),
    *("pong", "robotank", "tutankham", "video_cube"),
}
# of these, those whose rules and cartridges differ most: for tests that take half a second per game
FEW_ATARI_GAMES = {"montezuma_revenge", "pitfall2", "robotank"}
# MuJoCo tasks that differ most: the one with the most options, and a small one
MUJOCO_TASKS = {"Ant-v5", "Reacher-v5"}


def sampled(cases: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """Returns the cases as parameters of a test; those that are not quick are marked as slow."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def thinned(cases: Iterable[Any], step: int) -> list[Any]:
    """Returns the cases as parameters of a test; only every `step`th is quick, others are slow.

    A tuple is the values of several arguments.
    """
    return [case if number % step == 0 else _slow(case) for number, case in enumerate(cases)]


def paired(full: Iterable[Any], others: Iterable[Any], modes: Sequence[Any]) -> list[Any]:
    """Returns cases with modes: each full case with each mode, each other with one mode, in turn.

    For modes whose code does not depend on what makes the other cases differ.
    """
    return [*product(full, modes), *zip(others, cycle(modes), strict=False)]


def _slow(case: Any) -> Any:
    if isinstance(case, ParameterSet):
        marks = [*case.marks, pytest.mark.slow]
        return pytest.param(*case.values, marks=marks, id=case.id)
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)


# ------------------------------------------------------------------- @pytest.mark.quick(count) --

# folders whose tests reach most of the engine's C code: the sanitizers run all of their cases
FOR_SANITIZERS = ("core", "faults")


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Marks as slow the cases that `@pytest.mark.quick(count)` leaves to make test.

    With `sanitizers=True`, the default in some folders, they get the mark `sanitizers` instead:
    those stages run all cases, too. With `sanitizers=9` they run nine.
    """
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("quick") and not item.get_closest_marker("slow"):
            assert isinstance(item, pytest.Function)
            cases[item.parent, item.originalname].append(item)
    for (_, name), of_test in cases.items():
        mark = of_test[0].get_closest_marker("quick")
        sanitized = mark.kwargs.get("sanitizers", of_test[0].path.parent.name in FOR_SANITIZERS)
        if isinstance(sanitized, bool):
            sanitized = len(of_test) * sanitized
        values = [_values(item) for item in of_test]
        quick, for_sanitizers = (choose(values, count, name) for count in (mark.args[0], sanitized))
        for number, item in enumerate(of_test):
            if number not in quick:
                item.add_marker("sanitizers" if number in for_sanitizers else "slow")


def _values(item: pytest.Function) -> set[tuple[str, Any]]:
    """Returns which value each argument of a case has; fields of dataclasses count, too."""
    values: dict[str, Any] = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    for name, value in list(values.items()):
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            values |= {f"{name}.{field.name}": getattr(value, field.name) for field in fields}
    plain = (str, int, float, type(None))
    return {(name, v if isinstance(v, plain) else id(v)) for name, v in values.items()}


def choose(cases: Sequence[set[tuple[str, Any]]], count: int, name: str) -> set[int]:
    """Returns the numbers of so many cases that have as many values of the arguments as possible.

    Where several are as good, they are spread evenly, and the name decides which is the first:
    tests with the same cases run different ones.
    """
    start, stride = zlib.crc32(name.encode()), max(len(cases) // max(count, 1), 1)
    order = sorted(range(len(cases)), key=lambda number: (number + start) % stride)
    chosen: set[int] = set()
    seen: set[tuple[str, Any]] = set()
    while order and len(chosen) < count:
        best = max(order, key=lambda number: len(cases[number] - seen))
        order.remove(best)
        chosen.add(best)
        seen |= cases[best]
    return chosen
