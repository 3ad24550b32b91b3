"""Pictures of translated environments, drawn by the `render` of the user's class in Python."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import quote
from parallel_pool._translator import options, reader
from parallel_pool._translator.copies import Copies
from parallel_pool.errors import MissingDependencyError, PoolError, StateError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

# pictures have no options
OPTIONS: Mapping[str, Any] = MappingProxyType({})


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of the class that draw one picture at a time."""
    cls = options.class_of(definition)
    draws = next((each for each in cls.__mro__ if "render" in vars(each)), None)
    if draws is None or not reader.is_own(draws):
        return []
    return [each for each in cls.metadata.get("render_modes", []) if not each.endswith("_list")]


def render_fps(pool: Pool) -> int | None:
    """Returns the pictures per second in the class's metadata, None for none."""
    fps: int | None = options.class_of(pool.definition).metadata.get("render_fps")
    return fps


class Renderer:
    """Draws the environments of a pool with `render` of their class, on copies of their states."""

    def __init__(self, pool: Pool, mode: str = "rgb_array") -> None:
        """Makes the object that draws the first environment.

        Args:
            pool: of translated environments.
            mode: one of `modes`.

        Raises:
            ValueError: the class has no such mode.
            StateError: it has none.
            PoolError: it can't be made with this mode.
        """
        self._id, self._cls = pool.definition.id, options.class_of(pool.definition)
        known = modes(pool.definition)
        if not known:
            raise StateError(
                f"{self._id} draws no pictures: write a method render of {self._cls.__name__}, and"
                ' metadata = {"render_modes": ["rgb_array"]}'
            )
        if mode not in known:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, known))}")
        self._mode = mode
        self._copies = Copies(pool, mode)
        try:
            self._copies.plain(0)
        except Exception as error:
            made = f"{self._cls.__name__}(render_mode={quote(mode)})"
            raise self._failure(error, made) from error

    def draw(self, env_id: int, action: Array | None = None) -> Any:
        """Draws an environment.

        Args:
            env_id: of the environment in the pool.
            action: not needed.

        Returns:
            What the class's `render` returns: for "rgb_array" pixels, uint8 (height, width, 3).

        Raises:
            parallel_pool.errors.StateError: the environment is in flight, or not reset.
            MissingDependencyError: the class needs a package that is not installed.
            PoolError: `render` raised an exception, its cause; the pool is as before.
        """
        with self._copies.lock:
            env = self._copies.take(env_id)
            try:
                picture = env.render()
            except Exception as error:
                what = f"environment {env_id} can't be drawn: {self._cls.__name__}.render()"
                raise self._failure(error, what) from error
        if picture is None and self._mode != "human":
            raise PoolError(
                f"{self._id}: environment {env_id} can't be drawn: {self._cls.__name__}.render()"
                f" returned None with render_mode={quote(self._mode)}: return the picture"
            )
        return picture

    def _failure(self, error: Exception, what: str) -> Exception:
        """Returns the exception for one of the user's code."""
        import gymnasium

        last = traceback.extract_tb(error.__traceback__)[-1]
        text = (
            f"{self._id}: {what} failed: {type(error).__name__}: {error} ({last.filename}, line"
            f" {last.lineno})"
        )
        if isinstance(error, (gymnasium.error.DependencyNotInstalled, ImportError)):
            return MissingDependencyError(text)
        return PoolError(text)

    def close(self) -> None:
        """Closes windows; without one nothing is open, and pygame may serve others."""
        if self._mode == "human":
            for env in self._copies.made:
                env.close()
