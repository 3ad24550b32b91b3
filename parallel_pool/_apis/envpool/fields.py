"""EnvPool's names and bounds of an environment's fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Field


def field_name(field: Field, num_players: int) -> str:
    """Returns a field's name; a per-player info gets the prefix "players."."""
    is_players = field.is_info and field.per_player and num_players > 1
    return f"players.{field.name}" if is_players else field.name


def mark(fields: Sequence[Field], name: str) -> int:
    """Returns the index of an info by which players say that they act, or that their episode ended.

    These infos are "live" and "ended" (pp_env.h); -1 if there is no such one.
    """
    marks = (i for i, field in enumerate(fields) if field.name == name and field.marks_players)
    return next(marks, -1)


def bounds(field: Field) -> tuple[Any, Any]:
    """Returns the inclusive bounds of a field's elements; without bounds, those of its dtype."""
    if field.space_kind == "discrete":
        return int(field.start), int(field.start) + field.n - 1
    if field.space_kind in ("multi_discrete", "discrete_tuple"):
        assert field.nvec is not None
        # one number where they all start at 0, as EnvPool has it
        first = field.start if field.start.any() else 0
        return first, first + field.nvec - 1
    if field.space_kind == "multi_binary":
        return 0, 1
    if field.space_kind == "text":
        return np.iinfo(field.dtype).min, np.iinfo(field.dtype).max
    # an info with low == high == 0 has no stated bounds
    if not field.is_info or np.any(field.low) or np.any(field.high):
        return field.low, field.high
    if field.dtype.kind == "f":
        return -math.inf, math.inf
    if field.dtype.kind == "b":
        return False, True
    return np.iinfo(field.dtype).min, np.iinfo(field.dtype).max
