"""Pictures of PettingZoo's classic games, drawn by the environments that they equal."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.variation import first_options
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

MODES = ("human", "rgb_array")

# the size of a picture is a constructor option of the games themselves, as in PettingZoo
OPTIONS: Mapping[str, Any] = MappingProxyType({})


def _put_squares(game: Any, state: bytes) -> None:
    game.board.squares = list(state[:9])


def _put_board(game: Any, state: bytes) -> None:
    game.board = list(state[:42])


def _put_hands(game: Any, state: bytes) -> None:
    # -1, "none yet", is an index of PettingZoo's last name
    hands = (np.frombuffer(state, np.int32, 10) - 1).tolist()
    game.history = hands
    game.state = dict(zip(game.possible_agents, hands, strict=False))


class _Reference(NamedTuple):
    """PettingZoo's environment of a game.

    Attributes:
        module: where its `raw_env` is.
        fps: pictures per second in its metadata.
        put: gives it the state of a native game, as C's struct begins.
    """

    module: str
    fps: int
    put: Callable[[Any, bytes], None]


REFERENCES = {
    "classic/tictactoe_v3": _Reference("tictactoe.tictactoe", 1, _put_squares),
    "classic/connect_four_v3": _Reference("connect_four.connect_four", 2, _put_board),
    "classic/rps_v2": _Reference("rps.rps", 2, _put_hands),
}


class Renderer:
    """Draws the games of a pool with one environment of PettingZoo's; the pixels equal its own."""

    def __init__(self, pool: Pool, mode: str = "rgb_array") -> None:
        """Makes the environment that draws.

        Args:
            pool: of classic games.
            mode: "rgb_array", or "human" for a window.

        Raises:
            ValueError: there is no such mode.
            MissingDependencyError: PettingZoo or pygame is not installed.
        """
        if mode not in MODES:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, MODES))}")
        self._pool = pool
        self._reference = REFERENCES[pool.definition.id]
        self._is_window = mode == "human"
        try:
            module = importlib.import_module(f"pettingzoo.classic.{self._reference.module}")
            self._fonts: Any = importlib.import_module("pygame.font")
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f"pictures of {pool.definition.id} need PettingZoo and pygame ({error}):"
                " pip install 'parallel_pool[pettingzoo,render]'"
            ) from error
        self._game: Any = module.raw_env(render_mode=mode, **first_options(pool.spec.options))
        self._game.reset()
        # all games of the pool are drawn by one environment
        self._lock = threading.Lock()

    def draw(
        self,
        env_id: int,
        action: Array | None = None,
        *,
        hands: Sequence[int] | None = None,
        agents: Sequence[str] | None = None,
    ) -> Any:
        """Draws a game.

        Args:
            env_id: of the game in the pool.
            action: not needed.
            hands: rock, paper, scissors: what the players have chosen in this round, num_actions
                for nothing yet; None for the last round.
            agents: rock, paper, scissors: the agents that are left; None for all until the end.

        Returns:
            RGB pixels, uint8 (height, width, 3); None for a window.

        Raises:
            parallel_pool.errors.StateError: the game is in flight.
        """
        (snapshot,) = self._pool.get_state([env_id])
        game = self._game
        if agents is None and self._pool.needs_reset(env_id):
            agents = []
        with self._lock:
            # another environment of PettingZoo's may have ended pygame when it was closed
            self._fonts.init()
            # a snapshot ends with the game's own bytes
            self._reference.put(game, snapshot[-self._pool.definition.raw.state_size :])
            if hands is not None:
                game.state = dict(zip(game.possible_agents, hands, strict=True))
            # those of grids are drawn the same when no agent is left
            game.agents = list(game.possible_agents if agents is None else agents)
            return game.render()

    def close(self) -> None:
        """Closes the window; without one nothing is open, and pygame may serve others."""
        if self._is_window:
            self._game.close()


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return MODES


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second in the metadata of PettingZoo's environment."""
    return REFERENCES[pool.definition.id].fps
