"""Pictures of MiniGrid, drawn by minigrid's own environments, which take on the native states."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import quote
from parallel_pool._families import minigrid, minigrid_state

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

MODES = ("human", "rgb_array")
# as minigrid's constructors have them
OPTIONS: Mapping[str, Any] = MappingProxyType(
    {"highlight": True, "tile_size": 32, "agent_pov": False, "screen_size": 640}
)
FPS = 10


class Renderer:
    """Draws the environments of a pool with one of minigrid's; the pixels equal its own."""

    def __init__(self, pool: Pool, mode: str = "rgb_array", **drawing: Any) -> None:
        """Makes the environments that draw.

        Args:
            pool: of MiniGrid environments.
            mode: "rgb_array", or "human" for a window.
            drawing: those of OPTIONS that are given.

        Raises:
            ValueError: there is no such mode.
            MissingDependencyError: minigrid is not installed.
        """
        if mode not in MODES:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, MODES))}")
        self._pool, self._mode, self._drawing = pool, mode, drawing
        # by options, for pools whose options differ
        self._envs: dict[str, Any] = {}
        self._env_of(0)
        # all environments of the pool are drawn by few
        self._lock = threading.Lock()

    def _env_of(self, env_id: int) -> Any:
        """Returns the environment that draws an environment of the pool."""
        options = {
            name: value
            for name, value in self._pool.options_of(env_id).items()
            if name in self._pool.definition.options
        }
        key = repr({name: value for name, value in options.items() if not name.startswith("_")})
        if key not in self._envs:
            self._envs[key] = minigrid.make_reference(
                self._pool.definition, options, render_mode=self._mode, **self._drawing
            )
        return self._envs[key]

    def draw(self, env_id: int, action: Array | None = None) -> Array | None:
        """Draws an environment.

        Args:
            env_id: of the environment in the pool.
            action: not needed.

        Returns:
            RGB pixels, uint8 (height, width, 3); None for a window.

        Raises:
            parallel_pool.errors.StateError: the environment is in flight.
        """
        state = minigrid_state.read(self._pool, env_id)
        with self._lock:
            env = self._env_of(env_id)
            minigrid_state.put(env, state)
            field = self._pool.spec.observations[-1]
            if field.texts is not None:
                env.mission = self._pool.texts(field.name, self._pool.observe([env_id])[-1])[0]
            picture: Array | None = env.render()
            return picture

    def close(self) -> None:
        """Closes the window; without one nothing is open, and pygame may serve others."""
        if self._mode == "human":
            for env in self._envs.values():
                env.close()


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return MODES


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second in the metadata of minigrid's environments."""
    return FPS
