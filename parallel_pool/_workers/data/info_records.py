"""Info records: infos that have the same keys, with values of the same types, as bytes.

A message holds infos of some environments of one lane: `HEAD`; the pickled fields of their layout,
and the ids of the environments, which are the same in most messages; a record for each environment;
and, pickled, the values that no record can hold. No message depends on an earlier one, which the
parent process may never have read.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Info = dict[str, Any]
# an environment and its infos
Single = tuple[int, Any]

# Kinds of values: Python's numbers, NumPy's numbers, arrays, and those for which Gymnasium makes
# arrays of objects: NumPy's truth values, and values that are pickled.
PLAIN, NUMBER, ARRAY, TRUTH, OBJECT = range(5)

PLAINS = {bool, int, float}
# types that an array of their dtype restores exactly
NUMBERS = {np.dtype(char).type for char in "bBhHiIlLefdFD"}
# types of immutable values that are pickled
OBJECTS = {str, type(None)}
# struct's codes of the dtypes that it writes exactly; numbers of others are written as bytes
CODES = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "f8": "d"}
CODES |= {"u1": "B", "u2": "H", "u4": "I", "u8": "Q"}

# MARK, bytes of the pickled fields and ids
HEAD = struct.Struct("=cI")
# a pickled reply begins with pickle.PROTO instead
MARK = b"\0"
# most layouts that a process keeps, and most heads of messages of each
MAX_LAYOUTS = MAX_HEADS = 256


class InfoField(NamedTuple):
    """A key of infos; dtype and shape of its values, unless their kind is OBJECT."""

    key: str
    kind: int
    dtype: str = ""
    shape: tuple[int, ...] = ()

    @staticmethod
    def of(key: Any, value: Any) -> InfoField | None:
        """Returns the field of a value; None if messages can't hold it."""
        kind = type(value)
        # Gymnasium has a rule of its own for "final_obs"
        if type(key) is not str or key.startswith("_") or key == "final_obs":
            return None
        if kind in PLAINS or kind in NUMBERS:
            return InfoField(key, PLAIN if kind in PLAINS else NUMBER, np.dtype(kind).str)
        if kind is np.bool_:
            return InfoField(key, TRUTH, np.dtype(kind).str)
        if kind in OBJECTS:
            return InfoField(key, OBJECT)
        if kind is not np.ndarray or not value.shape or not value.dtype.isnative:
            return None
        if value.dtype.kind not in "biufc":
            return None
        return InfoField(key, ARRAY, value.dtype.str, value.shape)


class InfoLayout:
    """How infos of the same keys and types lie in records.

    Attributes:
        fields: in the order of the dicts.
        names: of the fields of a record, in order of `fields`; records lack the OBJECTs.
        dtype: of a record.
        keys: of the fields.
        dtypes: of the arrays of the fields' values; None for arrays of objects.
        objects: numbers of the OBJECTs.
        arrays: numbers of the ARRAYs, with their dtypes and shapes.
        raw: the pickled fields.
        heads: beginnings of messages, by their environments.
    """

    def __init__(self, fields: Sequence[InfoField]) -> None:
        self.fields = fields
        self.raw = pickle.dumps(tuple([tuple(field) for field in fields]), 5)
        self.heads: dict[tuple[int, ...], bytes] = {}
        self.objects = [i for i, field in enumerate(fields) if field.kind == OBJECT]
        self.arrays = [
            (i, np.dtype(field.dtype), field.shape)
            for i, field in enumerate(fields)
            if field.kind == ARRAY
        ]
        self.keys = [field.key for field in fields]
        self.dtypes = [
            None if field.kind in (OBJECT, TRUTH) else np.dtype(field.dtype) for field in fields
        ]
        self.names = [str(i) for i in range(len(fields))]
        # numbers of the fields whose values are written as bytes
        self._as_bytes: list[int] = []
        formats: dict[str, np.dtype[Any]] = {}
        codes = []
        for i, field in enumerate(fields):
            if field.kind == OBJECT:
                codes.append("0s")
                continue
            dtype = formats[self.names[i]] = np.dtype((field.dtype, field.shape))
            code = None if field.kind == ARRAY else CODES.get(field.dtype[1:])
            if code is None:
                self._as_bytes.append(i)
                code = f"{dtype.itemsize}s"
            codes.append(code)
        # NumPy reads no records without bytes
        if not any(dtype.itemsize for dtype in formats.values()):
            formats["pad"] = np.dtype(np.uint8)
            codes.append("x")
        self.dtype = np.dtype(list(formats.items()))
        self._struct = struct.Struct("=" + "".join(codes))
        self._is_plain = not (self._as_bytes or self.objects)

    def record(self, info: Info) -> bytes | None:
        """Returns the record of infos with these keys and types; None if none can hold them."""
        values: Any = info.values()
        if not self._is_plain:
            values = list(values)
            for i, dtype, shape in self.arrays:
                if values[i].dtype != dtype or values[i].shape != shape:
                    return None
            for i in self._as_bytes:
                values[i] = values[i].tobytes()
            for i in self.objects:
                values[i] = b""
        try:
            return self._struct.pack(*values)
        except struct.error:  # a Python integer that is too large
            return None


class InfoPacker:
    """Makes messages of infos, in a worker."""

    def __init__(self) -> None:
        # by the types of the keys, the keys, and the types of the values; None if messages can't
        # hold such infos
        self._layouts: dict[Any, InfoLayout | None] = {}

    def pack_one(self, env_id: int, info: Any) -> bytes | None:
        """Returns a message with the infos of one environment; None if messages can't hold them."""
        found = self._record(info)
        return None if found is None else _message(found[0], [(env_id, info)], [found[1]])

    def pack(
        self, infos: Sequence[Single]
    ) -> tuple[list[tuple[list[Single], bytes]], Sequence[Single]]:
        """Returns as few messages as possible.

        Args:
            infos: of environments in ascending order.

        Returns:
            The messages, each with the infos in it, and the infos that are in none: those with a
            key or a value that no message can hold, and all of them if any key begins with "_", as
            the keys of masks do.
        """
        groups: dict[InfoLayout, tuple[list[Single], list[bytes]]] = {}
        singles = []
        for one in infos:
            found = self._record(one[1])
            if found is None:
                singles.append(one)
            elif found[0] in groups:
                members, records = groups[found[0]]
                members.append(one)
                records.append(found[1])
            else:
                groups[found[0]] = [one], [found[1]]
        # Gymnasium stores the mask of "a" under "_a". An info of that name and the mask overwrite
        # each other in the order of the environments, which messages do not keep.
        if any(_is_mask(key) for _, info in singles if isinstance(info, Mapping) for key in info):
            return [], infos
        return [
            (members, _message(layout, members, records))
            for layout, (members, records) in groups.items()
        ], singles

    def common_layout(self, infos: Sequence[Any]) -> InfoLayout | None:
        """Returns the layout that all these infos have; None if there is none."""
        first = infos[0]
        if type(first) is not dict:
            return None
        keys, types = [*first], [*map(type, first.values())]
        alike = (*map(type, first), *keys, *types)
        try:
            layout = self._layouts[alike]
        except KeyError:
            layout = self._learn(alike, first)
        if layout is None:
            return None
        for info in infos[1:]:
            if type(info) is not dict or [*info] != keys or [*map(type, info.values())] != types:
                return None
        for i, dtype, shape in layout.arrays:
            key = layout.fields[i].key
            if any(info[key].dtype != dtype or info[key].shape != shape for info in infos):
                return None
        return layout

    def _record(self, info: Any) -> tuple[InfoLayout, bytes] | None:
        if type(info) is not dict:
            return None
        alike = (*map(type, info), *info, *map(type, info.values()))
        try:
            layout = self._layouts[alike]
        except KeyError:
            layout = self._learn(alike, info)
        record = None if layout is None else layout.record(info)
        if record is None and layout is not None and layout.arrays:
            # they may have other dtypes or shapes than before
            layout = self._learn(alike, info)
            record = None if layout is None else layout.record(info)
        return None if layout is None or record is None else (layout, record)

    def _learn(self, alike: Any, info: Info) -> InfoLayout | None:
        if len(self._layouts) >= MAX_LAYOUTS:
            self._layouts.clear()
        fields = [InfoField.of(key, value) for key, value in info.items()]
        known = [field for field in fields if field is not None]
        layout = InfoLayout(known) if known and len(known) == len(fields) else None
        self._layouts[alike] = layout
        return layout


def _is_mask(key: Any) -> bool:
    return isinstance(key, str) and key.startswith("_")


def _message(layout: InfoLayout, members: Sequence[Single], records: Iterable[bytes]) -> bytes:
    env_ids = tuple([env_id for env_id, _ in members])
    head = layout.heads.get(env_ids)
    if head is None:
        if len(layout.heads) >= MAX_HEADS:
            layout.heads.clear()
        same = layout.raw + pickle.dumps(env_ids, 5)
        head = layout.heads[env_ids] = HEAD.pack(MARK, len(same)) + same
    objects = b""
    if layout.objects:
        rows = [list(info.values()) for _, info in members]
        objects = pickle.dumps([[row[i] for row in rows] for i in layout.objects], 5)
    return b"".join((head, *records, objects))
