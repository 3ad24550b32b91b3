"""Toy text: the options of Gymnasium's and EnvPool's environments in the form that C takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import quote

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

REWARDS = ("reward_goal", "reward_hole", "reward_frozen")
# EnvPool's option `size` of FrozenLake, and Gymnasium's map_name
SIZES = {4: "4x4", 8: "8x8"}


def non_native_reason(definition: Definition, options: Mapping[str, Any]) -> str | None:
    """Returns why environments with these options can't be native, a clause; None if they can."""
    if "desc" not in definition.options:
        return None
    if options.get("desc") is None and options.get("map_name", "") is None:
        return (
            "with desc=None and map_name=None each environment draws a map of its own: give a map,"
            " such as desc=gymnasium.envs.toy_text.frozen_lake.generate_random_map()"
        )
    return None


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options under the names of the definition, and without those that are None.

    Raises:
        TypeError, ValueError: a value is wrong, or two options contradict each other.
    """
    if "desc" not in definition.options:
        return dict(options)
    why = non_native_reason(definition, options)
    if why is not None:
        raise ValueError(f"{definition.id}: {why}")
    given = {
        name: value
        for name, value in options.items()
        if not (value is None and name in ("desc", "map_name"))
    }
    if "size" in given:
        given["map_name"] = _map_of_size(given.pop("size"), given)
    if not isinstance(given.get("desc", ""), str):
        given["desc"] = _rows(given["desc"])
    if "reward_schedule" in given:
        given |= _rewards(given.pop("reward_schedule"), given)
    return given


def _map_of_size(size: Any, given: Mapping[str, Any]) -> str:
    if "map_name" in given:
        raise TypeError("size and map_name are the same: give one of them")
    if size not in SIZES:
        raise ValueError(f"size={quote(size)}: choose 4 or 8, or give a map: desc=[...]")
    return SIZES[size]


def map_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the map among the options in C's form, as options of Gymnasium's environment."""
    if options.get("desc"):
        return {"desc": options["desc"].split("\n")}
    return {"map_name": options["map_name"]} if "map_name" in options else {}


def _rows(desc: Any) -> str:
    """Returns a map in C's form. To Gymnasium, a cell without a letter is a goal."""
    try:
        cells = np.asarray(desc, dtype="c")
    except (TypeError, ValueError) as error:
        raise ValueError(f"desc={quote(desc)}: give strings of one length ({error})") from None
    if cells.ndim != 2 or not cells.size:
        raise ValueError(f"desc={quote(desc)}: give strings of one length, 2 or more cells")
    # a row of a map can't contain NUL or newline, which terminate it in C
    letters = {b"": "G", b"\n": "F"}
    rows = ((letters.get(cell) or cell.decode() for cell in row) for row in cells.tolist())
    return "\n".join(map("".join, rows))


def _rewards(schedule: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    for name in REWARDS:
        if name in given:
            raise TypeError(f"reward_schedule and {name} are the same: give one of them")
    try:
        goal, hole, frozen = schedule
    except (TypeError, ValueError):
        raise TypeError(
            f"reward_schedule={quote(schedule)}: give three numbers, the rewards of reaching the"
            " goal, a hole and any other cell"
        ) from None
    return dict(zip(REWARDS, (goal, hole, frozen), strict=True))
