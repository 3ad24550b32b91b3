"""ParallelGame: a game in turns whose agents act at the same time, with checks before each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from pettingzoo.utils.conversions import aec_to_parallel_wrapper  # type: ignore[import-untyped]
from pettingzoo.utils.env_logger import EnvLogger  # type: ignore[import-untyped]

from parallel_pool._apis.pettingzoo import agent_dicts
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.interrupted import check_uninterrupted

Step = tuple[
    dict[Any, Any], dict[Any, float], dict[Any, bool], dict[Any, bool], dict[Any, dict[str, Any]]
]


class ParallelGame(aec_to_parallel_wrapper[Any, Any, Any]):  # type: ignore[misc]
    """PettingZoo's own conversion of a game in turns, which must have PettingZoo's wrappers.

    The conversion alone steps agent after agent, and an exception would leave the game between two
    agents. This class checks all actions first: what they raise, they raise before any agent acts.
    """

    def step(self, actions: dict[Any, Any]) -> Step:
        """Steps all agents.

        Args:
            actions: of each of `agents`, in its action space. Continuous ones outside the space are
                clipped, with a warning. After the end of an episode nothing happens.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent.

        Raises:
            AssertionError: the game was not reset, or an action is not in its space.
            KeyError: an action is missing.
            ValueError: there is no such agent.
            TypeError: actions are no dict, or an action is neither a number nor an array.
            parallel_pool.errors.ClosedError: the game is closed.
            parallel_pool.errors.BusyError: another thread is stepping the game.
        """
        check_uninterrupted(self.aec_env.unwrapped.pool)
        if not hasattr(self, "agents"):
            EnvLogger.error_step_before_reset()
        self._check(actions)
        step: Step = super().step(actions)
        return step

    def _check(self, actions: Mapping[Any, Any]) -> None:
        agent_dicts.check_agents(actions, self.possible_agents)
        for agent in self.agents:
            self._check_action(agent, agent_dicts.action_of(actions, agent, self.agents))

    def _check_action(self, agent: Any, action: Any) -> None:
        """Raises what PettingZoo's wrappers, or the game, would raise."""
        space = self.action_space(agent)
        if not isinstance(space, Box):
            if not space.contains(action):
                raise AssertionError(
                    f"action is not in action space: {quote(action)} of {quote(agent)}: choose from"
                    f" {space}"
                )
            return
        if not isinstance(action, np.ndarray) and not space.contains(action):
            raise TypeError(
                f"the action of {quote(agent)} is {quote(action)}: give an array of shape"
                f" {space.shape}"
            )
        values = np.asarray(action)
        if values.dtype.kind not in "if":
            raise TypeError(f"the action of {quote(agent)} has dtype {values.dtype}: give floats")
        if np.isnan(values).any():
            EnvLogger.error_nan_action()
        if values.shape != space.shape:
            raise AssertionError(
                f"action should have shape {space.shape}, has shape {values.shape}: that of"
                f" {quote(agent)}"
            )
