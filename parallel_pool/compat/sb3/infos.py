"""Infos in Stable-Baselines3's form: one dict per environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from parallel_pool.actions import cast_info, info_dtype
from parallel_pool.buffers import Array, Column
from parallel_pool.compat.gymnasium.infos import DTypes
from parallel_pool.pool import Batch
from parallel_pool.specs import Definition, Field, Spec

TRUNCATED = "TimeLimit.truncated"

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
    """

    name: str
    column: int
    is_python: bool
    follows: int
    is_int: bool

    def all(self, batch: Batch, dtypes: DTypes) -> list[Any]:
        """Returns the values of all rows; arrays share no memory with the batch."""
        rows = batch[self.column]
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
        if self.is_int:
            return int(value)
        if self.is_python:
            return value.item()
        return value.copy() if isinstance(value, np.ndarray) else value


class RowInfos:
    """Reads the infos of each environment from batches of a pool with autoreset="same_step".

    Attributes:
        follows: whether the dtype of any info follows that of the action.
    """

    def __init__(self, definition: Definition, spec: Spec, columns: Sequence[Column]) -> None:
        floats = PYTHON_FLOATS.get(definition.id, ())

        def is_python(field: Field) -> bool:
            return not field.shape and (field.dtype.kind in "iub" or field.name in floats)

        def info(i: int, field: Field, is_int: bool) -> Info:
            return Info(field.name, i, is_python(field), field.follows, is_int)

        found = [
            (i, field, column.is_final)
            for i, column in enumerate(columns)
            if column.field >= 0 and (field := spec.fields[column.field]).is_info
        ]
        on_step = [
            (info(i, field, field.is_int_on_step), is_final)
            for i, field, is_final in found
            if field.on_step
        ]
        self._steps = [each for each, is_final in on_step if not is_final]
        self._ends = [each for each, is_final in on_step if is_final]
        self._resets = [
            info(i, field, field.is_int_on_reset)
            for i, field, is_final in found
            if field.on_reset and not is_final
        ]
        self.follows = any(each.follows for each in self._steps)
        self._names = (*(each.name for each in self._steps), TRUNCATED)

    def of_steps(self, batch: Batch, num_envs: int, dtypes: DTypes = None) -> list[dict[str, Any]]:
        """Returns the infos of steps that ended no episode; dtypes are those of the actions."""
        if not self._steps:
            return [{TRUNCATED: False} for _ in range(num_envs)]
        values = [info.all(batch, dtypes) for info in self._steps]
        values.append([False] * num_envs)
        names = self._names
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def of_end(
        self, batch: Batch, env_id: int, is_truncated: bool, dtypes: DTypes = None
    ) -> dict[str, Any]:
        """Returns the infos of the step that ended an environment's episode."""
        infos = {info.name: info.one(batch, env_id, dtypes) for info in self._ends}
        infos[TRUNCATED] = is_truncated
        return infos

    def of_reset(self, batch: Batch, env_id: int) -> dict[str, Any]:
        """Returns the infos of the reset whose observation an environment's row holds."""
        return {info.name: info.one(batch, env_id, None) for info in self._resets}


def ids(mask: Array) -> list[int]:
    """Returns the ids of the environments in a mask."""
    found: list[int] = np.flatnonzero(mask).tolist()
    return found
