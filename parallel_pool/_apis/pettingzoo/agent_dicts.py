"""Agent dicts: what a game's step() is given, an action for each agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from parallel_pool._engine.arguments import a_type, quote


def check_agents(actions: Any, known: Collection[Any]) -> None:
    """Raises TypeError or ValueError unless actions are a dict of agents that there are."""
    if not isinstance(actions, Mapping):
        raise TypeError(f"actions are {a_type(actions)}: give a dict with the action of each agent")
    for agent in actions:
        if agent not in known:
            raise ValueError(f"there is no agent {quote(agent)}: choose of {list(known)}")


def action_of(actions: Any, agent: Any, acting: Sequence[Any]) -> Any:
    """Returns the action of an agent that acts; raises KeyError without one."""
    if agent not in actions:
        raise KeyError(f"no action for agent {quote(agent)}: give one for each of {acting}")
    return actions[agent]
