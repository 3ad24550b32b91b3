"""Infos in Stable-Baselines3's form: one dict per environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parallel_pool._apis.common.env_infos import Info, is_python
from parallel_pool._apis.common.masks import rows_in
from parallel_pool._apis.common.native_infos import DTypes
from parallel_pool._engine.buffers import Column, engine_indices
from parallel_pool._engine.pool import Batch
from parallel_pool._engine.specs import GIVEN, Definition, Field, Spec
from parallel_pool._engine.trees import nest

TRUNCATED = "TimeLimit.truncated"


class InfoDicts:
    """Reads the infos of each environment from batches of a pool with autoreset="same_step".

    Attributes:
        follows: whether the dtype of any info follows that of the action.
    """

    def __init__(self, definition: Definition, spec: Spec, columns: Sequence[Column]) -> None:

        def info(i: int, field: Field, is_int: bool, kind: str) -> Info:
            rows = None if field.rows is None else getattr(field.rows, kind)
            own = is_python(definition, field)
            given, bit = -1, spec.given.get(field.name, 0)
            if field.is_optional:
                marks = (GIVEN, columns[i].is_final)
                given = next(k for k, it in enumerate(columns) if (it.name, it.is_final) == marks)
            return Info(field.name, i, own, field.follows, is_int, field.texts, rows, given, bit)

        found = [
            (i, field, column.is_final)
            for i, column in enumerate(columns)
            if column.field >= 0 and (field := spec.fields[column.field]).is_info
            if spec.is_shown(field)
        ]
        on_step = [
            (info(i, field, field.is_int_on_step, "on_step"), is_final)
            for i, field, is_final in found
            if field.on_step
        ]
        self._steps = [each for each, is_final in on_step if not is_final]
        self._partial = [each for each in self._steps if each.given >= 0]
        self._ends = [each for each, is_final in on_step if is_final]
        self._terminations = [
            info(i, field, False, "on_termination")
            for i, field, is_final in found
            if is_final and field.on_termination
        ]
        self._terminated = engine_indices(columns)["terminated"]
        self._resets = [
            info(i, field, field.is_int_on_reset, "on_reset")
            for i, field, is_final in found
            if field.on_reset and not is_final
        ]
        self.follows = any(each.follows for each in self._steps)
        # in a mixture: the environments that lack an info
        self._lacking = [
            (each.name, rows_in(~each.rows)) for each in self._steps if each.rows is not None
        ]
        names = [each.name for each in self._steps]
        self._is_nested = any("." in name for name in names)
        self._names = tuple(names) if self._is_nested else (*names, TRUNCATED)

    def of_steps(self, batch: Batch, num_envs: int, dtypes: DTypes = None) -> list[dict[str, Any]]:
        """Returns the infos of steps that ended no episode; dtypes are those of the actions."""
        if not self._steps:
            return [{TRUNCATED: False} for _ in range(num_envs)]
        values = [info.all(batch, dtypes) for info in self._steps]
        if not self._is_nested:
            values.append([False] * num_envs)
        names = self._names
        found = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        for name, lacking in self._lacking:
            for env_id in lacking:
                del found[env_id][name]
        for info in self._partial:
            for env_id in rows_in(batch[info.given] & info.bit == 0):
                del found[env_id][info.name]
        return [{**nest(each), TRUNCATED: False} for each in found] if self._is_nested else found

    def of_end(
        self, batch: Batch, env_id: int, is_truncated: bool, dtypes: DTypes = None
    ) -> dict[str, Any]:
        """Returns the infos of the step that ended an environment's episode."""
        given = self._ends
        if batch[self._terminated][env_id]:
            given = given + self._terminations
        infos = _of_row(given, batch, env_id, dtypes)
        infos[TRUNCATED] = is_truncated
        return infos

    def of_reset(self, batch: Batch, env_id: int) -> dict[str, Any]:
        """Returns the infos of the reset whose observation an environment's row holds."""
        return _of_row(self._resets, batch, env_id, None)


def _of_row(infos: Sequence[Info], batch: Batch, env_id: int, dtypes: DTypes) -> dict[str, Any]:
    """Returns those of the infos that an environment has in its row."""
    if not infos:
        return {}
    own = [info for info in infos if info.is_of(env_id) and info.has(batch, env_id)]
    return nest({info.name: info.one(batch, env_id, dtypes) for info in own})
