"""InfoColumns: infos of many environments as one array for each key, not a dict for each."""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parallel_pool._engine.strict_zip import zip
from parallel_pool._workers.data.info_records import (
    ARRAY,
    HEAD,
    MAX_HEADS,
    MAX_LAYOUTS,
    OBJECT,
    PLAIN,
    TRUTH,
    Info,
    InfoField,
    InfoLayout,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from parallel_pool._engine.buffers import Array

    Column: TypeAlias = Array | list[Any]


@functools.lru_cache(MAX_LAYOUTS)
def _layout(fields: tuple[tuple[Any, ...], ...]) -> InfoLayout:
    return InfoLayout([InfoField(*field) for field in fields])


@functools.lru_cache(MAX_HEADS)
def _read_head(raw: bytes) -> tuple[InfoLayout, tuple[int, ...]]:
    """Returns the layout and the environments that a message begins with."""
    file = io.BytesIO(raw)
    layout = _layout(pickle.load(file))
    return layout, pickle.load(file)


class InfoColumns(NamedTuple):
    """Infos of some environments that have the same keys, with values of the same types.

    Attributes:
        env_ids: ascending.
        layout: of the records.
        records: of the environments, one after another.
        objects: the values that records lack: a list (environments,) for each of `layout.objects`.
    """

    env_ids: tuple[int, ...]
    layout: InfoLayout
    records: bytes
    objects: list[list[Any]]

    @staticmethod
    def head_size(message: bytes) -> int:
        """Returns how many bytes of a message of `InfoPacker` precede its records."""
        return HEAD.size + int(HEAD.unpack_from(message)[1])

    @staticmethod
    def read(message: bytes) -> InfoColumns:
        """Reads a message of `InfoPacker`; raises an exception if it is none."""
        at = InfoColumns.head_size(message)
        layout, env_ids = _read_head(message[HEAD.size : at])
        end = at + len(env_ids) * layout.dtype.itemsize
        if end > len(message):
            raise ValueError(f"{len(message)} bytes of infos: {end} or more are needed")
        objects = pickle.loads(message[end:]) if layout.objects else []
        return InfoColumns(env_ids, layout, message[at:end], objects)

    def columns(self) -> list[tuple[str, int, Column]]:
        """Returns the keys in their order, each with its kind and its values.

        The values are an array (environments, ...), not writable; or a list if Gymnasium makes an
        array of objects of them.
        """
        rows = np.frombuffer(self.records, self.layout.dtype)
        objects, names = iter(self.objects), self.layout.names
        found: list[tuple[str, int, Column]] = []
        for i, (key, kind, _, _) in enumerate(self.layout.fields):
            if kind == OBJECT:
                found.append((key, kind, next(objects)))
            else:
                column = rows[names[i]]
                found.append((key, kind, list(column) if kind == TRUTH else column))
        return found

    def arrays(self) -> list[tuple[str, Array]]:
        """Returns the keys with new arrays, of objects where Gymnasium makes such."""
        return [(key, _own(column)) for key, _, column in self.columns()]

    def followed_by(self, other: InfoColumns) -> InfoColumns | None:
        """Returns these columns and others as one; None if that is impossible."""
        if self.layout is not other.layout or self.env_ids[-1] >= other.env_ids[0]:
            return None
        objects = [a + b for a, b in zip(self.objects, other.objects, strict=True)]
        records = self.records + other.records
        return InfoColumns(self.env_ids + other.env_ids, self.layout, records, objects)

    def without(self, others: Set[int]) -> InfoColumns:
        """Returns these columns without some environments; itself if it has none of those."""
        if others.isdisjoint(self.env_ids):
            return self
        kept = [i for i, env_id in enumerate(self.env_ids) if env_id not in others]
        records = np.frombuffer(self.records, self.layout.dtype)[kept].tobytes()
        objects = [[column[i] for i in kept] for column in self.objects]
        return InfoColumns(tuple([self.env_ids[i] for i in kept]), self.layout, records, objects)

    def dicts(self) -> Iterator[tuple[int, Info]]:
        """Yields each environment and its infos as the dict that they were."""
        columns = [each(kind, column) for _, kind, column in self.columns()]
        keys = self.layout.keys
        for env_id, row in zip(self.env_ids, zip(*columns, strict=True), strict=True):
            yield env_id, dict(zip(keys, row, strict=True))


def of_objects(values: Sequence[Any]) -> Array:
    """Returns a new array of objects."""
    array: Array = np.full(len(values), None, object)
    array[:] = values
    return array


def _own(column: Column) -> Array:
    """Returns a new array of a column's values."""
    return of_objects(column) if isinstance(column, list) else column.copy()


def each(kind: int, column: Column) -> list[Any]:
    """Returns the values of a column, each with the type that it had in its dict."""
    if isinstance(column, list):
        return column
    if kind == PLAIN:
        plain: list[Any] = column.tolist()
        return plain
    return [row.copy() for row in column] if kind == ARRAY else list(column)
