"""Pictures of particle worlds, drawn by mpe2's own world, which takes on the state of ours."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.pool import write_state
from parallel_pool._engine.specs import Option
from parallel_pool._engine.variation import first_options
from parallel_pool._families.mpe import NEIGHBORS
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

MODES = ("human", "rgb_array")

# mpe2's constructor options of pictures, and their defaults
OPTIONS: Mapping[str, Any] = MappingProxyType({"dynamic_rescaling": True})
RESCALING = Option("dynamic_rescaling", "bool", True, 0, 0, "whether circles grow in close-ups")

# pictures per second of mpe2's window
FPS = 10

# what mpe_expose writes (csrc/envs/mpe/world.h): the count of its numbers, the largest coordinate
# at the start of the episode, two goals, then x, y and an integer of each entity, then messages
HEADER = 4
PER_ENTITY = 3

# the integer of a collector that holds nothing, and of a treasure that is not there
NOTHING = -1


class Renderer:
    """Draws the environments of a pool. After the same steps, the pixels equal mpe2's.

    One world of mpe2 draws all environments; "human" shows them one after another in one window.
    """

    def __init__(
        self, pool: Pool, mode: str = "rgb_array", *, dynamic_rescaling: bool = True
    ) -> None:
        """Checks the options. The first picture makes mpe2's world.

        Args:
            pool: of particle worlds.
            mode: "rgb_array", or "human": a window of pygame.
            dynamic_rescaling: whether circles grow and shrink with the size of the plane that a
                picture shows.

        Raises:
            TypeError, ValueError: an option is wrong.
        """
        if mode not in MODES:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, MODES))}")
        self._pool = pool
        self._mode = mode
        self._rescales = RESCALING.check(dynamic_rescaling)
        # made by the first picture
        self._world: Any = None
        self._view = np.empty(0)
        # the world is shared by all environments
        self._lock = threading.Lock()

    def draw(self, env_id: int, action: Array | None = None) -> Array | None:
        """Draws one environment.

        Args:
            env_id: the environment.
            action: ignored.

        Returns:
            uint8, shape (700, 700, 3); None for "human".

        Raises:
            StateError: the environment is in flight, or was never reset.
            MissingDependencyError: mpe2 is not installed.
        """
        with self._lock:
            if self._world is None:
                self._make()
            write_state(self._pool, env_id, self._view.ctypes.data)
            try:
                return self._draw()
            except importlib.import_module("pygame").error:
                # Environments of mpe2 and Gymnasium end all of pygame when they are closed, and
                # with it our font and window.
                self._make()
                write_state(self._pool, env_id, self._view.ctypes.data)
                return self._draw()

    def _draw(self) -> Array | None:
        take_on(self._world, self._view)
        picture: Array | None = self._world.render()
        return picture

    def _make(self) -> None:
        """Makes mpe2's world, and room for the state of one of ours."""
        module = load(self._pool.definition.id)
        options = {
            name: None if name in NEIGHBORS and value == -1 else value
            for name, value in first_options(self._pool.spec.options).items()
            if not name.startswith("_")
        }
        # mpe2 writes each new world's name into metadata that all its worlds share
        shared = module.raw_env.metadata
        before = dict(shared)
        self._world = module.raw_env(
            **options, render_mode=self._mode, dynamic_rescaling=self._rescales
        )
        shared.clear()
        shared.update(before)
        world = self._world.world
        speak = any(not agent.silent for agent in world.agents)
        numbers = len(world.agents) * world.dim_c if speak else 0
        self._view = np.zeros(HEADER + PER_ENTITY * len(world.entities) + numbers)
        self._view[0] = len(self._view)

    def close(self) -> None:
        """Closes the window. The next picture opens a new one."""
        with self._lock:
            if self._world is not None and self._world.renderOn:
                # not all of pygame, which other environments may draw with
                importlib.import_module("pygame").display.quit()
            self._world = None


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return MODES


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second of mpe2's window."""
    return FPS


def load(task_id: str) -> Any:
    """Returns mpe2's module of a world; raises MissingDependencyError if it is not installed."""
    name = task_id.removeprefix("mpe/")
    try:
        return importlib.import_module(f"mpe2.{name}")
    except ImportError as error:
        raise MissingDependencyError(
            f"mpe2 draws the pictures of {task_id}, and mpe2.{name} can't be imported ({error}):"
            " pip install mpe2"
        ) from error


class Draws:
    """Stands for NumPy's generator in a reset of mpe2's world: draws the goals that we have.

    Args:
        goals: what `integers` returns, one after another; then 0.
    """

    def __init__(self, goals: Sequence[int]) -> None:
        self._goals: Iterator[int] = iter(goals)

    def integers(self, low: int, high: int | None = None) -> int:
        return next(self._goals, 0)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: int | None = None) -> Any:
        # positions, which are overwritten
        return 0.0 if size is None else np.zeros(size)


def take_on(raw_env: Any, view: Array) -> None:
    """Gives mpe2's world the state that `mpe_expose` has written."""
    world = raw_env.world
    entities = world.entities
    end = HEADER + PER_ENTITY * len(entities)
    rows = view[HEADER:end].reshape(-1, PER_ENTITY)
    # a reset gives the entities their colours, which depend on the goals
    raw_env.scenario.reset_world(world, Draws(view[2:HEADER].astype(int).tolist()))
    raw_env.original_cam_range = view[1]
    for entity, row in zip(entities, rows, strict=True):
        entity.state.p_pos = row[:2]
    if len(view) > end:
        messages = view[end:].reshape(len(world.agents), -1)
        for agent, message in zip(world.agents, messages, strict=True):
            agent.state.c = message
    if hasattr(world, "treasure_colors"):
        show_treasures(world, rows[:, 2].astype(int).tolist())


def show_treasures(world: Any, kinds: Sequence[int]) -> None:
    """Colours collectors by what they hold, and hides treasures that are not there.

    Args:
        world: of collect_treasure.
        kinds: of each entity, as csrc/envs/mpe/collect_treasure.c describes them.
    """
    for entity, kind in zip(world.entities, kinds, strict=True):
        if hasattr(entity, "alive"):
            entity.alive = kind != NOTHING
            entity.color = world.treasure_colors[kind]
        elif entity.collector and kind != NOTHING:
            # as mpe2 colours a collector that picks up a treasure
            entity.color = 0.85 * world.treasure_colors[kind]
