"""PythonGame: one native game, translated from a class in Python, as a PettingZoo environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import parallel_to_aec  # type: ignore[import-untyped]

from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.pettingzoo import agent_dicts
from parallel_pool._apis.pettingzoo.agent_spaces import AgentSpaces
from parallel_pool._apis.pettingzoo.players import GIVEN, LIVE, MARKS
from parallel_pool._engine import registry, seeds
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.interrupted import begin_again, check_uninterrupted
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.present_states import present_batch, restores_of
from parallel_pool._native import lib
from parallel_pool._translator import options as translated
from parallel_pool._translator import renderer

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._apis.pettingzoo.parallel_game import Step
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.specs import Field


def env(task_id: str, **options: Any) -> AECEnv[Any, Any, Any]:
    """Returns a game in turns, in PettingZoo's own conversion and wrappers."""
    return parallel_to_aec(parallel_env(task_id, **options))


def parallel_env(task_id: str, **options: Any) -> PythonGame:
    """Returns a game whose agents act at the same time.

    Raises:
        ValueError: the environment has one agent, and Gymnasium's API.
    """
    if not registry.find(task_id).raw.player_names:
        raise ValueError(
            f"{task_id} is no game of PettingZoo's: its class is one of Gymnasium's, so call"
            f" gymnasium.make({quote(task_id)})"
        )
    return PythonGame(task_id, **options)


class PythonGame(TraceMethod, AgentSpaces, ParallelEnv[Any, Any, Any], EzPickle):  # type: ignore[misc]
    """One native game, equal to its class in Python.

    Copies and pickles are new games with the same options.

    Attributes:
        pool: of the one game.
        metadata: of the class.
        possible_agents: all agents.
        agents: those that act in the next step, in the order of the class.
        render_mode: how `render` draws; None: not at all.
    """

    def __init__(self, task_id: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Makes the game.

        Args:
            task_id: such as `parallel_pool.compile` has returned it.
            render_mode: one of the class's.
            options: of the class's constructor.

        Raises:
            TypeError, ValueError: an option is wrong.
        """
        EzPickle.__init__(self, task_id, render_mode=render_mode, **options)
        self.pool = Pool(
            task_id, num_threads=1, autoreset="disabled", reward_dtype="float64", options=options
        )
        restores_of(self.pool).report_to(self._take_restored)
        self.render_mode = render_mode
        self._renderer = None if render_mode is None else renderer.Renderer(self.pool, render_mode)
        self.metadata = dict(translated.class_of(self.pool.definition).metadata)
        spec = self.pool.spec
        self.possible_agents = list(spec.player_names)
        self.agents: list[Any] = []
        self._indices = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._fields = [
            [field.of_player(i) for field in spec.observations] for i in self._indices.values()
        ]
        self._told = [each for each in spec.infos if each.per_player and each.name not in MARKS]
        self.observation_spaces = {
            agent: self._space(self._fields[i]) for agent, i in self._indices.items()
        }
        self._acts = [spec.action.of_player(i) for i in self._indices.values()]
        self.action_spaces = {agent: self._acts[i].space() for agent, i in self._indices.items()}

    @staticmethod
    def _space(fields: list[Field]) -> Space[Any]:
        from gymnasium import spaces

        if len(fields) == 1 and fields[0].name == "obs":
            return fields[0].space()
        return spaces.Dict([(field.name, field.space()) for field in fields])

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """Starts a game.

        Args:
            seed: of the game's generator; None continues it.
            options: those for which the class asks; others are ignored, as the class does.

        Returns:
            Observations and infos by agent.

        Raises:
            TypeError: an option has the wrong type, or the class needs more than a number of it.
        """
        given, known = dict(options or {}), self.pool.definition.reset_options
        translated.fill_reset(self.pool.definition, given)
        given = {name: value for name, value in given.items() if name in known}
        batch = begin_again(self.pool, seed=seeds.of_one(seed), options=given)
        marks = self._given(batch)
        return self._observations(batch, marks), self._infos(batch, marks)

    def step(self, actions: Mapping[Any, Any]) -> Step:
        """Plays the agents' actions.

        Args:
            actions: of each agent that acts; those of others are ignored. The class gets them in
                the order of `agents`.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent, for those agents
            for whom the class returns them.

        Raises:
            TypeError, ValueError, KeyError: an action is wrong or missing; nothing was changed.
            parallel_pool.errors.StateError: the game is over, or was not reset.
        """
        check_uninterrupted(self.pool)
        batch = self.pool.step(self._row(actions))
        given = self._given(batch)
        rewards = batch.reward.reshape(-1)
        ended = batch.ended.reshape(-1)

        def told(bit: int, values: Array) -> dict[Any, Any]:
            return {agent: values[i].item() for agent, i in self._indices.items() if given[i] & bit}

        results: Step = (
            self._observations(batch, given),
            told(lib.PP_GIVEN_REWARD, rewards),
            told(lib.PP_GIVEN_TERMINATION, ended),
            told(lib.PP_GIVEN_TRUNCATION, given & lib.PP_GIVEN_TRUNCATED > 0),
            self._infos(batch, given),
        )
        if self.render_mode == "human":
            self.render()
        return results

    def _row(self, actions: Any) -> Array:
        """Returns the actions of all agents, of which the pool takes those that act."""
        agent_dicts.check_agents(actions, self._indices)
        field = self.pool.spec.action
        row = np.zeros((len(self._indices), *field.shape), field.dtype)
        for agent in self._acting:
            i = self._indices[agent]
            action = np.asarray(agent_dicts.action_of(actions, agent, self._acting))
            shape = self._acts[i].shape
            if action.shape != shape:
                raise ValueError(
                    f"the action of {quote(agent)} is {quote(actions[agent])}: choose from"
                    f" {self.action_spaces[agent]}"
                )
            at: tuple[Any, ...] = (i, *map(slice, shape))
            row[at] = action
        return row[np.newaxis] if len(self._indices) > 1 else row

    def _given(self, batch: Any) -> Array:
        """Returns what was returned for whom, and notes who acts next."""
        given: Array = getattr(batch, GIVEN).reshape(-1)
        live = getattr(batch, LIVE).reshape(-1)
        places = given >> lib.PP_GIVEN_PLACE & 0xFFFF
        order = [int(i) for i in np.argsort(places, kind="stable") if places[i]]
        self.agents = [self.possible_agents[i] for i in order]
        self._acting = [self.possible_agents[i] for i in order if live[i]]
        return given

    def _take_restored(self) -> None:
        """Takes over who acts in the state that the pool's `set_state` has put in place."""
        self._given(present_batch(self.pool))

    def _observations(self, batch: Any, given: Array) -> dict[Any, Any]:
        return {
            agent: self._seen(batch, i)
            for agent, i in self._indices.items()
            if given[i] & lib.PP_GIVEN_OBS
        }

    def _seen(self, batch: Any, player: int) -> Any:
        found = {}
        for field in self._fields[player]:
            ends: tuple[Any, ...] = tuple(map(slice, field.shape))
            # of a Discrete, a number
            found[field.name] = self._own(batch, field, player)[ends].copy()
        return found["obs"] if list(found) == ["obs"] else found

    def _infos(self, batch: Any, given: Array) -> dict[Any, dict[str, Any]]:
        return {
            agent: self._told_of(batch, given, i)
            for agent, i in self._indices.items()
            if given[i] & lib.PP_GIVEN_INFO
        }

    def _told_of(self, batch: Any, given: Array, player: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for bit, field in enumerate(self._told, lib.PP_GIVEN_INFOS):
            if not given[player] >> bit & 1:
                continue
            own = self._own(batch, field, player)
            found[field.name] = own.copy() if field.shape else own.item()
        return found

    def _own(self, batch: Any, field: Field, player: int) -> Any:
        """Returns a player's part of a column."""
        column = getattr(batch, field.name)
        return column[0] if len(self._indices) == 1 else column[0, player]

    def render(self) -> Any:
        """Returns what `render` of the class returns; None without a render mode."""
        return None if self._renderer is None else self._renderer.draw(0)

    def close(self, timeout: float | None = None) -> None:
        """Ends the game, and closes its window.

        Args:
            timeout: seconds to wait for that; None for 5. See `Pool.close`.
        """
        if self._renderer is not None:
            self._renderer.close()
        self.pool.close(timeout=timeout)
