"""AECGame: what native games have in common as PettingZoo's AEC environments, one game each."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv  # type: ignore[import-untyped]

from parallel_pool._apis.common import renderer
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.pettingzoo.agent_spaces import AgentSpaces
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.interrupted import begin_again
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.present_states import present_batch, restores_of

if TYPE_CHECKING:
    from parallel_pool._engine.named_batch import NamedBatch


class AECGame(TraceMethod, AgentSpaces, AECEnv, EzPickle):  # type: ignore[misc]
    """One native game; a derived class says in which order its agents act.

    Attributes:
        pool: of the one game. After its `set_state` the game goes on from the snapshot: the agent
            whose turn it is there is selected, and rewards are 0 until the next step. If the game
            is over there, all agents are terminated.
        metadata: name, render_modes, render_fps and is_parallelizable, as the reference has them.
        render_mode: "human", "rgb_array" or None.
        possible_agents: all agents, in the order of their turns.
        agents: those that have not left.
        agent_selection: the one whose turn it is.
        rewards, terminations, truncations, infos: by agent, of the last step.
        observation_spaces, action_spaces: by agent.
    """

    is_parallelizable = False

    def __init__(self, task_id: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Makes the game; see `parallel_pool.compat.pettingzoo.env`."""
        EzPickle.__init__(self, task_id, render_mode=render_mode, **options)
        super().__init__()
        self.pool = Pool(
            task_id, num_threads=1, autoreset="disabled", reward_dtype="float64", options=options
        )
        restores_of(self.pool).report_to(self._take_restored)
        definition, spec = self.pool.definition, self.pool.spec
        modes = renderer.modes(definition, None)
        renderer.check_mode(render_mode, modes)
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": modes,
            "name": task_id.rpartition("/")[2],
            "is_parallelizable": self.is_parallelizable,
            "render_fps": renderer.render_fps(self.pool),
        }
        self._renderer: Any = None
        self.possible_agents = list(spec.player_names)
        self.agents = self.possible_agents[:]
        self._keys = [field.name for field in spec.observations]
        players = range(spec.num_players)
        seen = {field.name: [field.of_player(i).space() for i in players] for field in spec.fields}
        self.observation_spaces, self.action_spaces = {}, {}
        for i, agent in enumerate(self.possible_agents):
            own = {key: seen[key][i] for key in self._keys}
            self.observation_spaces[agent] = own["obs"] if "obs" in own else spaces.Dict(own)
            self.action_spaces[agent] = spec.action.of_player(i).space()

    # ----------------------------------------------------------------------------- PettingZoo's --

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game.

        Args:
            seed: of the game's generator; None continues it.
            options: the game's reset options; ignored if it has none, as PettingZoo's games do.
        """
        known = options if self.pool.definition.reset_options else None
        self._begin(begin_again(self.pool, seed=seeds.of_one(seed), options=known))

    def _begin(self, batch: NamedBatch, *, is_over: bool = False) -> None:
        """Takes over a state before anybody has a reward; if it is over, all agents leave."""
        self._batch = batch
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, is_over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[Any, dict[str, Any]] = {agent: {} for agent in self.agents}

    def _take_restored(self) -> None:
        """Takes over the state that the pool's `set_state` has put in place of the game's."""
        self._begin(present_batch(self.pool), is_over=self.pool.needs_reset(0))

    def render(self) -> Any:
        """Draws the game.

        Returns:
            render_mode "rgb_array": pixels, uint8 (height, width, 3); otherwise None.

        Raises:
            parallel_pool.errors.MissingDependencyError: pygame is not installed.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                f"render() draws nothing, as render_mode is None: make {self} with"
                " render_mode='rgb_array' or 'human'"
            )
            return None
        if self._renderer is None:
            self._renderer = renderer.make_env_renderer(self.pool, None, self.render_mode)
        return self._paint()

    def close(self, timeout: float | None = None) -> None:
        """Ends the game and closes its window.

        Args:
            timeout: seconds to wait for that; None for 5. See `Pool.close`.
        """
        if self._renderer is not None:
            self._renderer.close()
        self.pool.close(timeout=timeout)

    # --------------------------------------------------------------------------------- private --

    def _paint(self) -> Any:
        return self._renderer.draw(0)

    def _show(self) -> None:
        """Draws what a window shows after each move."""
        if self.render_mode == "human":
            self.render()

    def _is_dead(self) -> bool:
        """Returns whether the selected agent only has to leave."""
        agent = self.agent_selection
        return bool(self.terminations[agent] or self.truncations[agent])

    def _player(self, agent: Any) -> int:
        if agent not in self.possible_agents:
            raise ValueError(
                f"there is no agent {quote(agent)}: choose one of {self.possible_agents}"
            )
        return self.possible_agents.index(agent)

    def _move(self, actions: Mapping[Any, Any]) -> NamedBatch:
        """Steps the game with the actions of some agents and takes over rewards and ends."""
        row = np.zeros((1, len(self.possible_agents)), np.int64)
        for agent, action in actions.items():
            try:
                row[0, self._player(agent)] = operator.index(action)
            except TypeError:
                raise TypeError(f"action={quote(action)}: give an integer") from None
            except OverflowError:
                space = self.action_spaces[agent]
                raise ValueError(f"action={quote(action)}: choose from {space}") from None
        self._batch = batch = self.pool.step(row)
        self.rewards = dict(zip(self.agents, batch.reward[0].tolist(), strict=True))
        self.terminations = dict.fromkeys(self.agents, bool(batch.terminated[0]))
        self.truncations = dict.fromkeys(self.agents, bool(batch.truncated[0]))
        return batch

    def _select(self, agent: Any) -> None:
        """Adds the rewards of a step to those since each agent's last turn; selects the next."""
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.agent_selection = agent
        self._accumulate_rewards()
