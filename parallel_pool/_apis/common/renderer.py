"""Draws a pool's environments: in C, by their family's module, or by the Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import DependencyNotInstalled

from parallel_pool._apis.common import attribute_options, dependencies
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.buffers import Array
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.specs import Definition
from parallel_pool._engine.variation import first_options
from parallel_pool.errors import MissingDependencyError, StateError

# How many float64 numbers a native state begins with, and whether Gymnasium sometimes keeps them in
# float32 (Acrobot after a reset, MountainCarContinuous after a step), which moves edges of lines.
STATES = {
    "CartPole": (4, False),
    "MountainCar": (2, False),
    "MountainCarContinuous": (2, True),
    "Pendulum": (2, False),
    "Acrobot": (4, True),
}


class EnvRenderer(Protocol):
    """Draws one environment of a pool at a time."""

    def draw(self, env_id: int, action: Array | None) -> Any:
        """Draws an environment; `action` is the one of its last step, None after a reset."""

    def close(self) -> None:
        """Closes windows."""


class NativeRenderer:
    """Draws with the environment's own C code."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def draw(self, env_id: int, action: Array | None) -> Any:
        return self._pool.render([env_id])[0]

    def close(self) -> None:
        pass


class ReferenceRenderer:
    """Draws with one Gymnasium environment, which takes on the state of the one to draw."""

    def __init__(self, pool: Pool, spec: EnvSpec, mode: str) -> None:
        self._pool = pool
        options, attributes = attribute_options.split(
            pool.definition, first_options(pool.spec.options)
        )
        made = gymnasium.make(spec, disable_env_checker=True, render_mode=mode, **options)
        self._env: Any = made.unwrapped
        attribute_options.apply(self._env, attributes)
        self._size, self._may_be_narrow = STATES[spec.name]

    def draw(self, env_id: int, action: Array | None) -> Any:
        self._env.state = self.state(env_id)
        if self._pool.varied:
            _, attributes = attribute_options.split(
                self._pool.definition, self._pool.options_of(env_id)
            )
            attribute_options.apply(self._env, attributes)
        limit = getattr(self._env, "max_torque", None)
        if limit is not None:
            # the arrow over a pendulum shows its torque
            self._env.last_u = None if action is None else np.clip(action, -limit, limit)[0]
        try:
            return self._env.render()
        except DependencyNotInstalled as error:
            raise MissingDependencyError(
                f"drawing needs pygame, which is not installed: {dependencies.install('render')}"
            ) from error

    def state(self, env_id: int) -> Array:
        (snapshot,) = self._pool.get_state([env_id])
        # a snapshot ends with the environment's own bytes
        own = snapshot[-self._pool.state_size :]
        state: Array = np.frombuffer(own, np.float64, self._size).copy()
        narrow = state.astype(np.float32)
        return narrow if self._may_be_narrow and np.array_equal(narrow, state) else state

    def close(self) -> None:
        self._env.close()


def defaults(definition: Definition) -> Mapping[str, Any]:
    """Returns the drawing options of a definition (picture size, camera) and their defaults."""
    module = registry.renderer_module(definition)
    options: Mapping[str, Any] = {} if module is None else module.OPTIONS
    return options


def pop_options(definition: Definition, options: dict[str, Any]) -> dict[str, Any]:
    """Removes a definition's drawing options from the options that are given; returns them."""
    return {name: options.pop(name) for name in defaults(definition) if name in options}


def modes(definition: Definition, reference: EnvSpec | None) -> list[str]:
    """Returns the render modes of a definition that draw one picture at a time."""
    module = registry.renderer_module(definition)
    if module is not None:
        return list(module.modes(definition))
    if has_window(definition, reference):
        return ["human", "rgb_array"]
    return ["rgb_array"] if definition.can_render else []


def check_mode(mode: str | None, known: Sequence[str]) -> None:
    """Raises ValueError for a render mode that is neither known nor None."""
    if mode is not None and mode not in known:
        raise ValueError(
            f"render_mode={quote(mode)}: choose {' or '.join(map(repr, known)) or None}"
        )


def make_renderer(
    pool: Pool,
    reference: EnvSpec | None,
    mode: str | None,
    drawing: dict[str, Any],
    metadata: dict[str, Any],
) -> Renderer | None:
    """Checks the drawing options and returns the renderer, or None without a render mode.

    Args:
        pool, reference, mode, drawing: as for `Renderer`; mode None for no pictures.
        metadata: gets "render_fps" if the pool's environments have their own.
    """
    renderer = None
    if mode is not None:
        renderer = Renderer(pool, reference, mode, drawing)
    elif drawing:
        make_env_renderer(pool, reference, options=drawing)
    fps = render_fps(pool)
    if fps is not None:
        metadata["render_fps"] = fps
    return renderer


def render_fps(pool: Pool) -> int | None:
    """Returns the pictures per second if they depend on the pool's options, else None."""
    module = registry.renderer_module(pool.definition)
    fps = None if module is None else module.render_fps(pool)
    return None if fps is None else int(fps)


def has_window(definition: Definition, reference: EnvSpec | None) -> bool:
    """Returns whether the Gymnasium environment draws for a definition."""
    return not definition.can_render and reference is not None and reference.name in STATES


def make_env_renderer(
    pool: Pool,
    reference: EnvSpec | None,
    mode: str = "rgb_array",
    options: Mapping[str, Any] | None = None,
) -> EnvRenderer:
    """Returns what draws single environments of a pool.

    Args:
        pool: the environments.
        reference: spec of the Gymnasium environment that they equal, None if there is none.
        mode: one of `modes`.
        options: drawing options that differ from `defaults`.

    Raises:
        StateError: these environments have no pictures.
        TypeError, ValueError: an option is wrong.
    """
    module = registry.renderer_module(pool.definition)
    if module is not None:
        env_renderer: EnvRenderer = module.Renderer(pool, mode, **(options or {}))
        return env_renderer
    if pool.definition.can_render:
        return NativeRenderer(pool)
    if reference is None or not has_window(pool.definition, reference):
        raise StateError(f"{pool.definition.id} draws no pictures")
    return ReferenceRenderer(pool, reference, mode)


def pictures(renderer: Renderer | None, num_envs: int, example: str) -> tuple[Any, ...]:
    """Returns what `render` of a vector environment returns.

    Args:
        renderer: as `make_renderer` returns it; None: it warns, and returns Nones.
        num_envs: environments.
        example: how they are made with a render mode, for the warning.
    """
    if renderer is not None:
        return renderer.render()
    gymnasium.logger.warn(
        "render() without a render mode draws nothing: give one when making the environments, as in"
        f' {example}(..., render_mode="rgb_array")'
    )
    return (None,) * num_envs


class Drawn(NamedTuple):
    """What has been drawn, and what the next picture depends on.

    Attributes:
        actions: of the last step.
        has_acted: which of them led to the present states, bool (n,).
        frames: of each environment, since the last call of `render`, in list modes.
    """

    actions: Array | None
    has_acted: Array
    frames: tuple[list[Any], ...]


class Renderer:
    """Draws on request, or after every reset and step ("human", and modes that end in "_list").

    Attributes:
        drawn: until now; `of_reset` and `of_step` return what follows and change nothing.
    """

    def __init__(
        self,
        pool: Pool,
        reference: EnvSpec | None,
        mode: str,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
            pool, reference, options: as for `make_env_renderer`.
            mode: one of `modes`, or one of them other than "human" with the suffix "_list".
        """
        self._is_list = mode.endswith("_list")
        self._draws_always = self._is_list or mode == "human"
        mode = mode.removesuffix("_list")
        self._env_renderer = make_env_renderer(pool, reference, mode, options)
        nobody = np.zeros(pool.num_envs, np.bool_)
        self.drawn = Drawn(None, nobody, tuple([] for _ in range(pool.num_envs)))

    def of_reset(self, mask: Array) -> Drawn:
        """Draws the first frames of environments that began an episode; mask: bool (n,)."""
        drawn = self.drawn._replace(has_acted=self.drawn.has_acted & ~mask)
        return self._added(drawn, mask, ~mask) if self._draws_always else drawn

    def of_step(self, actions: Any, restarted: Array) -> Drawn:
        """Draws the frames of a step.

        Args:
            actions: of all environments.
            restarted: bool (n,): environments whose observation begins a new episode.
        """
        # the caller may write to its array before the picture is drawn
        drawn = Drawn(np.array(actions), ~restarted, self.drawn.frames)
        if not self._draws_always:
            return drawn
        every = np.ones(len(restarted), np.bool_)
        return self._added(drawn, every, ~restarted)

    def _added(self, drawn: Drawn, mask: Array, goes_on: Array) -> Drawn:
        """Draws the environments of a mask, and adds the frames to those of episodes that go on."""
        frames = list(drawn.frames)
        # those that go on first
        for env_id in np.flatnonzero(mask)[np.argsort(~goes_on[mask], kind="stable")].tolist():
            frame = self._paint(drawn, env_id)
            before = frames[env_id] if goes_on[env_id] else []
            frames[env_id] = [*before, frame] if self._is_list else []
        return drawn._replace(frames=tuple(frames))

    def after_reset(self, mask: Array) -> None:
        """Does what `of_reset` does, and keeps the result."""
        self.drawn = self.of_reset(mask)

    def after_step(self, actions: Any, restarted: Array) -> None:
        """Does what `of_step` does, and keeps the result."""
        self.drawn = self.of_step(actions, restarted)

    def _paint(self, drawn: Drawn, env_id: int) -> Any:
        if drawn.actions is None or not drawn.has_acted[env_id]:
            return self._env_renderer.draw(env_id, None)
        return self._env_renderer.draw(env_id, drawn.actions[env_id])

    def render(self) -> tuple[Any, ...]:
        """Returns a picture of each environment; in list modes, its frames since the last call."""
        drawn = self.drawn
        count = len(drawn.frames)
        if self._is_list:
            self.drawn = drawn._replace(frames=tuple([] for _ in range(count)))
            return drawn.frames
        return tuple(self._paint(drawn, env_id) for env_id in range(count))

    def close(self) -> None:
        """Closes windows."""
        self._env_renderer.close()
