"""Infos as Gymnasium's vector environments give them: arrays, each with a mask of who has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parallel_pool.actions import cast_info, info_dtype
from parallel_pool.buffers import Array, Column
from parallel_pool.specs import Field, Spec

Batch = tuple[Array, ...]
Infos = dict[str, Any]
DType = np.dtype[Any]
# of the actions of a step: one for all environments, or one for each
DTypes = DType | Sequence[DType] | None


def put(infos: Infos, name: str, values: Array, mask: Array) -> None:
    """Adds an info that the environments of the mask have; nothing if none has it."""
    if mask.any():
        infos[name], infos[f"_{name}"] = values, mask


def spread(rows: Array, mask: Array) -> Array:
    """Returns an array with these rows for the environments of the mask, and zero for others."""
    values = np.zeros((len(mask), *rows.shape[1:]), rows.dtype)
    values[mask] = rows
    return values


class VectorInfos:
    """What a pool's batches hold besides the five arrays of a step.

    Attributes:
        is_empty: there are no infos at all.
        follows: there are some whose dtype follows that of the action.
    """

    def __init__(self, spec: Spec, columns: Sequence[Column]) -> None:
        def of(is_final: bool) -> list[tuple[int, Field]]:
            return [
                (place, spec.fields[column.field])
                for place, column in enumerate(columns)
                if column.field >= 0
                and column.is_final is is_final
                and spec.fields[column.field].is_info
            ]

        self._infos = of(False)
        self._finals = of(True)
        # looked up once, for the sake of steps
        self._named = [
            (place, field.name, f"_{field.name}", field.on_step, field.on_reset, field.follows)
            for place, field in self._infos
        ]
        self.is_empty = not self._infos
        self.follows = any(field.follows for _, field in self._infos)

    def of_reset(self, batch: Batch, mask: Array) -> Infos:
        """Returns the infos of a reset of the environments of the mask, whose rows these are."""
        infos: Infos = {}
        for place, field in self._infos:
            if field.on_reset:
                put(infos, field.name, spread(batch[place], mask), mask.copy())
        return infos

    def of_step(self, batch: Batch, is_reset: Array, dtypes: DTypes = None) -> Infos:
        """Returns the infos of a step; rows of `is_reset` show the first state of an episode.

        Rows without an info are zero: the engine sees to that. dtypes: of the actions, where infos
        follow them.
        """
        infos: Infos = {}
        has_reset, has_step = bool(is_reset.any()), not is_reset.all()
        everybody = np.ones(len(is_reset), np.bool_)
        mixed = has_reset and has_step
        for place, name, mask_name, on_step, on_reset, follows in self._named:
            if not (has_step and on_step) and not (has_reset and on_reset):
                continue
            # of its own, for users may write into it
            if not mixed or on_step == on_reset:
                mask = everybody.copy()
            else:
                mask = ~is_reset if on_step else is_reset.copy()
            values = batch[place]
            infos[name] = _follow(values, follows, mask, dtypes) if follows else values
            infos[mask_name] = mask
        return infos

    def of_ends(self, batch: Batch, ended: Array, dtypes: DTypes = None) -> Infos:
        """Returns `final_info`: what came with the steps that ended episodes."""
        infos: Infos = {}
        for place, field in self._finals:
            if field.on_step:
                values = _follow(batch[place], field.follows, ended, dtypes)
                put(infos, field.name, spread(values[ended], ended), ended.copy())
        return infos


def _follow(values: Array, follows: int, mask: Array, dtypes: DTypes) -> Array:
    """Returns an info in the dtype of the first environment that has it, as Gymnasium does."""
    if not follows or dtypes is None or not mask.any():
        return values
    if isinstance(dtypes, np.dtype):
        return cast_info(values, info_dtype(dtypes, follows))
    own = [info_dtype(dtype, follows) for dtype in dtypes]
    found = np.zeros(len(values), own[int(np.argmax(mask))])
    for i, dtype in enumerate(own):
        found[i] = cast_info(values[i : i + 1], dtype)[0]
    return found
