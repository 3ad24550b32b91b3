"""Reads what the APIs return as a row for each environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.contract.episodes import Row, Rows


def plain(value: Any) -> Any:
    """Returns tuples and arrays for named tuples, tensors and other results."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return np.asarray(value) if hasattr(value, "detach") else value


def rows(
    ids: Any,
    observations: Any,
    rewards: Any = None,
    terminated: Any = None,
    truncated: Any = None,
    last: Any = None,
) -> Rows:
    """Splits arrays (count, ...).

    Args:
        ids: the environment of each row.
        observations: (count, ...).
        rewards, terminated, truncated: (count, ...); None for zeros, as of a reset.
        last: last observations, None in rows without one; None for none at all.
    """
    zeros = np.zeros(len(ids))
    rewards = zeros if rewards is None else rewards
    terminated = zeros.astype(bool) if terminated is None else terminated
    truncated = zeros.astype(bool) if truncated is None else truncated
    finals = [None] * len(ids) if last is None else last
    return {
        int(env_id): Row(observations[i], rewards[i], terminated[i], truncated[i], finals[i])
        for i, env_id in enumerate(ids)
    }


def chosen(values: Any, mask: Any) -> list[Any]:
    """Returns the values at which a mask is True, and None elsewhere."""
    return [value if is_in else None for value, is_in in zip(values, mask, strict=True)]


def by_env(array: Any, agents: int) -> Any:
    """Gives an array of rows of agents an axis of agents, if there are several."""
    array = np.asarray(array)
    return array if agents == 1 else array.reshape(-1, agents, *array.shape[1:])


def by_agent(values: Mapping[Any, Any], agents: Sequence[Any]) -> Any:
    """Stacks the arrays (n, ...) of agents: (n, agents, ...)."""
    return np.stack([values[agent] for agent in agents], axis=1)


def agent_finals(finals: Any, agents: int) -> list[Any]:
    """Returns, by environment, the last observations of its agents, or None."""
    if agents == 1:
        return list(finals)
    groups = [list(finals[i : i + agents]) for i in range(0, len(finals), agents)]
    for group in groups:
        assert len({each is None for each in group}) == 1, "agents end together in these tests"
    return [None if group[0] is None else np.stack(group) for group in groups]
