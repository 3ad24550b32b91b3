"""Pictures of toy text environments, drawn by Gymnasium's own, which take on the native states."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.variation import value_for_env
from parallel_pool._families import toy_text
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

MODES = ("human", "ansi", "rgb_array")
# pictures have no options
OPTIONS: Mapping[str, Any] = MappingProxyType({})

BLACKJACK = "Blackjack-v1"
SUITS = "CDHS"
FACES = "JQK"


def _put_table(env: Any, state: bytes) -> int:
    """Puts a state of csrc/envs/toy_text/table.h; returns how many episodes there were."""
    env.s, action, resets = struct.unpack_from("3q", state)
    env.lastaction = None if action < 0 else action
    return int(resets)


def _put_cards(env: Any, state: bytes) -> int:
    """Puts a state of csrc/envs/toy_text/blackjack.c; episodes do not matter to the picture."""
    # hands: total, number of cards, first card, whether there is an ace; then suit and face
    total, _, _, has_ace, _, _, dealer, _, suit, face = struct.unpack_from("10i", state)
    # any hand with this sum and ace
    env.player = [1, total - 1] if has_ace else [total]
    env.dealer = [dealer]
    env.dealer_top_card_value_str = {1: "A", 10: FACES[face]}.get(dealer, str(dealer))
    env.dealer_top_card_suit = SUITS[suit]
    return 0


class Renderer:
    """Draws the environments of a pool with one of Gymnasium's; the pixels equal its own."""

    def __init__(self, pool: Pool, mode: str = "rgb_array") -> None:
        """Makes the environment that draws.

        Args:
            pool: of toy text environments.
            mode: "rgb_array"; "human" for a window; "ansi" for text, except of Blackjack.

        Raises:
            ValueError: there is no such mode.
            MissingDependencyError: Gymnasium is not installed.
        """
        env_id = pool.definition.id
        known = modes(pool.definition)
        if mode not in known:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, known))}")
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f"pictures of {env_id} need Gymnasium ({error}): pip install"
                " 'parallel_pool[render]'"
            ) from error
        self._pool, self._mode = pool, mode
        # by map, for pools whose maps differ
        self._envs: dict[str, Any] = {}
        self._env_of(0)
        self._missing = gymnasium.error.DependencyNotInstalled
        self._put: Callable[[Any, bytes], int]
        self._put = _put_cards if env_id == BLACKJACK else _put_table
        # Taxi: of each environment, the episode and the orientation in its last picture
        self._orientations: dict[int, tuple[int, int]] = {}
        # all environments of the pool are drawn by one
        self._lock = threading.Lock()

    def _env_of(self, env_id: int) -> Any:
        """Returns the environment that draws an environment of the pool."""
        import gymnasium

        options = self._pool.spec.options
        own = {name: value_for_env(value, env_id) for name, value in options.items()}
        chosen = toy_text.map_options(own)
        key = repr(chosen)
        if key not in self._envs:
            made = gymnasium.make(
                self._pool.definition.id, disable_env_checker=True, render_mode=self._mode, **chosen
            )
            self._envs[key] = made.unwrapped
        return self._envs[key]

    def draw(self, env_id: int, action: Array | None = None) -> Any:
        """Draws an environment.

        Args:
            env_id: of the environment in the pool.
            action: not needed.

        Returns:
            RGB pixels, uint8 (height, width, 3); a text with "ansi"; None for a window.

        Raises:
            parallel_pool.errors.StateError: the environment is in flight.
            MissingDependencyError: pygame is not installed.
        """
        (snapshot,) = self._pool.get_state([env_id])
        with self._lock:
            env = self._env_of(env_id)
            # a snapshot ends with the environment's own bytes
            episode = self._put(env, snapshot[-self._pool.definition.raw.state_size :])
            # a taxi keeps the orientation of its last picture while it picks up and drops off
            before, orientation = self._orientations.get(env_id, (episode, 0))
            env.taxi_orientation = orientation if before == episode else 0
            try:
                picture = env.render()
            except self._missing as error:
                raise MissingDependencyError(
                    "drawing needs pygame, which is not installed: pip install"
                    " 'parallel_pool[render]'"
                ) from error
            self._orientations[env_id] = (episode, env.taxi_orientation)
            return picture

    def close(self) -> None:
        """Closes the window; without one nothing is open, and pygame may serve others."""
        if self._mode == "human":
            for env in self._envs.values():
                env.close()


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return tuple(each for each in MODES if each != "ansi" or definition.id != BLACKJACK)


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second in the metadata of Gymnasium's environments."""
    return 4
