"""Infos as Gymnasium's vector environments give them: arrays, each with a mask of who has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parallel_pool.buffers import Array, Column
from parallel_pool.specs import Field, Spec

Batch = tuple[Array, ...]
Infos = dict[str, Any]


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
            (place, field.name, f"_{field.name}", field.on_step, field.on_reset)
            for place, field in self._infos
        ]
        self.is_empty = not self._infos

    def of_reset(self, batch: Batch, mask: Array) -> Infos:
        """Returns the infos of a reset of the environments of the mask, whose rows these are."""
        infos: Infos = {}
        for place, field in self._infos:
            if field.on_reset:
                put(infos, field.name, spread(batch[place], mask), mask.copy())
        return infos

    def of_step(self, batch: Batch, is_reset: Array) -> Infos:
        """Returns the infos of a step; rows of `is_reset` show the first state of an episode.

        Rows without an info are zero: the engine sees to that.
        """
        infos: Infos = {}
        has_reset, has_step = bool(is_reset.any()), not is_reset.all()
        everybody = np.ones(len(is_reset), np.bool_)
        mixed = has_reset and has_step
        for place, name, mask_name, on_step, on_reset in self._named:
            if not (has_step and on_step) and not (has_reset and on_reset):
                continue
            # of its own, for users may write into it
            if not mixed or on_step == on_reset:
                mask = everybody.copy()
            else:
                mask = ~is_reset if on_step else is_reset.copy()
            infos[name], infos[mask_name] = batch[place], mask
        return infos

    def of_ends(self, batch: Batch, ended: Array) -> Infos:
        """Returns `final_info`: what came with the steps that ended episodes."""
        infos: Infos = {}
        for place, field in self._finals:
            if field.on_step:
                put(infos, field.name, spread(batch[place][ended], ended), ended.copy())
        return infos
