"""InfoTable: infos of all environments of a pool, in memory that is laid out once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.info_columns import InfoColumns
from parallel_pool._workers.data.info_records import OBJECT, TRUTH, Info, InfoLayout

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array

# looked up once: every step uses them
read_table = lib.pp_pool_read_table
copy = methodcaller("copy")


class InfoTable:
    """An array of values and one of a mask for each key of infos, as Gymnasium has them.

    The infos of all environments must have the same keys, with values of the same types. The masks
    are named like the keys, with "_" before them, and are true.

    Attributes:
        layout: of one environment's infos.
        memory: all arrays; their fields are named as those of the layout's records.
    """

    def __init__(self, layout: InfoLayout, num_envs: int) -> None:
        """
        Args:
            layout: of one environment's infos, as `is_fit` accepts it.
            num_envs: number of environments.
        """
        self.layout = layout
        shapes = [
            (name, field.dtype, (num_envs, *field.shape))
            for name, field in zip(layout.names, layout.fields, strict=True)
        ]
        self.memory: Array = np.zeros((), np.dtype(shapes))
        self._columns: list[Array] = [self.memory[name] for name in layout.names]
        self._infos: Info = {}
        for key, column in zip(layout.keys, self._columns, strict=True):
            self._infos[key] = column
            self._infos[f"_{key}"] = np.ones(num_envs, np.bool_)
        self._arrays = [*self._infos.values()]

    @staticmethod
    def is_fit(layout: InfoLayout) -> bool:
        """Returns whether arrays can hold infos of this layout without a conversion."""
        return not any(field.kind in (OBJECT, TRUTH) for field in layout.fields)

    def write(self, infos: Iterable[Info]) -> None:
        """Writes the infos of all environments, which have this layout.

        Raises:
            OverflowError: an integer is too large.
        """
        for row, info in enumerate(infos):
            for column, value in zip(self._columns, info.values(), strict=True):
                column[row] = value

    def infos(self) -> Info:
        """Returns copies of the arrays, by key."""
        return dict(zip(self._infos, map(copy, self._arrays), strict=True))


class ReplyTable(InfoTable):
    """Reads infos of all environments from the replies of their workers."""

    def __init__(
        self, layout: InfoLayout, num_envs: int, heads: Sequence[tuple[int, bytes, int]]
    ) -> None:
        """
        Args:
            layout, num_envs: as for `InfoTable`.
            heads: of the messages to expect: the first environment of each, the bytes before its
                records, and the number of records.
        """
        super().__init__(layout, num_envs)
        # C refers to these as long as this object lives
        self._heads = [ffi.new("char[]", head) for _, head, _ in heads]
        self._parts = ffi.new(
            "pp_reply_part[]",
            [
                (env_id, raw, len(head), count)
                for (env_id, head, count), raw in zip(heads, self._heads, strict=True)
            ],
        )
        records: Any = layout.dtype.fields
        columns: Any = self.memory.dtype.fields
        self._fields = ffi.new(
            "pp_reply_field[]",
            [
                (records[name][1], records[name][0].itemsize, columns[name][1])
                for name in layout.names
            ],
        )
        counts = len(heads), len(layout.names), layout.dtype.itemsize
        self._table = ffi.new("pp_reply_table *", (self._parts, self._fields, *counts))
        buffer: Any = self.memory
        self._raw = ffi.from_buffer(buffer)

    @staticmethod
    def of(messages: Sequence[tuple[int, bytes]], num_envs: int) -> ReplyTable | None:
        """Returns a table for messages that differ from these in the values only.

        Args:
            messages: of `InfoPacker`, each with the environment that sent it.
            num_envs: of the pool.

        Returns:
            None if they do not hold the infos of all environments, or no table can.
        """
        heads, layouts = [], set()
        for env_id, raw in messages:
            infos, size = InfoColumns.read(raw), InfoColumns.head_size(raw)
            layouts.add(infos.layout)
            heads.append((env_id, raw[:size], len(infos.env_ids)))
        if len(layouts) != 1 or sum(count for *_, count in heads) != num_envs:
            return None
        layout = layouts.pop()
        return ReplyTable(layout, num_envs, heads) if InfoTable.is_fit(layout) else None

    def read(self, pool: CData) -> Info | None:
        """Returns the infos of the last batch; None if its replies are others."""
        return self.infos() if read_table(pool, self._table, self._raw) else None
