"""AtariGame: one native Atari game of several players as a PettingZoo environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils import wrappers  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import (  # type: ignore[import-untyped]
    parallel_to_aec_wrapper,
)

from parallel_pool._apis.common import renderer
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.pettingzoo.agent_spaces import AgentSpaces
from parallel_pool._apis.pettingzoo.parallel_game import ParallelGame, Step
from parallel_pool._engine import seeds
from parallel_pool._engine.interrupted import begin_again, check_uninterrupted
from parallel_pool._engine.pool import Pool

MODES = ("human", "rgb_array")
# of an Atari 2600 with NTSC
FPS = 60
# size of a pixel in a window
ZOOM = 4


def env(task_id: str, **options: Any) -> AECEnv[Any, Any, Any]:
    """Returns a game in turns, in the wrappers that PettingZoo puts around its own."""
    game = parallel_to_aec_wrapper(AtariGame(task_id, **options))
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(game))


def parallel_env(task_id: str, **options: Any) -> ParallelGame:
    """Returns a game whose agents act at the same time."""
    return ParallelGame(env(task_id, **options))


class AtariGame(TraceMethod, AgentSpaces, ParallelEnv[Any, Any, Any], EzPickle):  # type: ignore[misc]
    """One native Atari game, equal to PettingZoo's `ParallelAtariEnv`.

    Attributes:
        metadata: with "name", "render_modes" and "render_fps".
        possible_agents: all agents.
        agents: those that act in the next step.
        render_mode: how `render` draws; None: not at all.
    """

    def __init__(self, task_id: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Makes the game.

        Args:
            task_id: such as "atari/pong_v3".
            render_mode: "rgb_array", or "human": a window that shows every step.
            options: of the game's constructor.

        Raises:
            TypeError, ValueError: an option is wrong.
            parallel_pool.errors.UnprovenError: our console is not proven to play the game's ROM.
            MissingDependencyError: ale-py, which has the ROMs, is not installed.
        """
        EzPickle.__init__(self, task_id, render_mode=render_mode, **options)
        self.pool = Pool(
            task_id, num_threads=1, autoreset="disabled", reward_dtype="float64", options=options
        )
        renderer.check_mode(render_mode, MODES)
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": list(MODES),
            "name": task_id.rpartition("/")[2],
            "render_fps": FPS,
        }
        spec = self.pool.spec
        self.possible_agents = list(spec.player_names)
        self.agents: list[Any] = self.possible_agents[:]
        self._indices = {agent: i for i, agent in enumerate(self.possible_agents)}
        seen, action = spec.observations[0].space(), spec.action.space()
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = {agent: spec.action.space() for agent in self.possible_agents}
        self._no_actions = np.zeros((1, len(self.possible_agents)), action.dtype)
        self._window: Any = None

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """Starts a game.

        Args:
            seed: of the console's memory and timer, and of sticky actions; None goes on.
            options: ignored, as PettingZoo does.

        Returns:
            Observations and infos by agent.
        """
        batch = begin_again(self.pool, seed=seeds.of_one(seed))
        self.agents = self.possible_agents[:]
        return self._seen(batch), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[Any, Any]) -> Step:
        """Plays the agents' actions; an agent left out does nothing.

        Returns:
            Observations; rewards, int32; terminations; truncations; and infos: each by agent.

        Raises:
            TypeError, ValueError: an action is wrong; nothing was changed.
            parallel_pool.errors.StateError: the game is over, or was not reset.
        """
        check_uninterrupted(self.pool)
        row = self._no_actions.copy()
        for agent, action in actions.items():
            row[0, self._indices[agent]] = action
        batch = self.pool.step(row)
        acting = [self._indices[agent] for agent in self.agents]
        names = self.agents
        rewards = batch.reward[0].astype(np.int32)
        results: Step = (
            self._seen(batch),
            {agent: rewards[i] for agent, i in zip(names, acting, strict=True)},
            {agent: bool(batch.ended[0, i]) for agent, i in zip(names, acting, strict=True)},
            dict.fromkeys(names, bool(batch.truncated[0])),
            {agent: {} for agent in names},
        )
        self.agents = [agent for agent in names if batch.live[0, self._indices[agent]]]
        if self.render_mode == "human":
            self.render()
        return results

    def _seen(self, batch: Any) -> dict[Any, Any]:
        """Returns what the agents see who act or have acted in the last step."""
        return {agent: batch.obs[0, self._indices[agent]].copy() for agent in self.agents}

    def render(self) -> Any:
        """Returns the screen, uint8 (height, 160, 3); None for "human", which shows it."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "You are calling render method without specifying any render mode."
            )
            return None
        screen = self.pool.render([0])[0]
        if self.render_mode == "rgb_array":
            return screen
        import pygame

        height, width = screen.shape[:2]
        if self._window is None:
            pygame.display.init()
            self._window = pygame.display.set_mode((width * ZOOM, height * ZOOM))
        image = pygame.image.frombuffer(screen.tobytes(), (width, height), "RGB")
        self._window.blit(pygame.transform.scale(image, self._window.get_size()), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        return None

    def close(self, timeout: float | None = None) -> None:
        """Ends the game, and closes its window.

        Args:
            timeout: seconds to wait for that; None for 5. See `Pool.close`.
        """
        if self._window is not None:
            import pygame

            pygame.display.quit()
            self._window = None
        self.pool.close(timeout=timeout)
