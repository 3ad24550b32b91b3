"""Pictures of Box2D's environments, drawn by Gymnasium's own ones, which replay the episodes."""

from __future__ import annotations

import importlib
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool.envs.box2d import INSTALL
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool.buffers import Array
    from parallel_pool.pool import Pool

MODES = ("human", "rgb_array")

OPTIONS: Mapping[str, Any] = MappingProxyType({})

# C's snapshot_end: a pp_rng, and the number of actions
END = struct.Struct("<4Q2Iq")


@dataclass
class _Episode:
    """An episode in one of Gymnasium's environments, as far as it was replayed.

    Attributes:
        env: the environment.
        first_rng: the random generator at the beginning, as C's numbers; empty before it.
        actions: the actions so far, as C records them.
    """

    env: Any
    first_rng: tuple[int, ...] = ()
    actions: bytes = b""


class Renderer:
    """Draws the environments of a pool; the pixels equal Gymnasium's.

    Each environment that is drawn has one of Gymnasium's beside it. Before a picture, that one
    takes the steps that the pool has taken since the last picture. So it also has the particles of
    the engines' fire, which exist only in environments that draw, and age with each picture.
    """

    def __init__(self, pool: Pool, mode: str = "rgb_array") -> None:
        """
        Args:
            pool: of LunarLander's environments.
            mode: "rgb_array", or "human" for a window.

        Raises:
            ValueError: there is no such mode.
            MissingDependencyError: pygame is not installed.
        """
        if mode not in MODES:
            raise ValueError(f"mode={mode!r}: choose {' or '.join(map(repr, MODES))}")
        try:
            importlib.import_module("pygame")
        except ImportError as error:
            raise MissingDependencyError(
                f"pictures of {pool.definition.id} need pygame ({error}): {INSTALL}"
            ) from error
        self._pool, self._mode = pool, mode
        self._episodes: dict[int, _Episode] = {}
        self._lock = threading.Lock()

    def paint(self, env_id: int, action: Array | None = None) -> Any:
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
        (snapshot,) = self._pool.get_state([env_id])
        with self._lock:
            episode = self._episodes.get(env_id)
            if episode is None:
                episode = self._episodes[env_id] = _Episode(self._make(env_id))
            has_drawn = self._replay(episode, env_id, snapshot)
            # a window is drawn by each reset and step
            return None if has_drawn and self._mode == "human" else episode.env.render()

    def _options(self, env_id: int) -> dict[str, Any]:
        values = self._pool.options_of(env_id)
        options = self._pool.definition.options
        return {name: values[name] for name, option in options.items() if not option.is_hidden}

    def _make(self, env_id: int) -> Any:
        module: Any = importlib.import_module("gymnasium.envs.box2d.lunar_lander")
        return module.LunarLander(render_mode=self._mode, **self._options(env_id))

    def _replay(self, episode: _Episode, env_id: int, snapshot: bytes) -> bool:
        """Plays an episode up to a snapshot. Returns whether it was reset or stepped."""
        # a snapshot ends with the environment's own bytes
        *first_rng, count = END.unpack(snapshot[-END.size :])
        is_continuous = self._pool.spec.action.space_kind == "box"
        dtype = np.dtype((np.float64, 2)) if is_continuous else np.dtype(np.uint8)
        start = len(snapshot) - END.size - count * dtype.itemsize
        actions = snapshot[start : len(snapshot) - END.size]
        begins = (*first_rng,) != episode.first_rng or not actions.startswith(episode.actions)
        if begins:
            # those that are drawn at each reset are attributes of Gymnasium's environment
            vars(episode.env).update(self._options(env_id))
            episode.env.np_random.bit_generator.state = _generator(*first_rng)
            episode.env.reset()
            episode.first_rng, episode.actions = (*first_rng,), b""
        new = actions[len(episode.actions) :]
        for action in np.frombuffer(new, dtype):
            episode.env.step(action if is_continuous else int(action))
        episode.actions = actions
        return begins or bool(new)

    def close(self) -> None:
        """Closes the environments, and their window."""
        with self._lock:
            for episode in self._episodes.values():
                episode.env.close()
            self._episodes = {}


def _generator(
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


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second in the metadata of Gymnasium's environment."""
    module: Any = importlib.import_module("gymnasium.envs.box2d.lunar_lander")
    return int(module.FPS)
