"""ParticleGame: one native particle world in turns (AEC), equal to mpe2's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv  # type: ignore[import-untyped]
from pettingzoo.utils import AgentSelector, wrappers  # type: ignore[import-untyped]

from parallel_pool._apis.common import renderer
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.pettingzoo.agent_spaces import AgentSpaces
from parallel_pool._apis.pettingzoo.parallel_game import ParallelGame
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.interrupted import begin_again, check_uninterrupted
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.present_states import present_batch, restores_of
from parallel_pool._engine.variation import value_for_env
from parallel_pool._families import mpe, mpe_renderer
from parallel_pool.errors import ClosedError

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._engine.buffers import Array

# the controls of an agent that moves: none, then left, right, down, up; messages follow them, and
# have fewer elements where an agent does not move
CONTROLS = 5
# of each axis: the control in its direction, and the one against it
AXES = (2, 1), (4, 3)


def env(task_id: str, **options: Any) -> AECEnv[Any, Any, Any]:
    """Returns a game in turns, in the wrappers that mpe2 puts around its own."""
    game = ParticleGame(task_id, **options)
    if game.is_continuous:
        return wrappers.OrderEnforcingWrapper(wrappers.ClipOutOfBoundsWrapper(game))
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(game))


def parallel_env(task_id: str, **options: Any) -> ParallelGame:
    """Returns a game whose agents act at the same time."""
    return ParallelGame(env(task_id, **options))


class ParticleGame(TraceMethod, AgentSpaces, AECEnv[Any, Any, Any], EzPickle):  # type: ignore[misc]
    """One native particle world as a `pettingzoo.AECEnv`, without PettingZoo's wrappers.

    Observations, rewards, infos and their types equal those of mpe2's `raw_env`. The world steps
    after the last agent's action. Copies and pickles are new games with the same options.

    Attributes:
        pool: of the one world.
        metadata: with "name", "render_modes", "render_fps" and "is_parallelizable".
        possible_agents, agents: the names of all agents, and of those in the present episode.
        agent_selection: whose turn it is.
        rewards, terminations, truncations, infos: by agent, of the last step.
        observation_spaces, action_spaces: by agent.
        state_space: of `state`.
        render_mode: how `render` draws; None: not at all.
        is_continuous: whether actions are arrays.
    """

    def __init__(self, task_id: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Makes the world.

        Args:
            task_id: such as "mpe/simple_spread_v3".
            render_mode: "rgb_array", or "human": a window that shows every step.
            options: of the world's constructor, and mpe2's drawing option dynamic_rescaling.

        Raises:
            TypeError, ValueError: an option is wrong.
            MissingDependencyError: a render_mode is given, and mpe2 is not installed.
        """
        EzPickle.__init__(self, task_id, render_mode=render_mode, **options)
        renderer.check_mode(render_mode, mpe_renderer.MODES)
        drawing = {name: options.pop(name) for name in mpe_renderer.OPTIONS if name in options}
        self.render_mode = render_mode
        self.pool = Pool(
            task_id,
            num_threads=1,
            reward_dtype="float64",
            autoreset="disabled",
            options=options,
        )
        restores_of(self.pool).report_to(self._take_restored)
        self._renderer = mpe_renderer.Renderer(self.pool, render_mode or "rgb_array", **drawing)
        if render_mode is not None:
            mpe_renderer.load(task_id)
        self.metadata = {
            "render_modes": list(mpe_renderer.MODES),
            "is_parallelizable": True,
            "render_fps": mpe_renderer.FPS,
            "name": task_id.removeprefix("mpe/"),
        }
        spec = self.pool.spec
        self.possible_agents = list(spec.player_names)
        self.agents = self.possible_agents[:]
        self._indices = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._selector = AgentSelector(self.possible_agents)
        self.is_continuous: bool = spec.action.space_kind == "box"
        seen = spec.observations[0]
        self.observation_spaces = {
            agent: seen.of_player(i).space() for agent, i in self._indices.items()
        }
        self.action_spaces = {
            agent: spec.action.of_player(i).space() for agent, i in self._indices.items()
        }
        sizes = [_size(self.observation_spaces[agent]) for agent in self.possible_agents]
        self.state_space = Box(-np.inf, np.inf, (sum(sizes),), np.float32)
        self._sizes = sizes
        self._actions = np.zeros(
            (len(sizes), *spec.action.shape), np.float64 if self.is_continuous else np.int64
        )
        # dtypes of what the agents say, which mpe2's benchmark data show
        self._dtypes: list[np.dtype[Any]] = [np.dtype(np.float64)] * len(sizes)
        self._seen = np.zeros((len(sizes), *seen.shape), np.float32)

    # -------------------------------------------------------------------------------- stepping --

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts an episode.

        Args:
            seed: of the world's generator; None continues it.
            options: curriculum_stage; others are ignored, as mpe2 ignores all.

        Raises:
            TypeError, ValueError: an argument is wrong.
            parallel_pool.errors.ClosedError: the game is closed.
        """
        if not isinstance(options, Mapping | None):
            raise TypeError(f"options={quote(options)} is {a_type(options)}: give a dict")
        known = self.pool.definition.reset_options
        given = {name: value for name, value in (options or {}).items() if name in known}
        self._begin(begin_again(self.pool, seed=seeds.of_one(seed), options=given))

    def _begin(self, batch: Any, *, is_over: bool = False) -> None:
        """Takes over a state before anybody has a reward; if it is over, all agents leave."""
        self._observe(batch)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        # a particle world ends by its time limit
        self.truncations = dict.fromkeys(self.agents, is_over)
        self.infos: dict[Any, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self._selector.reset()

    def _take_restored(self) -> None:
        """Takes over the state that the pool's `set_state` has put in place of the game's."""
        self._begin(present_batch(self.pool), is_over=self.pool.needs_reset(0))

    def step(self, action: Any) -> None:
        """Takes the action of `agent_selection`; after the last agent's, the world steps.

        Args:
            action: in the agent's space; None for one whose episode is over.

        Raises:
            TypeError, ValueError: the action is wrong.
            parallel_pool.errors.ClosedError: the game is closed.
        """
        if self.pool.closed:
            raise ClosedError(f"step() of {self} after close(): make a new one")
        # every agent's step needs the pool, not only the last one's, which steps the world
        check_uninterrupted(self.pool)
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        index = self._indices[agent]
        self._take(index, action)
        if index == len(self.agents) - 1:
            self._step_world()
        else:
            self._clear_rewards()
        self.agent_selection = self._selector.next()
        self._cumulative_rewards[agent] = 0
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _step_world(self) -> None:
        count = len(self.possible_agents)
        actions = self._actions if count == 1 else self._actions[np.newaxis]
        batch = self.pool.step(actions)
        self._observe(batch)
        self.rewards.update(zip(self.agents, batch.reward.reshape(count).tolist(), strict=True))
        if batch.truncated[0]:
            self.truncations.update(dict.fromkeys(self.agents, True))
        if batch.terminated[0]:
            self.terminations.update(dict.fromkeys(self.agents, True))
        if value_for_env(self.pool.spec.options["benchmark_data"], 0):
            self._put_benchmark(batch)

    def _put_benchmark(self, batch: Any) -> None:
        """Sets the infos, in the types of mpe2."""
        convert = mpe.BENCHMARKS.get(self.pool.definition.id)
        for agent, i in self._indices.items():
            data: Any = {}
            if convert is not None:
                row = batch.benchmark_data.reshape(len(self._indices), -1)[i]
                data = convert(i, row)
            if isinstance(data, tuple) and isinstance(data[0], np.ndarray):
                data = data[0].astype(self._dtypes[i]), *data[1:]
            self.infos[agent] = {"benchmark_data": data}

    # --------------------------------------------------------------------------------- actions --

    def _take(self, index: int, action: Any) -> None:
        """Stores an agent's action for the step of the world; raises if it is wrong."""
        agent = self.possible_agents[index]
        space = self.action_spaces[agent]
        if not self.is_continuous:
            if not space.contains(action):
                raise ValueError(
                    f"the action of {quote(agent)} is {quote(action)}: choose from {space}"
                )
            self._actions[index] = action
            return
        values = np.asarray(action)
        if values.dtype.kind not in "if":
            raise TypeError(
                f"the action of {quote(agent)} is {quote(action)}: give an array of floats"
            )
        if values.shape != space.shape or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(
                f"the action of {quote(agent)} is {quote(action)}: choose from {space}"
            )
        self._put_row(index, values)

    def _put_row(self, index: int, values: Array) -> None:
        """Stores a Box action so that the pool, which takes doubles, computes what mpe2 does.

        mpe2 subtracts opposite controls in the dtype of each agent's own action. Here they are
        subtracted in it, and the pool gets the difference as one control.
        """
        row = self._actions[index]
        row[:] = 0
        start = CONTROLS if len(values) >= CONTROLS else 0
        if start:
            for along, against in AXES:
                force = float(values[along] - values[against])
                row[along if force > 0 else against] = abs(force)
        row[start : len(values)] = values[start:]
        # mpe2 adds noise of 0.0
        self._dtypes[index] = np.result_type(values.dtype, 0.0)

    # ------------------------------------------------------------------------------- observing --

    def _observe(self, batch: Any) -> None:
        self._seen = np.array(batch.obs).reshape(self._seen.shape)

    def observe(self, agent: Any) -> Array:
        """Returns what an agent sees, float32 (size,); KeyError if there is no such agent."""
        index = self._indices[agent]
        seen: Array = self._seen[index, : self._sizes[index]].copy()
        return seen

    def state(self) -> Array:
        """Returns what all agents see, one after another; float32 (sum of their sizes,)."""
        return np.concatenate([self.observe(agent) for agent in self.possible_agents])

    # --------------------------------------------------------------------------------- drawing --

    def render(self) -> Array | None:
        """Returns a picture, uint8 (700, 700, 3); None for "human", which shows it in a window.

        Without a render_mode it warns, and returns None.

        Raises:
            parallel_pool.errors.StateError: before the first reset, and after close.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                f'render() of {self} draws nothing: make it with render_mode="rgb_array" or "human"'
            )
            return None
        return self._renderer.draw(0)

    def close(self, timeout: float | None = None) -> None:
        """Ends the game, and closes its window.

        Args:
            timeout: seconds to wait for that; None for 5. See `Pool.close`.
        """
        self._renderer.close()
        self.pool.close(timeout=timeout)


def _size(space: Space[Any]) -> int:
    assert space.shape is not None
    return space.shape[0]
