"""Compares the Atari core with ale-py, frame by frame: RAM, screen, reward, lives, game over.

Run it for a long proof: `python -m tests.parity.atari_core --game pong --frames 20000`.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ale_py import ALEInterface, LoggerMode, roms
from numpy.typing import NDArray

from tests.support.c_library import Hidden, link_shipped

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "csrc" / "envs" / "atari"
BUILDS = ("base", "v3", "v4")

# the folders of the core: the console, and the games with their rules
FOLDERS = (
    *("console", "console/translation"),
    *("games", "games/rules", "games/multiplayer", "games/multiplayer/rules"),
)


class CartridgeOptions(ctypes.Structure):
    """pp_cartridge_options"""

    _fields_ = (
        ("rom", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("game", ctypes.c_char_p),
        ("players", ctypes.c_int),
        ("isa", ctypes.c_int),
        ("interprets", ctypes.c_bool),
    )


# the functions that tests call, without pp_: result and arguments
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "cartridge_choose_build": (ctypes.c_bool, [ctypes.POINTER(CartridgeOptions), ctypes.c_char_p]),
    "cartridge_create": (_INT, [ctypes.POINTER(CartridgeOptions), ctypes.POINTER(_POINTER)]),
    "cartridge_drop_rules": (None, [_POINTER]),
    "cartridge_destroy": (None, [_POINTER]),
    "console_size": (ctypes.c_size_t, []),
    "console_use_cache": (None, [_POINTER, _POINTER]),
    "line_cache_size": (ctypes.c_size_t, []),
    "line_cache_empty": (None, [_POINTER]),
    "console_load": (None, [_POINTER, _POINTER, ctypes.c_uint32, ctypes.c_float]),
    "console_set_mode": (_INT, [_POINTER, _POINTER, _INT]),
    "console_set_difficulty": (_INT, [_POINTER, _POINTER, _INT]),
    "console_reset_game": (None, [_POINTER, _POINTER]),
    "console_power": (None, [_POINTER, _POINTER]),
    "console_idle": (None, [_POINTER, _POINTER, _INT, ctypes.c_uint, _INT]),
    "console_act": (_INT, [_POINTER, _POINTER, _INT, ctypes.c_bool]),
    "console_game_over": (ctypes.c_bool, [_POINTER]),
    "console_lives": (_INT, [_POINTER]),
    "console_ram": (_POINTER, [_POINTER]),
    "console_screen": (_POINTER, [_POINTER]),
    "console_changed": (None, [_POINTER, _POINTER]),
    "mapper_detect": (_INT, [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_bool)]),
}

ALEInterface.setLoggerMode(LoggerMode.Error)


def units(sources: Path = SOURCES) -> list[Path]:
    """Returns the C files of the core, in a tree of the same shape."""
    csrc = sources.parents[1]
    files = [path for folder in FOLDERS for path in sorted((sources / folder).glob("*.c"))]
    others = ("base/isa.c", "base/mt19937.c", "os/code_memory.c")
    return [*files, *(csrc / name for name in others)]


def symbols() -> list[str]:
    """Returns the functions that tests call."""
    return [f"pp_{name}" for name in FUNCTIONS]


def build() -> Path:
    """Links the core of the shipped module into a library and returns its path."""
    return link_shipped("atari_core", units(), symbols())


class Library:
    """The core's C functions, with their types."""

    def __init__(self, path: Path) -> None:
        types = {f"pp_{name}": (result, *given) for name, (result, given) in FUNCTIONS.items()}
        self.c = Hidden(path).functions(types)


class Console:
    """One console of the core, under the names that ALEInterface uses.

    cache: it remembers the lines of the last frame, as environments do.
    options: fields of CartridgeOptions, in place of the build's.
    """

    rules = True  # False drops the game's rule (no score, no end) and its start of a game

    def __init__(
        self,
        library: Library,
        game: str,
        *,
        seed: int,
        sticky: float = 0.0,
        cache: bool = True,
        build: str = "",
        **options: int,
    ) -> None:
        self.c = library.c
        rom = self.program(game)
        chosen = CartridgeOptions(rom, len(rom), game.encode())
        if not self.c.pp_cartridge_choose_build(ctypes.byref(chosen), build.encode()):
            raise ValueError(f"this processor cannot run the build {build!r}")
        for name, value in options.items():
            setattr(chosen, name, value)
        self.cartridge = ctypes.c_void_p()
        status = self.c.pp_cartridge_create(ctypes.byref(chosen), ctypes.byref(self.cartridge))
        if status < 0:
            raise ValueError(f"{game}: the core refuses this ROM with status {status}")
        if not self.rules:
            self.c.pp_cartridge_drop_rules(self.cartridge)
        # the builds use aligned vectors, so the state must start at a multiple of 64
        self.size = (self.c.pp_console_size() + 63) & ~63
        self.memory = ctypes.create_string_buffer(self.size + self.c.pp_line_cache_size() + 64)
        start = (ctypes.addressof(self.memory) + 63) & ~63
        self.state = ctypes.c_void_p(start)
        self.cache = ctypes.c_void_p(start + self.size)
        if cache:
            self.c.pp_console_use_cache(self.state, self.cache)
        self.c.pp_console_load(self.state, self.cartridge, seed, sticky)

    def program(self, game: str) -> bytes:
        """Returns the program to play."""
        return Path(roms.get_rom_path(game)).read_bytes()

    def forget(self) -> None:
        """Empties the cache, which whoever overwrites the state must do."""
        self.c.pp_line_cache_empty(self.cache)

    def close(self) -> None:
        """Frees the cartridge; the console cannot be used after that."""
        self.c.pp_cartridge_destroy(self.cartridge)

    def set(self, mode: int, difficulty: int) -> None:
        """Sets mode and difficulty of the next game; ValueError if the game does not have them."""
        if self.c.pp_console_set_mode(self.state, self.cartridge, mode) < 0:
            raise ValueError(f"no mode {mode}")
        if self.c.pp_console_set_difficulty(self.state, self.cartridge, difficulty) < 0:
            raise ValueError(f"no difficulty {difficulty}")

    def reset_game(self) -> None:
        self.c.pp_console_reset_game(self.state, self.cartridge)

    def act(self, action: int, draw: bool) -> int:
        return int(self.c.pp_console_act(self.state, self.cartridge, action, draw))

    def game_over(self) -> bool:
        return bool(self.c.pp_console_game_over(self.state))

    def lives(self) -> int:
        return int(self.c.pp_console_lives(self.state))

    def ram(self) -> NDArray[np.uint8]:
        """Returns a copy of the RAM, shape (128,)."""
        raw = ctypes.string_at(self.c.pp_console_ram(self.state), 128)
        return np.frombuffer(raw, np.uint8)

    def changed(self) -> NDArray[np.uint8]:
        """Returns which rows of the screens may have changed since the last call, shape (256,)."""
        rows = np.empty(256, np.uint8)
        self.c.pp_console_changed(self.state, rows.ctypes.data)
        return rows

    def screen(self, shape: tuple[int, int]) -> NDArray[np.uint8]:
        """Returns a copy of the palette indices, shape (height, 160)."""
        raw = ctypes.string_at(self.c.pp_console_screen(self.state), shape[0] * shape[1])
        return np.frombuffer(raw, np.uint8).reshape(shape)


class ProgramConsole(Console):
    """A console that runs a program of a test, without rules."""

    rules = False

    def __init__(self, library: Library, rom: bytes, *, build: str, cache: bool = True) -> None:
        self.rom = rom
        super().__init__(library, "seaquest", seed=1, cache=cache, build=build)

    def program(self, game: str) -> bytes:
        return self.rom


# chooses an action, from the frame number, a generator and the actions allowed
Player = Callable[[int, np.random.Generator, list[int]], int]


def player(hold: int) -> Player:
    """Returns a player that chooses a random action every `hold` frames."""
    held = [0]

    def choose(frame: int, random: np.random.Generator, actions: list[int]) -> int:
        if frame % hold == 0:
            held[0] = actions[int(random.integers(len(actions)))]
        return held[0]

    return choose


@dataclass(frozen=True)
class Case:
    """One comparison: a game in one mode and difficulty, and how it is played and drawn."""

    game: str
    mode: int
    difficulty: int
    frames: int
    hold: int = 1
    sticky: float = 0.0
    full_actions: bool = False
    draw: str = "all"
    reset_every: int = 0
    build: str = ""


# which frames get pixels: all, the last two of four, or random ones
DRAW: dict[str, Callable[[int, np.random.Generator], bool]] = {
    "all": lambda frame, random: True,
    "two": lambda frame, random: frame % 4 >= 2,
    "chance": lambda frame, random: bool(random.random() < 0.3),
}


class Difference(AssertionError):
    """The core and ALE disagree."""


def compare(library: Library, case: Case, *, seed: int) -> int:
    """Plays one case in the core and in ALE; returns the number of games that ended.

    Raises Difference with the frame and what differs.
    """
    ale = ALEInterface()
    ale.setInt("random_seed", seed)
    ale.setFloat("repeat_action_probability", case.sticky)
    ale.loadROM(roms.get_rom_path(case.game))
    core = Console(library, case.game, seed=seed, sticky=case.sticky, build=case.build)
    ale.setMode(case.mode)
    ale.setDifficulty(case.difficulty)
    core.set(case.mode, case.difficulty)
    ale.reset_game()
    core.reset_game()
    listed = ale.getLegalActionSet() if case.full_actions else ale.getMinimalActionSet()
    actions = [action.value for action in listed]
    random, choose, games = np.random.default_rng(seed), player(case.hold), 0
    height, width = ale.getScreenDims()
    for frame in range(case.frames):
        action, draw = choose(frame, random, actions), DRAW[case.draw](frame, random)
        ours = (core.act(action, draw), core.lives(), core.game_over())
        theirs = (ale.act(action), ale.lives(), ale.game_over())
        if ours != theirs:
            raise Difference(f"{case} frame {frame}: reward, lives, over {ours} != {theirs}")
        if not np.array_equal(core.ram(), ale.getRAM()):
            where = np.flatnonzero(core.ram() != ale.getRAM()).tolist()
            raise Difference(f"{case} frame {frame}: RAM differs at {where}")
        if draw and not np.array_equal(core.screen((height, width)), ale.getScreen()):
            where = np.argwhere(core.screen((height, width)) != ale.getScreen())[:4].tolist()
            raise Difference(f"{case} frame {frame}: screen differs at {where}")
        if ale.game_over() or (case.reset_every and frame % case.reset_every == 0):
            games += 1
            ale.reset_game()
            core.reset_game()
    core.close()
    return games


def settings(game: str) -> Iterator[tuple[int, int]]:
    """Yields all pairs of mode and difficulty that ALE offers."""
    ale = ALEInterface()
    ale.loadROM(roms.get_rom_path(game))
    for mode in ale.getAvailableModes():
        for difficulty in ale.getAvailableDifficulties():
            yield int(mode), int(difficulty)


def cases(game: str, frames: int) -> Iterator[Case]:
    """Yields the cases of the long proof: several ways to play, then every mode and difficulty."""
    first = next(settings(game))
    for hold in (1, 5, 30):
        yield Case(game, *first, frames, hold=hold)
    yield Case(game, *first, frames, hold=12, draw="two")
    yield Case(game, *first, frames, hold=7, draw="chance", reset_every=331)
    yield Case(game, *first, frames, hold=4, sticky=0.25, draw="two")
    yield Case(game, *first, frames, hold=3, full_actions=True)
    for mode, difficulty in settings(game):
        yield Case(game, mode, difficulty, frames // 4, hold=8, draw="chance")


def main() -> int:
    """Runs the long proof from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", action="append", required=True)
    parser.add_argument("--frames", type=int, default=20000)
    parser.add_argument("--build", choices=["", *BUILDS], default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", type=Path, help="an already built core instead of a new one")
    options = parser.parse_args()
    library = Library(options.library or build())
    for game in options.game:
        total = games = runs = 0
        for case in cases(game, options.frames):
            case = Case(**{**case.__dict__, "build": options.build})
            games += compare(library, case, seed=options.seed + runs)
            total, runs = total + case.frames, runs + 1
        print(f"{game}: {total} frames, {games} games, {runs} runs: identical", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
