"""Infos in the form of Gymnasium's vector environments: for each key an array and a mask.

For a key an array (n, ...), or infos of the same form, and for "_key" a bool mask (n,) of the
environments that have it. What Gymnasium's rules say about that form is here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.masks import has_any, rows_in

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

    # the rows of a part, and its infos
    Part = tuple[Any, slice]

Infos = dict[Any, Any]

# about the episodes that ended in a step, with SAME_STEP
FINAL_KEYS = ("final_obs", "_final_obs", "final_info", "_final_info")

# ------------------------------------------------------------------------------ one result --


def put(infos: Infos, name: str, values: Array, mask: Array) -> None:
    """Adds an info that the environments of the mask have; adds nothing if the mask is empty."""
    if has_any(mask):
        infos[name], infos[f"_{name}"] = values, mask


def spread(rows: Array, mask: Array) -> Array:
    """Returns an array (n, ...) with these rows at the mask's environments.

    Elsewhere it holds zeros, or None for objects.
    """
    values = _blank((len(mask), *rows.shape[1:]), rows.dtype)
    values[mask] = rows
    return values


def _blank(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Returns an array that holds no info."""
    return np.full(shape, None, dtype) if dtype.kind == "O" else np.zeros(shape, dtype)


def nested(infos: Infos) -> Infos:
    """Returns infos whose names are paths of keys, with dots between them, as dicts in dicts."""
    found: Infos = {}
    for name in _keys(infos):
        *path, last = name.split(".")
        values, mask, branch = infos[name], infos[f"_{name}"], found
        for key in path:
            inner = branch.setdefault(key, {})
            own = branch.get(f"_{key}")
            branch[f"_{key}"] = mask.copy() if own is None else own | mask
            branch = inner
        branch[last], branch[f"_{last}"] = values, mask
    return found


def of_last_steps(observations: Any, ended: Array, final_info: Infos) -> Infos:
    """Returns the infos that SAME_STEP adds for episodes that have ended.

    Args:
        observations: the last ones, an array (n, ...), or a dict or tuple of such arrays.
        ended: bool (n,).
        final_info: the infos of the steps that ended episodes.
    """
    # of None
    finals: Array = np.empty(len(ended), object)
    is_scalar = isinstance(observations, np.ndarray) and observations.ndim == 1
    if is_scalar and observations.dtype != object:
        # Python's numbers, as of_row returns
        finals[ended] = observations[ended]
    else:
        for row in rows_in(ended):
            finals[row] = of_row(observations, row)
    return finals_of(finals, ended, final_info)


def finals_of(observations: Any, ended: Any, final_info: Infos) -> Infos:
    """Returns the infos that SAME_STEP adds for episodes that have ended.

    Args:
        observations: the last ones, an object array (n,); or in another form.
        ended: bool (n,).
        final_info: the infos of the steps that ended episodes.
    """
    return {
        "final_obs": observations,
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
    names = list(infos)
    if len(names) == 2:
        return infos
    firsts = [int(infos[name].argmax()) for name in names[1::2]]
    order = sorted(range(len(firsts)), key=firsts.__getitem__)
    if order == list(range(len(firsts))):
        return infos
    return {name: infos[name] for i in order for name in names[2 * i : 2 * i + 2]}


def of_row(observations: Any, row: int) -> Any:
    """Returns the observation of one environment, a copy.

    Gymnasium's toy text returns Python's ints for a Discrete space and for a tuple of such.

    Args:
        observations: an array (n, ...), or a tuple of n texts; or a dict or tuple of such, at any
            depth.
        row: of the environment.
    """
    if isinstance(observations, dict):
        return {key: _of_key(values, row) for key, values in observations.items()}
    if isinstance(observations, tuple):
        first = observations[row] if row < len(observations) else None
        if isinstance(first, str):
            return first
        return tuple(of_row(values, row) for values in observations)
    value = observations[row]
    return value.copy() if isinstance(value, np.ndarray) else value.item()


def _of_key(values: Any, row: int) -> Any:
    """Returns one environment's entry of a dict, which is no view of the batch."""
    if isinstance(values, dict):
        return of_row(values, row)
    value = values[row]
    return value if isinstance(value, str) else value.copy()


# ------------------------------------------------------------------------- parts of a batch --


def joined(parts: Sequence[Part], count: int) -> dict[str, Any]:
    """Returns the infos of parts of a batch as those of the whole.

    An info that a part lacks is zeros in its rows, None for objects. The first part that has an
    info determines its dtype, as the first environment does in a vector environment.

    Args:
        parts: the infos of each part, and its rows.
        count: rows of the whole.
    """
    keys = dict.fromkeys(key for infos, _ in parts for key in infos)
    return {
        key: _joined([(infos[key], own) for infos, own in parts if key in infos], count)
        for key in keys
    }


def _joined(parts: Sequence[Part], count: int) -> Any:
    first, rows = parts[0]
    if isinstance(first, Mapping):
        return joined(parts, count)
    if not isinstance(first, np.ndarray) or first.shape[:1] != (rows.stop - rows.start,):
        # not a value for each row: the first part's holds for all
        return first
    whole = _blank((count, *first.shape[1:]), first.dtype)
    for values, own in parts:
        whole[own] = values
    return whole


# --------------------------------------------------------------------------- rows of agents --


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
            for env in rows_in(mask):
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
        if has_any(staying):
            kept[key], kept[f"_{key}"] = _without(value, rows), staying
        if has_any(going):
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


def _mixed(value: Any, rows: Array, other: Any, others: Array) -> Array:
    """Returns one info of the rows of two whose forms differ, as those of some agents do."""
    mixed: Array = np.full(len(rows), None, object)
    for row in rows_in(rows | others):
        mixed[row] = _row(value if rows[row] else other, row)
    return mixed


def _merged(value: Any, rows: Array, other: Any, others: Array) -> Any:
    """Returns one info of the rows of two, `rows` and `others`; `other` may be None."""
    if isinstance(value, dict):
        if isinstance(other, (dict, NoneType)):
            return moved(value, other or {}, rows)[1]
        return _mixed(value, rows, other, others)
    if other is None:
        other = np.full_like(value, _nothing(value.dtype))
    if isinstance(other, dict) or other.shape != value.shape:
        return _mixed(value, rows, other, others)
    found: Array = other.astype(np.result_type(other.dtype, value.dtype))
    found[rows] = value[rows]
    return found


def _nothing(dtype: np.dtype[Any]) -> Any:
    """Returns what an array holds where there is no info."""
    return None if dtype.kind == "O" else np.zeros((), dtype)[()]


def rows_of(
    infos: Mapping[Any, Any], count: int, without: Collection[Any] = (), *, as_is: bool = False
) -> list[dict[Any, Any]]:
    """Returns a dict of infos for each row, without some keys, at any depth; integers and bools are
    Python's, and arrays copies, unless values are returned as they are."""
    found: list[dict[Any, Any]] = [{} for _ in range(count)]
    for key in _keys(infos):
        value, mask = infos[key], infos[f"_{key}"]
        if key in without or not isinstance(mask, np.ndarray):
            # what is no mask may come from environments that are not ours
            continue
        each = rows_of(value, count, without, as_is=as_is) if isinstance(value, Mapping) else value
        reads = not as_is and each is value
        for row in rows_in(mask):
            found[row][key] = _scalar(each[row]) if reads else each[row]
    return found


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
