"""LocalInfos: infos of environments that this process steps itself, as one array for each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parallel_pool._engine.strict_zip import zip
from parallel_pool._workers.data.info_columns import each, of_objects
from parallel_pool._workers.data.info_records import Info, InfoLayout, InfoPacker, Single

if TYPE_CHECKING:
    from typing import TypeAlias

    from parallel_pool._engine.buffers import Array

    Column: TypeAlias = Array | list[Any]


# looked up once: every step uses it
array = np.array


class LocalInfos(NamedTuple):
    """Infos of the same keys, with values of the same types; has the methods of `InfoColumns`.

    Attributes:
        env_ids: ascending.
        layout: of the infos.
        values: for each of `layout.fields` an array (environments, ...), or a list.
    """

    env_ids: tuple[int, ...]
    layout: InfoLayout
    values: list[Column]

    @staticmethod
    def of(infos: Sequence[Single], packer: InfoPacker) -> LocalInfos | None:
        """Returns the infos of environments in ascending order; None if they are not alike."""
        layout = packer.common_layout([info for _, info in infos])
        if layout is None:
            return None
        values: list[Column] = []
        try:
            columns = zip(*[info.values() for _, info in infos], strict=True)
            for dtype, own in zip(layout.dtypes, columns, strict=True):
                values.append(list(own) if dtype is None else array(own, dtype))
        except OverflowError:  # a Python integer that is too large
            return None
        return LocalInfos(tuple([env_id for env_id, _ in infos]), layout, values)

    def columns(self) -> list[tuple[str, int, Column]]:
        """Returns the keys in their order, each with its kind and its values."""
        return [
            (field.key, field.kind, values)
            for field, values in zip(self.layout.fields, self.values, strict=True)
        ]

    def arrays(self) -> list[tuple[str, Array]]:
        """Returns the keys with arrays for the user, of objects where Gymnasium makes such."""
        return [
            (key, of_objects(values) if isinstance(values, list) else values)
            for key, values in zip(self.layout.keys, self.values, strict=True)
        ]

    def followed_by(self, other: Any) -> None:
        """Returns None: these are all that were alike."""

    def without(self, others: Set[int]) -> LocalInfos:
        """Returns these infos without some environments; itself if it has none of those."""
        if others.isdisjoint(self.env_ids):
            return self
        kept = [i for i, env_id in enumerate(self.env_ids) if env_id not in others]
        values: list[Column] = [
            [own[i] for i in kept] if isinstance(own, list) else own[kept] for own in self.values
        ]
        return LocalInfos(tuple([self.env_ids[i] for i in kept]), self.layout, values)

    def dicts(self) -> Iterator[tuple[int, Info]]:
        """Yields each environment and its infos as a dict."""
        columns = [each(kind, column) for _, kind, column in self.columns()]
        for env_id, row in zip(self.env_ids, zip(*columns, strict=True), strict=True):
            yield env_id, dict(zip(self.layout.keys, row, strict=True))
