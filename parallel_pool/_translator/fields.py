"""Fields: observations and infos of a translated class, as the engine's fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from parallel_pool._translator.refusal import Refusal

if TYPE_CHECKING:
    import gymnasium

    from parallel_pool._translator.types import Number

# PP_MAX_NDIM
MAX_AXES = 4
DTYPES = {
    "bool": "PP_BOOL",
    "uint8": "PP_UINT8",
    "int8": "PP_INT8",
    "int32": "PP_INT32",
    "int64": "PP_INT64",
    "float32": "PP_FLOAT32",
    "float64": "PP_FLOAT64",
}
# dtypes of spaces that fields do not have
WIDER = {"int16": "int32", "uint16": "int32", "uint32": "int64"}


@dataclass
class Field:
    """An observation or info.

    Attributes:
        name: of the field.
        key: the keys that lead to it; () for the only observation.
        item, shape: what it holds.
        space: None for infos.
        is_text: it holds the number of a text, -1 for None.
        is_optional: infos: some rows lack it: the info GIVEN says which.
        on_step, on_reset: infos: the rows that have it.
        players: of a class of several agents, their number: the field has so many such values.
        sizes: the length of each player's own value, of one axis; None: all have the shape.
    """

    name: str
    key: tuple[Any, ...]
    item: Number
    shape: tuple[int, ...]
    space: gymnasium.Space[Any] | None = None
    on_step: bool = False
    on_reset: bool = False
    players: int = 0
    sizes: tuple[int, ...] | None = None
    is_text: bool = False
    is_optional: bool = False

    @property
    def size(self) -> int:
        """The number of elements, those of all players together."""
        return int(np.prod(self.shape, dtype=np.int64)) * max(1, self.players)

    @property
    def each(self) -> int:
        """The number of elements of one player's value."""
        return self.size // max(1, self.players)

    @property
    def member(self) -> str:
        kind = "o_" if self.space is not None else "i_"
        # other letters by their numbers: no two names become one
        return kind + re.sub(r"\W", lambda found: f"_{ord(found[0]):x}_", self.name)


def leaves(space: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Returns the spaces in a Dict, and in the Dicts in it, with the keys that lead to them."""
    if not isinstance(space, spaces.Dict):
        return [(path, space)]
    found = []
    for key, each in space.spaces.items():
        if not isinstance(key, str) or "." in key or not key:
            raise Refusal(
                f"the key {key!r} of an observation space is not translated: choose a text without"
                " dots"
            )
        found += leaves(each, (*path, key))
    return found


def has_discretes(space: Any) -> bool:
    """Returns whether a Tuple has Discretes, and nothing else."""
    return bool(space.spaces) and all(isinstance(each, spaces.Discrete) for each in space.spaces)
