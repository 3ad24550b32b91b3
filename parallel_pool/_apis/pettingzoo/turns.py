"""TurnEnv: one native game, in which the players take turns, as a PettingZoo AEC environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pettingzoo.utils import wrappers  # type: ignore[import-untyped]
from pettingzoo.utils.env_logger import EnvLogger  # type: ignore[import-untyped]

from parallel_pool._apis.pettingzoo.aec_game import AECGame
from parallel_pool._apis.pettingzoo.parallel_game import ParallelGame
from parallel_pool._apis.pettingzoo.rounds import RoundEnv
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.interrupted import check_uninterrupted

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

# of the family, the games whose players act at the same time
ROUNDS = ("classic/rps_v2",)
MASK = "action_mask"


def env(task_id: str, **options: Any) -> Any:
    """Makes one native game as PettingZoo's `env()` of the same game does.

    Agents, spaces, observations, masks, rewards, ends, infos and pictures equal PettingZoo's at
    every step, an agent's last steps with the action None included. An illegal move ends the game.

    Args:
        task_id: such as "classic/connect_four_v3".
        options: the game's constructor options, and render_mode: "human", "rgb_array" or None.

    Returns:
        A `pettingzoo.AECEnv`: a `TurnEnv`, or a `RoundEnv` for rock, paper, scissors, in
        PettingZoo's wrappers that check actions and the order of calls.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: there is no such id, or an option is out of range.
    """
    kind = RoundEnv if task_id in ROUNDS else TurnEnv
    checked = wrappers.AssertOutOfBoundsWrapper(kind(task_id, **options))
    return wrappers.OrderEnforcingWrapper(checked)


def parallel_env(task_id: str, **options: Any) -> ParallelGame:
    """Makes one native game whose players act at the same time; see `env`.

    Raises:
        ValueError: they act in turn.
    """
    if task_id not in ROUNDS:
        raise ValueError(
            f"the agents of {task_id} act in turn: call env({quote(task_id)}) for one game, or"
            f" PoolParallelEnv({quote(task_id)}, num_envs), whose `live` says who moves"
        )
    return ParallelGame(env(task_id, **options))


class TurnEnv(AECGame):
    """One native game in turns, whose observations contain "action_mask"."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game; see `AECGame.reset`."""
        super().reset(seed=seed, options=options)
        self._take_mask()

    def _take_mask(self) -> None:
        """Keeps the mask of the one player who has a mask."""
        mask = getattr(self._batch, MASK)[0]
        self._legal: Array = np.bitwise_or.reduce(mask, axis=0)
        self._none: Array = np.zeros_like(self._legal)

    def observe(self, agent: Any) -> dict[str, Any]:
        """Returns what an agent sees; the mask is 0 unless it is selected."""
        player = self._player(agent)
        seen = {key: getattr(self._batch, key)[0, player].copy() for key in self._keys}
        # after the end each agent has the mask when it is selected, to leave
        seen[MASK] = (self._legal if agent == self.agent_selection else self._none).copy()
        return seen

    def step(self, action: Any) -> None:
        """Makes the selected agent's move; None for an agent whose game is over.

        Raises:
            TypeError, ValueError: the action is wrong; nothing was changed.
        """
        if self._is_dead():
            self._was_dead_step(action)
            return
        if isinstance(action, bool | np.bool_):
            # NumPy indexes by a bool in another way, so PettingZoo's games fail
            raise TypeError(f"action={quote(action)} is a bool: give an integer")
        check_uninterrupted(self.pool)
        mover, legal = self.agent_selection, self._legal
        batch = self._move({mover: action})
        self._take_mask()
        if not legal[action]:
            EnvLogger.warn_on_illegal_move()
            self._select(mover)
            # the first agent leaves first, whoever made the move
            self._deads_step_first()
            return
        live = batch.live[0].tolist()
        following = live.index(True) if True in live else self._player(mover) + 1
        self._select(self.possible_agents[following % len(live)])
        self._show()

    def _take_restored(self) -> None:
        super()._take_restored()
        self._take_mask()
        live = self._batch.live[0].tolist()
        if True in live and not self._is_dead():
            self.agent_selection = self.possible_agents[live.index(True)]
