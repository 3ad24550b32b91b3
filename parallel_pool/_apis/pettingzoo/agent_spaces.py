"""AgentSpaces: the methods by which a PettingZoo environment shows its agents' spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymnasium.spaces import Space


class AgentSpaces:
    """Has the spaces of agents in two dicts.

    Attributes:
        observation_spaces: by agent.
        action_spaces: by agent.
    """

    observation_spaces: dict[Any, Space[Any]]
    action_spaces: dict[Any, Space[Any]]

    def observation_space(self, agent: Any) -> Space[Any]:
        """Returns an agent's observation space, the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: Any) -> Space[Any]:
        """Returns an agent's action space, the same object at each call."""
        return self.action_spaces[agent]
