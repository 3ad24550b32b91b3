"""Checks of what a PettingZoo parallel environment returned; worker processes import this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parallel_pool._engine.actions import described

STEP = ("observations", "rewards", "terminations", "truncations", "infos")
RESET = ("observations", "infos")
# types of rewards that need no closer look
NUMBERS = {float, int, bool, np.float64, np.float32, np.int64}


class ResultCheck:
    """Checks the results of one environment's `reset` and `step`.

    A missing reward counts as 0, and a missing flag as False.
    """

    def __init__(self, possible_agents: Sequence[Any]) -> None:
        """
        Args:
            possible_agents: of the environment.

        Raises:
            ValueError: an agent is listed twice.
        """
        self._agents = possible_agents
        self._known = frozenset(possible_agents)
        if len(self._known) < len(possible_agents):
            raise ValueError(
                f"possible_agents={list(possible_agents)} lists {_twice(possible_agents)!r} twice:"
                " list each agent once"
            )

    def parts(self, method: str, result: Any, names: Sequence[str]) -> Sequence[Any]:
        """Returns the parts of a result, each of which is a dict by agent.

        Raises:
            TypeError, ValueError: it has another form, or names an agent that there is not.
        """
        wanted = f"return {len(names)} dicts by agent, ({', '.join(names)})"
        if not isinstance(result, tuple | list):
            raise TypeError(f"{method} returned {described(result)}: {wanted}")
        if len(result) != len(names):
            raise ValueError(f"{method} returned {len(result)} values: {wanted}")
        for name, part in zip(names, result, strict=True):
            if not isinstance(part, Mapping):
                raise TypeError(f"{method} returned {described(part)} as {name}: {wanted}")
            # infos may have keys of their own
            if name != "infos" and not self._known.issuperset(part):
                unknown = next(agent for agent in part if agent not in self._known)
                raise ValueError(
                    f"{method} returned {name} with {unknown!r}, which is none of possible_agents="
                    f"{self._agents}: name agents as they are named there"
                )
        self._check_infos(method, result[-1])
        return result

    def _check_infos(self, method: str, infos: Mapping[Any, Any]) -> None:
        for agent in self._agents:
            if agent in infos and not isinstance(infos[agent], Mapping):
                raise TypeError(
                    f"{method} returned {described(infos[agent])} as the infos of agent {agent!r}:"
                    " return a dict of infos for each agent"
                )

    def agents(self, method: str, agents: Any) -> list[Any]:
        """Returns the environment's `agents` after a call of this method.

        Raises:
            TypeError, ValueError: they are no list, have one twice, or one that there is not.
        """
        if isinstance(agents, str) or not hasattr(type(agents), "__iter__"):
            raise TypeError(
                f"after {method} the environment's agents are {described(agents)}: keep a list of"
                " the agents that act next"
            )
        live = list(agents)
        for agent in live:
            if agent not in self._agents:
                raise ValueError(
                    f"agent {agent!r} is none of possible_agents={self._agents}: its environment"
                    f" must list every agent that it can have; after {method} agents={live}"
                )
        if len(set(live)) < len(live):
            raise ValueError(
                f"after {method} the environment's agents={live} list {_twice(live)!r} twice: list"
                " each agent that acts next once"
            )
        return live

    def observed(self, method: str, agents: Sequence[Any], seen: Mapping[Any, Any]) -> None:
        """Raises ValueError if live agents have no observation."""
        for agent in agents:
            if agent not in seen:
                raise ValueError(
                    f"{method} returned no observation for agent {agent!r}, which is live:"
                    f" return one for each of {list(agents)}; it returned some for {list(seen)}"
                )

    def rewards(self, rewards: Mapping[Any, Any]) -> list[Any]:
        """Returns the rewards of all agents; raises TypeError if one is no number."""
        found = [rewards.get(agent, 0) for agent in self._agents]
        if not NUMBERS.issuperset(map(type, found)):
            for agent, reward in zip(self._agents, found, strict=True):
                if not _is_number(reward):
                    raise TypeError(
                        f"step returned {described(reward)} as the reward of agent {agent!r}: give"
                        " one number"
                    )
        return found

    def flags(self, name: str, flags: Mapping[Any, Any]) -> list[bool]:
        """Returns the flags of all agents; raises TypeError if one is no truth value."""
        found = []
        for agent in self._agents:
            flag = flags.get(agent, False)
            if not isinstance(flag, bool | np.bool_ | int | np.number) and np.shape(flag) != ():
                flag = None
            if flag is None or isinstance(flag, str | bytes):
                raise TypeError(
                    f"step returned {described(flags[agent])} as one of {name}, of agent"
                    f" {agent!r}: give a bool"
                )
            found.append(bool(flag))
        return found


def _is_number(value: Any) -> bool:
    if isinstance(value, str | bytes | complex | np.character | np.complexfloating):
        return False
    if np.ndim(value):
        return False
    try:
        float(value)
    except Exception:
        return False
    return True


def _twice(agents: Sequence[Any]) -> Any:
    """Returns the first agent that occurs again."""
    return next(agent for i, agent in enumerate(agents) if agent in agents[:i])
