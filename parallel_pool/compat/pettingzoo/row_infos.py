"""Infos of rows, one row for each agent of each environment, in Gymnasium's vector form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool.buffers import Array

    # for each key an array (rows, ...) or a dict of such, and under "_key" a mask (rows,)
    Infos = dict[Any, Any]


def of_envs(infos: Mapping[Any, Any], agents: int) -> Infos:
    """Returns infos of environments as infos of their rows: each has them all.

    Args:
        infos: in Gymnasium's vector form, arrays (n, ...).
        agents: rows of each environment.
    """
    return {
        key: of_envs(value, agents) if isinstance(value, dict) else np.repeat(value, agents, axis=0)
        for key, value in infos.items()
    }


def of_agents(parts: Sequence[Mapping[Any, Any]], num_envs: int) -> Infos:
    """Returns the infos of k agents as infos of rows.

    Args:
        parts: the infos of each agent in Gymnasium's vector form, arrays (n, ...).
        num_envs: environments, n.
    """
    found: Infos = {}
    for key in dict.fromkeys(key for part in parts for key in _keys(part)):
        values = [part.get(key) for part in parts]
        mask: Array = np.zeros((num_envs, len(parts)), np.bool_)
        for i, part in enumerate(parts):
            if key in part:
                mask[:, i] = part[f"_{key}"]
        if all(value is None or isinstance(value, dict) for value in values):
            found[key] = of_agents([value or {} for value in values], num_envs)
        else:
            found[key] = _column(values, mask.T)
        found[f"_{key}"] = mask.reshape(-1)
    return found


def _column(values: Sequence[Any], masks: Array) -> Array:
    """Returns one array (n * k, ...) of those of k agents, which are None for agents without.

    Args:
        values: arrays (n, ...), or infos in Gymnasium's vector form.
        masks: bool (k, n): the environments that each agent has a value of.
    """
    num_envs = masks.shape[1]
    given = [value for value in values if value is not None]
    if any(isinstance(value, dict) for value in given) or len({v.shape[1:] for v in given}) > 1:
        # agents whose infos have different forms
        mixed: Array = np.full((num_envs, len(values)), None, object)
        for i, (value, mask) in enumerate(zip(values, masks, strict=True)):
            for env in np.flatnonzero(mask).tolist():
                mixed[env, i] = _row(value, env)
        return mixed.reshape(-1)
    shape, dtype = given[0].shape[1:], np.result_type(*(value.dtype for value in given))
    table: Array = np.full((num_envs, len(values), *shape), _nothing(dtype), dtype)
    for i, value in enumerate(values):
        if value is not None:
            table[:, i] = value
    return table.reshape(num_envs * len(values), *shape)


def moved(infos: Infos, final: Infos, rows: Array) -> tuple[Infos, Infos]:
    """Moves the infos of some rows from one set of infos to another, in which they have none.

    Args:
        infos, final: the sets.
        rows: bool (rows,).
    """
    kept: Infos = {}
    target: Infos = dict(final)
    for key in _keys(infos):
        value, mask = infos[key], infos[f"_{key}"]
        going, staying = mask & rows, mask & ~rows
        if staying.any():
            kept[key], kept[f"_{key}"] = _without(value, rows), staying
        if going.any():
            had: Array = target.get(f"_{key}", np.zeros_like(going))
            target[key] = _merged(value, going, target.get(key), had)
            target[f"_{key}"] = going | had
    return kept, target


def _without(value: Any, rows: Array) -> Any:
    """Returns an info without that of some rows."""
    if isinstance(value, dict):
        return moved(value, {}, rows)[0]
    rest = value.copy()
    rest[rows] = _nothing(value.dtype)
    return rest


def _merged(value: Any, rows: Array, other: Any, others: Array) -> Any:
    """Returns one info of the rows of two, `rows` and `others`; `other` may be None."""
    if isinstance(value, dict) and isinstance(other, (dict, NoneType)):
        return moved(value, other or {}, rows)[1]
    if other is None:
        other = np.full_like(value, _nothing(value.dtype))
    if isinstance(value, dict) or isinstance(other, dict) or other.shape != value.shape:
        # agents whose infos have different forms
        mixed: Array = np.full(len(rows), None, object)
        for row in np.flatnonzero(rows | others).tolist():
            mixed[row] = _row(value if rows[row] else other, row)
        return mixed
    found: Array = other.astype(np.result_type(other.dtype, value.dtype))
    found[rows] = value[rows]
    return found


def _nothing(dtype: np.dtype[Any]) -> Any:
    """Returns what an array holds where there is no info."""
    return None if dtype.kind == "O" else np.zeros((), dtype)[()]


def rows_of(infos: Mapping[Any, Any], count: int) -> list[dict[Any, Any]]:
    """Returns a dict of infos for each row; integers and bools are Python's."""
    found: list[dict[Any, Any]] = [{} for _ in range(count)]
    for key in _keys(infos):
        value = infos[key]
        each = rows_of(value, count) if isinstance(value, dict) else None
        for row in np.flatnonzero(infos[f"_{key}"]).tolist():
            found[row][key] = _scalar(value[row]) if each is None else each[row]
    return found


def row(tree: Any, at: int) -> Any:
    """Returns a copy of one row of a tree of arrays (rows, ...)."""
    return map_leaves(lambda array: array[at].copy(), tree)


def clear(tree: Any, rows: Array) -> None:
    """Writes zeros to some rows of a tree of arrays; `rows` is a mask."""

    def clear_leaf(array: Array) -> None:
        array[rows] = 0

    map_leaves(clear_leaf, tree)


def _scalar(value: Any) -> Any:
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    return value.copy() if isinstance(value, np.ndarray) else value


def _row(value: Any, row: int) -> Any:
    """Returns a row's part of an array, or of a dict of infos."""
    if isinstance(value, dict):
        return {key: _row(value[key], row) for key in _keys(value) if value[f"_{key}"][row]}
    return _scalar(value[row])


def _keys(infos: Mapping[Any, Any]) -> list[Any]:
    """Returns the keys of infos, without those of masks."""
    return [key for key in infos if f"_{key}" in infos]
