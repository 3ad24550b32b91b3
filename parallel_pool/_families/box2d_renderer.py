"""Pictures of Box2D's environments, drawn by Gymnasium's own ones."""

from __future__ import annotations

import ctypes
import importlib
import struct
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.pool import write_state
from parallel_pool._families.box2d import INSTALL
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

MODES = ("human", "rgb_array")

OPTIONS: Mapping[str, Any] = MappingProxyType({})

# C's snapshot_end of LunarLander: a pp_rng, and the number of actions
END = struct.Struct("<4Q2Iq")
# C's view of BipedalWalker: a pp_rng, the number of the episode, poses, and the ends of rays
VIEW = struct.Struct("<4Q2Iq35d")
POSES = (5, 3)


class EnvRenderer(Protocol):
    """Has one of Gymnasium's environments, which draws one of a pool's."""

    env: Any

    def follow(self, pool: Pool) -> bool:
        """Brings Gymnasium's to the present state. Returns whether a window shows it already."""
        ...


class Renderer:
    """Draws the environments of a pool; the pixels equal Gymnasium's."""

    def __init__(self, pool: Pool, mode: str = "rgb_array") -> None:
        """
        Args:
            pool: of Box2D's environments.
            mode: "rgb_array", or "human" for a window.

        Raises:
            ValueError: there is no such mode.
            MissingDependencyError: pygame is not installed.
        """
        known = self.modes()
        if mode not in known:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, known))}")
        try:
            importlib.import_module("pygame")
        except ImportError as error:
            raise MissingDependencyError(
                f"pictures of {pool.definition.id} need pygame ({error}): {INSTALL}"
            ) from error
        self._pool, self._mode = pool, mode
        self._renderers: dict[int, EnvRenderer] = {}
        self._lock = threading.Lock()

    @staticmethod
    def modes() -> Sequence[str]:
        """Returns the render modes."""
        return MODES

    def make_renderer(self, pool: Pool, mode: str, env_id: int) -> EnvRenderer:
        """Returns what draws an environment."""
        make = _LanderRenderer if _is_lander(pool) else _WalkerRenderer
        return make(pool, mode, env_id)

    def draw(self, env_id: int, action: Array | None = None) -> Any:
        """Draws an environment.

        Args:
            env_id: of the environment in the pool.
            action: not needed.

        Returns:
            RGB pixels, uint8 (400, 600, 3); None for a window.

        Raises:
            parallel_pool.errors.StateError: the environment is in flight, or was never reset.
        """
        # raises the error of an environment that was never reset
        self._pool.observe([env_id])
        with self._lock:
            if env_id not in self._renderers:
                self._renderers[env_id] = self.make_renderer(self._pool, self._mode, env_id)
            renderer = self._renderers[env_id]
            has_drawn = renderer.follow(self._pool)
            # a window is drawn by each reset and step
            return None if has_drawn and self._mode == "human" else renderer.env.render()

    def close(self) -> None:
        """Closes the environments, and their window."""
        with self._lock:
            for renderer in self._renderers.values():
                renderer.env.close()
            self._renderers = {}


def _is_lander(pool: Pool) -> bool:
    return pool.definition.id.startswith("LunarLander")


def options_of(pool: Pool, env_id: int) -> dict[str, Any]:
    """Returns the options that are in force for an environment, without those of the engine."""
    values, options = pool.options_of(env_id), pool.definition.options
    return {name: values[name] for name, option in options.items() if not option.is_hidden}


def _make(pool: Pool, mode: str, env_id: int) -> Any:
    """Returns one of Gymnasium's environments with the options of one of the pool's."""
    made = _module(pool)
    make = made.LunarLander if _is_lander(pool) else made.BipedalWalker
    return make(render_mode=mode, **options_of(pool, env_id))


def _module(pool: Pool) -> Any:
    name = "lunar_lander" if _is_lander(pool) else "bipedal_walker"
    return importlib.import_module(f"gymnasium.envs.box2d.{name}")


class _LanderRenderer:
    """Takes the steps of an environment in one of Gymnasium's, which draws.

    Before a picture, Gymnasium's takes the steps that the pool has taken since the last picture. So
    it also has the particles of the engines' fire, which exist only in environments that draw, and
    age with each picture.
    """

    def __init__(self, pool: Pool, mode: str, env_id: int) -> None:
        self.env, self._env_id = _make(pool, mode, env_id), env_id
        # the random generator at the episode's beginning, and its actions, as C records them
        self._first_rng: tuple[int, ...] = ()
        self._actions = b""

    def follow(self, pool: Pool) -> bool:
        """Plays the episode up to the present. Returns whether it was reset or stepped."""
        (snapshot,) = pool.get_state([self._env_id])
        # a snapshot ends with the environment's own bytes
        *first_rng, count = END.unpack(snapshot[-END.size :])
        is_continuous = pool.spec.action.space_kind == "box"
        dtype = np.dtype((np.float64, 2)) if is_continuous else np.dtype(np.uint8)
        start = len(snapshot) - END.size - count * dtype.itemsize
        actions = snapshot[start : len(snapshot) - END.size]
        begins = (*first_rng,) != self._first_rng or not actions.startswith(self._actions)
        if begins:
            # those that are drawn at each reset are attributes of Gymnasium's environment
            vars(self.env).update(options_of(pool, self._env_id))
            _reset(self.env, *first_rng)
            self._first_rng, self._actions = (*first_rng,), b""
        new = actions[len(self._actions) :]
        for action in np.frombuffer(new, dtype):
            self.env.step(action if is_continuous else int(action))
        self._actions = actions
        return begins or bool(new)


class _WalkerRenderer:
    """Moves the bodies in one of Gymnasium's environments, which draws, to where they are in C.

    Its own steps would not do: the worlds of the two have had other episodes. It draws the ground
    and the clouds after a reset by the same random generator.
    """

    def __init__(self, pool: Pool, mode: str, env_id: int) -> None:
        self.env, self._env_id = _make(pool, mode, env_id), env_id
        self._module = _module(pool)
        self._episode = 0

    def follow(self, pool: Pool) -> bool:
        """Moves the bodies. Returns whether the environment was reset, which draws a window."""
        memory = ctypes.create_string_buffer(VIEW.size)
        write_state(pool, self._env_id, ctypes.addressof(memory))
        *first_rng, episode = VIEW.unpack(memory.raw)[:7]
        numbers = np.array(VIEW.unpack(memory.raw)[7:])
        begins = episode != self._episode
        if begins:
            _reset(self.env, *first_rng)
            self._episode = episode
        poses, ends = np.split(numbers, [np.prod(POSES)])
        bodies = (self.env.hull, *self.env.legs)
        for body, (x, y, angle) in zip(bodies, poses.reshape(POSES).tolist(), strict=True):
            body.transform = ((x, y), angle)
        hull = self.env.hull.position
        self.env.scroll = hull.x - self._module.VIEWPORT_W / self._module.SCALE / 5
        for ray, end in zip(self.env.lidar, ends.reshape(-1, 2).tolist(), strict=True):
            ray.p1, ray.p2 = hull, tuple(end)
        return bool(begins)


def _reset(env: Any, *generator: int) -> None:
    env.np_random.bit_generator.state = generator_state(*generator)
    env.reset()


def generator_state(
    state_high: int, state_low: int, inc_high: int, inc_low: int, has_uint32: int, uinteger: int
) -> dict[str, Any]:
    """Returns the state of a pp_rng in the form of NumPy's PCG64."""
    state = {"state": state_high << 64 | state_low, "inc": inc_high << 64 | inc_low}
    return {
        "bit_generator": "PCG64",
        "state": state,
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return Renderer.modes()


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second in the metadata of Gymnasium's environment."""
    return int(_module(pool).FPS)
