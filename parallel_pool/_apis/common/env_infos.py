"""Info: an info of native environments, with the values that a single environment has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from parallel_pool._apis.common.native_infos import DTypes
from parallel_pool._engine.actions import cast_info, info_dtype
from parallel_pool._engine.buffers import Array
from parallel_pool._engine.pool import Batch
from parallel_pool._engine.specs import Definition, Field
from parallel_pool._engine.texts import Texts

# In Gymnasium's infos floats are NumPy scalars, and integers and bools are Python's. These floats
# are exceptions: they are Python's.
PYTHON_FLOATS: Mapping[str, tuple[str, ...]] = {
    "CliffWalking-v1": ("prob",),
    "CliffWalkingSlippery-v1": ("prob",),
    "Ant-v3": ("reward_survive",),
    "Ant-v4": ("reward_survive",),
    "FrozenLake-v1": ("prob",),
    "FrozenLake8x8-v1": ("prob",),
    "Hopper-v5": ("reward_survive",),
    "Humanoid-v3": ("reward_alive",),
    "Humanoid-v4": ("reward_alive",),
    "InvertedDoublePendulum-v5": ("reward_survive",),
    "Taxi-v4": ("prob",),
}


class Info(NamedTuple):
    """One info of a pool's environments.

    Attributes:
        name: of the info.
        column: the index of its column in a batch.
        is_python: whether values are Python's numbers instead of NumPy's.
        follows: how its dtype depends on the action's, as in `Field`; 0: it does not.
        is_int: whether values are Python's ints, although the column's dtype is a float.
        texts: what codes stand for; None if values are numbers.
        rows: bool (n,): the environments that have it; None for all.
        given: the column that says which rows have it; -1: all have.
        bit: of that column.
    """

    name: str
    column: int
    is_python: bool
    follows: int
    is_int: bool
    texts: Texts | None
    rows: Array | None = None
    given: int = -1
    bit: int = 0

    def is_of(self, env_id: int) -> bool:
        """Returns whether an environment has it."""
        return self.rows is None or bool(self.rows[env_id])

    def has(self, batch: Batch, row: int) -> bool:
        """Returns whether a row has it, as far as its environment has it."""
        return self.given < 0 or bool(batch[self.given][row] & self.bit)

    def all(self, batch: Batch, dtypes: DTypes) -> list[Any]:
        """Returns the values of all rows; arrays share no memory with the batch."""
        rows = batch[self.column]
        if self.texts is not None:
            return list(self.texts.of_rows(rows))
        if self.follows and isinstance(dtypes, np.dtype):
            rows = cast_info(rows, info_dtype(dtypes, self.follows))
        elif self.follows and dtypes is not None:
            return [self.one(batch, i, dtypes) for i in range(len(rows))]
        if self.is_int:
            rows = rows.astype(np.int64)
        if self.is_python:
            values: list[Any] = rows.tolist()
            return values
        return list(rows) if rows.ndim == 1 else [row.copy() for row in rows]

    def one(self, batch: Batch, env_id: int, dtypes: DTypes) -> Any:
        """Returns the value of one row."""
        if self.follows and dtypes is not None:
            dtype = dtypes if isinstance(dtypes, np.dtype) else dtypes[env_id]
            row = batch[self.column][env_id : env_id + 1]
            return cast_info(row, info_dtype(dtype, self.follows))[0]
        value = batch[self.column][env_id]
        if self.texts is not None:
            return self.texts.of_row(value)
        if self.is_int:
            return int(value)
        if self.is_python:
            return value.item()
        return value.copy() if isinstance(value, np.ndarray) else value


def is_python(definition: Definition, field: Field) -> bool:
    """Returns whether an info's values are Python's numbers instead of NumPy's."""
    if field.shape:
        return False
    return field.dtype.kind in "iub" or field.name in PYTHON_FLOATS.get(definition.id, ())
