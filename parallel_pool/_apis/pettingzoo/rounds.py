"""RoundEnv: one native game, whose players act at once, as a PettingZoo AEC environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from parallel_pool._apis.pettingzoo.aec_game import AECGame
from parallel_pool._engine.arguments import quote, whole
from parallel_pool._engine.interrupted import check_uninterrupted


class RoundEnv(AECGame):
    """One game in rounds: the agents choose one after another, and the last choice decides."""

    is_parallelizable = True

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game; see `AECGame.reset`."""
        super().reset(seed=seed, options=options)
        self._chosen = self._nothing()

    def _nothing(self) -> dict[Any, int]:
        """Returns the hands before anybody has chosen."""
        return dict.fromkeys(self.possible_agents, self.pool.spec.action.n)

    def observe(self, agent: Any) -> Any:
        """Returns the other agent's hand of the last round, int64 ()."""
        return np.array(self._batch.obs[0, self._player(agent)])

    def step(self, action: Any) -> None:
        """Chooses for the selected agent; None for an agent whose game is over.

        Raises:
            TypeError, ValueError: the action is wrong.
        """
        if self._is_dead():
            self._was_dead_step(action)
            return
        at = self._player(self.agent_selection)
        chosen = dict(self._chosen) if at else self._nothing()
        chosen[self.agent_selection] = self._checked(action)
        is_last = at == len(self.possible_agents) - 1
        if is_last:
            self._move(chosen)
        self._chosen = chosen
        if at == 0:
            self._clear_rewards()
        self._select(self.possible_agents[0 if is_last else at + 1])
        self._show()

    def _take_restored(self) -> None:
        super()._take_restored()
        # a snapshot is of a state between two rounds
        self._chosen = self._nothing()

    def _checked(self, action: Any) -> int:
        """Returns an action that the pool will accept once all agents have chosen."""
        check_uninterrupted(self.pool)
        hand = whole("action", action)
        if not 0 <= hand < self.pool.spec.action.n:
            raise ValueError(f"action={quote(action)}: choose 0 to {self.pool.spec.action.n - 1}")
        return hand

    def _paint(self) -> Any:
        return self._renderer.draw(0, hands=list(self._chosen.values()), agents=self.agents)
