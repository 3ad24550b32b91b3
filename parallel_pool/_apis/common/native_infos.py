"""VectorInfos: the infos of a native pool in the form of Gymnasium's vector environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parallel_pool._apis.common.masks import has_any
from parallel_pool._apis.common.vector_infos import Infos, nested, put, spread
from parallel_pool._engine.actions import cast_info, info_dtype
from parallel_pool._engine.buffers import Array, Column, engine_indices
from parallel_pool._engine.specs import GIVEN, Field, Spec

Batch = tuple[Array, ...]
DType = np.dtype[Any]
# dtypes of a step's actions: one for all environments, or one per environment
DTypes = DType | Sequence[DType] | None


class VectorInfos:
    """Reads the infos of a pool's batches.

    Attributes:
        is_empty: whether the environments have no infos.
        is_partial: whether some rows lack some infos.
        follows: whether the dtype of any info follows that of the action.
    """

    def __init__(self, spec: Spec, columns: Sequence[Column]) -> None:
        def of(is_final: bool) -> list[tuple[int, Field]]:
            return [
                (i, spec.fields[column.field])
                for i, column in enumerate(columns)
                if column.field >= 0
                and column.is_final is is_final
                and spec.fields[column.field].is_info
                and spec.is_shown(spec.fields[column.field])
            ]

        self._infos = of(False)
        self._finals = of(True)
        self._bits = spec.given
        # the columns that say which infos a row has, of a step and of an episode's last one
        names = [(column.name, column.is_final) for column in columns]
        self._given, self._final_given = (
            names.index((GIVEN, is_final)) if (GIVEN, is_final) in names else -1
            for is_final in (False, True)
        )
        # looked up once, not at each step
        self._named = [(i, field, field.name, f"_{field.name}") for i, field in self._infos]
        self.is_empty = not self._infos
        self.is_partial = bool(self._bits)
        self._is_nested = any("." in field.name for _, field in self._infos)
        self._terminated = engine_indices(columns)["terminated"]
        self.follows = any(field.follows for _, field in self._infos)
        # all True, as long as the last batch; infos get copies
        self._every_env = np.ones(0, np.bool_)

    def _nested(self, infos: Infos) -> Infos:
        return nested(infos) if self._is_nested else infos

    def of_reset(self, batch: Batch, mask: Array) -> Infos:
        """Returns the infos of a reset; the rows are those of the mask's environments."""
        infos: Infos = {}
        for i, field in self._infos:
            if field.on_reset and field.is_optional:
                given = batch[self._given] & self._bits[field.name] != 0
                own = spread(given, mask)
                put(infos, field.name, spread(_as_info(batch[i], field)[given], own), own)
            elif field.on_reset:
                values = _as_int(batch[i]) if field.is_int_on_reset else _as_info(batch[i], field)
                own = mask.copy() if field.rows is None else mask & field.rows.on_reset
                put(infos, field.name, spread(values, mask), own)
        return self._nested(infos)

    def of_step(self, batch: Batch, is_reset: Array, dtypes: DTypes = None) -> Infos:
        """Returns the infos of a step.

        Args:
            batch: of all environments; the engine writes zeros where a row lacks an info.
            is_reset: bool (n,): rows that show the first state of an episode.
            dtypes: of the actions, if infos follow them.
        """
        infos: Infos = {}
        # one count takes less than any() and all(), up to some 50,000 rows
        resets, num_envs = int(np.count_nonzero(is_reset)), len(is_reset)
        has_reset, has_step = resets > 0, resets < num_envs
        # read once: another thread may convert a batch of another length
        every_env = self._every_env
        if len(every_env) != num_envs:
            every_env = self._every_env = np.ones(num_envs, np.bool_)
        mixed = has_reset and has_step
        for i, field, name, mask_name in self._named:
            on_step, on_reset = field.on_step, field.on_reset
            if field.on_termination:
                mask = batch[self._terminated] & ~is_reset & _termination_rows(field)
                put_masked(infos, field.name, _as_info(batch[i], field), mask)
                continue
            if not (has_step and on_step) and not (has_reset and on_reset):
                continue
            # each info has its own mask: users may write to it
            if field.rows is not None:
                mask = np.where(is_reset, field.rows.on_reset, field.rows.on_step)
                if not has_any(mask):
                    continue
            elif not mixed or on_step == on_reset:
                mask = every_env.copy()
            else:
                mask = ~is_reset if on_step else is_reset.copy()
            if field.is_optional:
                mask &= batch[self._given] & self._bits[name] != 0
                put_masked(infos, name, _as_info(batch[i], field), mask)
                continue
            values = _as_info(batch[i], field)
            if field.texts is not None and mixed:
                values[~mask] = None
            elif field.follows:
                values = _follow(values, field.follows, mask, dtypes)
            elif field.is_int_on_reset if is_reset[mask.argmax()] else field.is_int_on_step:
                # the first environment that has the info decides, as in Gymnasium
                values = _as_int(values)
            infos[name] = values
            infos[mask_name] = mask
        return self._nested(infos)

    def of_ends(self, batch: Batch, ended: Array, dtypes: DTypes = None) -> Infos:
        """Returns `final_info`: the infos of the steps that ended episodes."""
        infos: Infos = {}
        for i, field in self._finals:
            if field.on_step and field.is_optional:
                mask = ended & (batch[self._final_given] & self._bits[field.name] != 0)
                put_masked(infos, field.name, _as_info(batch[i], field), mask)
            elif field.on_step:
                values = _follow(_as_info(batch[i], field), field.follows, ended, dtypes)
                values = _as_int(values) if field.is_int_on_step else values
                own = ended.copy() if field.rows is None else ended & field.rows.on_step
                put(infos, field.name, spread(values[ended], ended), own)
            elif field.on_termination:
                mask = ended & batch[self._terminated] & _termination_rows(field)
                put_masked(infos, field.name, _as_info(batch[i], field), mask)
        return self._nested(infos)


def _as_info(values: Array, field: Field) -> Array:
    """Returns the values of an info; of a text strings in place of codes."""
    return values if field.texts is None else field.texts.objects(values)


def _termination_rows(field: Field) -> Array | bool:
    """Returns the environments whose last steps can have an info."""
    return True if field.rows is None else field.rows.on_termination


def put_masked(infos: Infos, name: str, values: Array, mask: Array) -> None:
    """Puts an info of the environments of a mask, which are some of all, if there are any."""
    if has_any(mask):
        put(infos, name, spread(values[mask], mask), mask)


def _follow(values: Array, follows: int, mask: Array, dtypes: DTypes) -> Array:
    """Returns an info in the dtype of the first environment that has it, as Gymnasium does."""
    if not follows or dtypes is None or not has_any(mask):
        return values
    if isinstance(dtypes, np.dtype):
        return cast_info(values, info_dtype(dtypes, follows))
    own = [info_dtype(dtype, follows) for dtype in dtypes]
    found = np.zeros(len(values), own[int(np.argmax(mask))])
    for i, dtype in enumerate(own):
        found[i] = cast_info(values[i : i + 1], dtype)[0]
    return found


def _as_int(values: Array) -> Array:
    """Returns floats as int64, truncated."""
    return values.astype(np.int64)
