"""Converts actions in EnvPool's forms to one row per environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

KEYS = ("action", "env_id", "players.env_id", "players.id")


def is_mapping(action: Any) -> bool:
    """Returns whether actions come as a dict; most are arrays, for which this is quick."""
    return not isinstance(action, np.ndarray) and isinstance(action, Mapping)


def unpack(action: Any, env_id: Any) -> tuple[Any, Any, Any, Any]:
    """Unpacks a dict action; returns the values of `KEYS`, each None if not given.

    Raises:
        TypeError: the dict has no "action" or an unknown key, or env_id is given twice.
    """
    if not is_mapping(action):
        return action, env_id, None, None
    flat = dict(action)
    if isinstance(flat.get("players"), Mapping):
        flat.update({f"players.{name}": value for name, value in flat.pop("players").items()})
    unknown = [repr(key) for key in flat if key not in KEYS]
    if unknown or "action" not in flat:
        raise TypeError(
            f"a dict action has {', '.join(KEYS)}:"
            f" {'unknown ' + ', '.join(unknown) if unknown else 'action is missing'}"
        )
    if env_id is not None and flat.get("env_id") is not None:
        raise TypeError("env_id is given twice: give it in the dict or as an argument")
    ids = flat.get("env_id") if env_id is None else env_id
    return flat["action"], ids, flat.get("players.env_id"), flat.get("players.id")


def by_environment(
    action: Any, env_ids: Any, owners: Any, players: Any, num_envs: int, num_players: int
) -> tuple[Any, Any]:
    """Groups the actions of players by environment.

    Args:
        action: one row per player, shape (count * num_players, ...), or already (count,
            num_players, ...).
        env_ids: the environments; None for all, or with `owners` for those that it names.
        owners: the environment of each row's player; None: rows are the players of the first
            environment, then those of the second, ...
        players: with `owners`, the number of each row's player in its environment; None: in the
            rows of an environment, its players are in order.

    Returns:
        actions of shape (count, num_players, ...), and the environments.

    Raises:
        TypeError: owners or players are not integers.
        ValueError: an environment has too few or too many actions.
    """
    rows = np.asarray(action)
    if owners is None:
        if players is not None:
            raise TypeError("players.id is given without players.env_id: give both")
        count = num_envs if env_ids is None else np.size(env_ids)
        if rows.ndim and len(rows) == count * num_players:
            rows = rows.reshape(count, num_players, *rows.shape[1:])
        return rows, env_ids

    owners = np.asarray(owners)
    if owners.dtype.kind not in "iu":
        raise TypeError(f"players.env_id has dtype {owners.dtype}: give integers")
    if owners.ndim != 1 or rows.ndim < 1 or len(rows) != len(owners):
        raise ValueError(
            f"players.env_id has shape {owners.shape}, action {rows.shape}: give one owner per row"
        )
    ids, counts = np.unique(owners, return_counts=True)
    if env_ids is None:
        env_ids = ids
    if sorted(np.ravel(env_ids).tolist()) != ids.tolist():
        raise ValueError(
            f"players.env_id names environments {ids.tolist()}, env_id"
            f" {np.ravel(env_ids).tolist()}: name the same"
        )
    if np.any(counts != num_players):
        wrong = int(np.argmax(counts != num_players))
        raise ValueError(
            f"environment {ids[wrong]} has {counts[wrong]} actions: give one for each of its"
            f" {num_players} players"
        )
    if players is not None:
        order = _of_players(owners, np.asarray(players), num_players)
    else:
        # stable, so that the players of an environment keep their order
        order = np.argsort(owners, kind="stable")
    order = order.reshape(len(ids), num_players)
    return rows[order[np.searchsorted(ids, np.ravel(env_ids))]], env_ids


def _of_players(owners: Any, players: Any, num_players: int) -> Any:
    """Returns the order of rows by environment and player; each player must have one row."""
    if players.dtype.kind not in "iu":
        raise TypeError(f"players.id has dtype {players.dtype}: give integers")
    if players.shape != owners.shape:
        raise ValueError(
            f"players.id has shape {players.shape}, players.env_id {owners.shape}: give one value"
            " for each row"
        )
    order = np.lexsort((players, owners))
    wrong = players[order] != np.arange(len(order)) % num_players
    if wrong.any():
        row = order[np.argmax(wrong)]
        raise ValueError(
            f"players.id has {players[row]} in row {row}, of environment {owners[row]}: give each"
            f" of its players 0 to {num_players - 1} one action"
        )
    return order
