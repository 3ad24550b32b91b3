"""InfoColumns: infos of many environments as one array for each key, not a dict for each."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from parallel_pool.buffers import Array

    Column: TypeAlias = Array | list[Any]
    Block: TypeAlias = tuple[int, list[int], Sequence[Column]]

Info = dict[str, Any]

# kinds of columns by their values: Python's numbers, NumPy's numbers, arrays, anything else
PLAIN, NUMBER, ARRAY, OBJECT = range(4)

PLAINS = {bool, int, float}
# types that pickle restores exactly
NUMBERS = {np.dtype(char).type for char in "bBhHiIlLefdFD"}
# types of immutable values
OBJECTS = {str, type(None), np.bool_}


class InfoColumns(NamedTuple):
    """Infos of some environments that have the same keys, with values of the same types.

    Attributes:
        env_ids: ascending.
        keys: in the order of the dicts.
        blocks: columns of one kind each: the kind (PLAIN to OBJECT), the indices of their keys, and
            the columns: each an array (environments, ...), or a list if the kind is OBJECT.
    """

    env_ids: list[int]
    keys: list[str]
    blocks: list[Block]

    def columns(self) -> list[tuple[str, int, Column]]:
        """Returns the keys in their order, each with its column's kind and its column."""
        found = [
            (place, kind, column)
            for kind, places, values in self.blocks
            for place, column in zip(places, values, strict=True)
        ]
        found.sort(key=_first)
        return [(self.keys[place], kind, column) for place, kind, column in found]

    def without(self, others: Set[int]) -> InfoColumns:
        """Returns columns without those environments; itself if it has none of them."""
        if others.isdisjoint(self.env_ids):
            return self
        places = [place for place, env_id in enumerate(self.env_ids) if env_id not in others]
        blocks: list[Block] = [
            (kind, keys, [_some(column, places) for column in values])
            for kind, keys, values in self.blocks
        ]
        return InfoColumns([self.env_ids[place] for place in places], self.keys, blocks)

    def dicts(self) -> Iterator[tuple[int, Info]]:
        """Yields each environment and its infos as the dict that they were."""
        columns = [each(kind, column) for _, kind, column in self.columns()]
        for env_id, row in zip(self.env_ids, zip(*columns, strict=True), strict=True):
            yield env_id, dict(zip(self.keys, row, strict=True))


_first = operator.itemgetter(0)


def _some(column: Column, places: list[int]) -> Column:
    return [column[i] for i in places] if isinstance(column, list) else column[places]


def each(kind: int, column: Column) -> list[Any]:
    """Returns the values of a column, of the types that they had."""
    if isinstance(column, list):
        return column
    if kind == PLAIN:
        plain: list[Any] = column.tolist()
        return plain
    return [row.copy() for row in column] if kind == ARRAY else list(column)


def gather(infos: Sequence[tuple[int, Any]]) -> tuple[list[InfoColumns], list[tuple[int, Any]]]:
    """Puts the infos of environments with the same keys and types into columns.

    Args:
        infos: (environment, infos), ascending.

    Returns:
        The columns, and the infos that are in none: those without others like them, those with a
        key or a value that no column can hold, and all of them if a key has the form of a mask's.
    """
    groups: dict[Any, list[tuple[int, Any]]] = {}
    for one in infos:
        info = one[1]
        alike = (*info, *map(type, info.values())) if info and type(info) is dict else None
        groups.setdefault(alike, []).append(one)
    # Gymnasium stores the mask of "a" under "_a". An info of that name and the mask overwrite each
    # other in the order of the environments, which columns do not keep.
    unlike = [info for _, info in groups.get(None, ()) if isinstance(info, Mapping)]
    has_mask = any(_is_mask(key) for keys in (*filter(None, groups), *unlike) for key in keys)
    found, singles = [], []
    for alike, members in groups.items():
        has_columns = alike is not None and len(members) > 1 and not has_mask
        columns = _columns(members) if has_columns else None
        if columns is None:
            singles += members
        else:
            found.append(columns)
    return found, singles


def _is_mask(key: Any) -> bool:
    return isinstance(key, str) and key.startswith("_")


def _columns(members: list[tuple[int, Info]]) -> InfoColumns | None:
    env_ids, infos = zip(*members, strict=True)
    keys = list(infos[0])
    for key in keys:
        # Gymnasium has a rule of its own for "final_obs"
        if type(key) is not str or key == "final_obs":
            return None
    values = list(zip(*[info.values() for info in infos], strict=True))
    places: dict[type, list[int]] = {}
    for place, column in enumerate(values):
        places.setdefault(type(column[0]), []).append(place)
    blocks = []
    for kind, own in places.items():
        block = _block(kind, [values[place] for place in own])
        if block is None:
            return None
        blocks.append((block[0], own, block[1]))
    return InfoColumns(list(env_ids), keys, blocks)


def _block(kind: type, values: list[tuple[Any, ...]]) -> tuple[int, Sequence[Column]] | None:
    """Returns columns of values of one type, and their kind; None if no column can hold them."""
    if kind in PLAINS or kind in NUMBERS:
        try:
            numbers: Any = np.array(values, kind)
        except OverflowError:  # a Python integer that is too large for NumPy
            return None
        return PLAIN if kind in PLAINS else NUMBER, numbers
    if kind in OBJECTS:
        return OBJECT, [list(column) for column in values]
    if kind is np.ndarray and all(map(_can_stack, values)):
        return ARRAY, [np.stack(column) for column in values]
    return None


def _can_stack(arrays: tuple[Array, ...]) -> bool:
    dtype, shape = arrays[0].dtype, arrays[0].shape
    if dtype.kind not in "biufc" or not dtype.isnative or not shape:
        return False
    return all(array.dtype == dtype and array.shape == shape for array in arrays)
