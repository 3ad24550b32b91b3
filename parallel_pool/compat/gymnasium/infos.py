"""Infos in the form of Gymnasium's vector environments: an array and a mask for each key."""

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
# dtypes of a step's actions: one for all environments, or one per environment
DTypes = DType | Sequence[DType] | None


def put(infos: Infos, name: str, values: Array, mask: Array) -> None:
    """Adds an info that the environments of the mask have; adds nothing if the mask is empty."""
    if mask.any():
        infos[name], infos[f"_{name}"] = values, mask


def spread(rows: Array, mask: Array) -> Array:
    """Returns an array (n, ...) with these rows at the mask's environments, and zeros elsewhere."""
    values = np.zeros((len(mask), *rows.shape[1:]), rows.dtype)
    values[mask] = rows
    return values


def of_last_steps(observations: Any, ended: Array, final_info: Infos) -> Infos:
    """Returns the infos that SAME_STEP adds for episodes that have ended.

    Args:
        observations: the last ones, an array (n, ...), or a dict or tuple of such arrays.
        ended: bool (n,).
        final_info: the infos of the steps that ended episodes.
    """
    finals: Array = np.full(len(ended), None, object)
    for row in np.flatnonzero(ended).tolist():
        finals[row] = of_row(observations, row)
    return {
        "final_obs": finals,
        "_final_obs": ended.copy(),
        "final_info": final_info,
        "_final_info": ended.copy(),
    }


def in_order_of_rows(infos: Infos) -> Infos:
    """Returns infos in the order in which Gymnasium adds them: row by row.

    Args:
        infos: for each key its values and its mask, one after the other; keys that one row has are
            in their order.
    """
    items = list(infos.items())
    pairs = list(zip(items[::2], items[1::2], strict=True))
    pairs.sort(key=lambda pair: int(pair[1][1].argmax()))
    return dict(item for pair in pairs for item in pair)


def of_row(observations: Any, row: int) -> Any:
    """Returns the observation of one environment, a copy.

    Gymnasium's toy text returns Python's ints for a Discrete space and for a tuple of such.

    Args:
        observations: an array (n, ...), or a dict or tuple of such arrays.
        row: of the environment.
    """
    if isinstance(observations, dict):
        return {key: values[row].copy() for key, values in observations.items()}
    if isinstance(observations, tuple):
        return tuple(of_row(values, row) for values in observations)
    value = observations[row]
    return value.copy() if isinstance(value, np.ndarray) else value.item()


class VectorInfos:
    """Reads the infos of a pool's batches.

    Attributes:
        is_empty: whether the environments have no infos.
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
            ]

        self._infos = of(False)
        self._finals = of(True)
        # looked up once, not at each step
        self._named = [(i, field, field.name, f"_{field.name}") for i, field in self._infos]
        self.is_empty = not self._infos
        self.follows = any(field.follows for _, field in self._infos)

    def of_reset(self, batch: Batch, mask: Array) -> Infos:
        """Returns the infos of a reset; the rows are those of the mask's environments."""
        infos: Infos = {}
        for i, field in self._infos:
            if field.on_reset:
                values = _as_int(batch[i]) if field.is_int_on_reset else batch[i]
                put(infos, field.name, spread(values, mask), mask.copy())
        return infos

    def of_step(self, batch: Batch, is_reset: Array, dtypes: DTypes = None) -> Infos:
        """Returns the infos of a step.

        Args:
            batch: of all environments; the engine writes zeros where a row lacks an info.
            is_reset: bool (n,): rows that show the first state of an episode.
            dtypes: of the actions, if infos follow them.
        """
        infos: Infos = {}
        has_reset, has_step = bool(is_reset.any()), not is_reset.all()
        every_env = np.ones(len(is_reset), np.bool_)
        mixed = has_reset and has_step
        for i, field, name, mask_name in self._named:
            on_step, on_reset = field.on_step, field.on_reset
            if not (has_step and on_step) and not (has_reset and on_reset):
                continue
            # each info has its own mask: users may write to it
            if not mixed or on_step == on_reset:
                mask = every_env.copy()
            else:
                mask = ~is_reset if on_step else is_reset.copy()
            values = batch[i]
            if field.follows:
                values = _follow(values, field.follows, mask, dtypes)
            elif field.is_int_on_reset if is_reset[np.argmax(mask)] else field.is_int_on_step:
                # the first environment that has the info decides, as in Gymnasium
                values = _as_int(values)
            infos[name] = values
            infos[mask_name] = mask
        return infos

    def of_ends(self, batch: Batch, ended: Array, dtypes: DTypes = None) -> Infos:
        """Returns `final_info`: the infos of the steps that ended episodes."""
        infos: Infos = {}
        for i, field in self._finals:
            if field.on_step:
                values = _follow(batch[i], field.follows, ended, dtypes)
                values = _as_int(values) if field.is_int_on_step else values
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


def _as_int(values: Array) -> Array:
    """Returns floats as int64, truncated."""
    return values.astype(np.int64)
