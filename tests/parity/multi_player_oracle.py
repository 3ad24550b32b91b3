"""Compares rules of Atari games for several players with multi_agent_ale_py, on the same memory.

A rule (csrc/envs/atari/games/multi_player/rules) derives each player's reward and lives, and the
end of the game, from the console's memory after each frame. Bytes of memory are also changed from
outside (poked), so that a rule is right even for memory that no agent would ever see. The frames of
a reset are not visible here; the proof of the console covers them.

    python -m tests.parity.multi_player_oracle [--frames N] [GAME ...]
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.parity import atari_rules

RULES = atari_rules.ROOT / "csrc/envs/atari/games/multi_player/rules"
PLAYERS, KEPT = 4, 4

# the modes that PettingZoo can choose, by number of players
MODES: dict[str, dict[int, tuple[int, ...]]] = {
    "boxing": {2: (2,)},
    "combat": {2: (1, 2, 8, 9, 10, 11, 13, 14, 15, 16, 21, 22)},
    "double_dunk": {2: (16,)},
    "entombed": {2: (2, 3)},
    "flag_capture": {2: (1,)},
    "ice_hockey": {2: (1,)},
    "joust": {2: (1,)},
    "mario_bros": {2: (2,)},
    "pong": {
        2: (4, 10, 14, 19, 27, 35, 39, 45),
        4: (6, 11, 16, 21, 29, 33, 37, 41, 49),
    },
}

# frames of a reset on which the rule runs, besides one for each press of SELECT: ten are RESET's
# and two NOOPs, the others are the game's own
RESET_FRAMES = {"pong": 9}


class Scores(ctypes.Structure):
    """`pp_scores` of rule.h."""

    _fields_ = (
        ("score", ctypes.c_int32 * PLAYERS),
        ("reward", ctypes.c_int32 * PLAYERS),
        ("lives", ctypes.c_int32 * PLAYERS),
        ("kept", ctypes.c_int32 * KEPT),
        ("over", ctypes.c_uint8),
    )


class Rule(ctypes.Structure):
    """`pp_players_rule`."""

    _fields_ = (
        ("reset", ctypes.CFUNCTYPE(None, ctypes.POINTER(Scores), ctypes.c_int, ctypes.c_int)),
        (
            "step",
            ctypes.CFUNCTYPE(
                None, ctypes.POINTER(Scores), ctypes.c_char_p, ctypes.c_int, ctypes.c_int
            ),
        ),
    )


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """Returns the compiled rule of a game."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rule.so"
        flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
        command = [compiler, *flags, "-o", str(output), str(RULES / f"{name}.c")]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(output))


def reads(name: str) -> list[int]:
    """Returns the addresses in a rule's source: ram[5], or, in comments, ram[5..9]."""
    text = (RULES / f"{name}.c").read_text()
    found = re.findall(r"ram\[(\d+)(?:\.\.(\d+))?\]", text)
    return sorted({at for first, last in found for at in range(int(first), int(last or first) + 1)})


class Poker(atari_rules.Poker):
    """Chooses what to poke, most often bytes that a rule for several players reads."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self.rng, self.often, self.together = rng, reads(name), []
        self.seen = []
        self.held = {}
        self.hold = 0
        text = re.sub(r"//.*|ram\[\d+\]", "", (RULES / f"{name}.c").read_text())
        found = {int(word, 0) for word in re.findall(r"\b(0x[0-9a-f]+|[1-9]\d*|0)\b", text)}
        # as they are, and in BCD
        found |= {number // 10 * 16 + number % 10 for number in found if number < 100}
        self.numbers = [number for number in sorted(found) if number < 256]

    def _value(self, old: int) -> int:
        """Returns what the rule compares with, or close to it, in a third of the cases."""
        if self.rng.random() < 0.3:
            return (int(self.rng.choice(self.numbers)) + int(self.rng.integers(-1, 2))) % 256
        return super()._value(old)


class Oracle:
    """multi_agent_ale_py with one game, as PettingZoo uses it."""

    def __init__(self, name: str, mode: int, players: int, seed: int) -> None:
        import ale_py
        import multi_agent_ale_py  # type: ignore[import-not-found, unused-ignore]

        multi_agent_ale_py.ALEInterface.setLoggerMode("error")
        self.ale: Any = multi_agent_ale_py.ALEInterface()
        self.ale.setFloat(b"repeat_action_probability", 0.0)
        self.ale.setInt(b"random_seed", seed)
        self.ale.loadROM(str(Path(ale_py.__file__).parent / "roms" / f"{name}.bin"))
        self.ale.setMode(mode)
        if self.ale.numPlayersActive() != players:
            raise ValueError(f"{name}: mode {mode} is not for {players} players")
        self.players = players
        self.actions = [int(action) for action in self.ale.getMinimalActionSet()]

    def memory(self) -> bytes:
        """Returns the console's 128 bytes."""
        return bytes(self.ale.getRAM())

    def answer(self, rewards: NDArray[np.int32]) -> tuple[int, ...]:
        """Returns the rewards and lives of all players, and whether the game is over."""
        numbers = [*rewards, *self.ale.allLives(), self.ale.game_over()]
        return tuple(int(number) for number in numbers)


@dataclass(eq=False)
class Difference(Exception):
    """The first frame on which a rule and the oracle disagree."""

    game: str
    mode: int
    frame: int
    poked: dict[int, int]
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    ram: bytes
    kept: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.game}, mode {self.mode}, frame {self.frame}, poked {self.poked}:"
            f" (rewards, lives, over) is {self.ours}, the oracle says {self.theirs};"
            f" kept {self.kept}, memory {self.ram.hex(' ', 16)}"
        )


class Match:
    """Compares a rule with the oracle, on the same memory after every frame."""

    def __init__(self, name: str, mode: int, players: int, seed: int) -> None:
        self.name, self.mode, self.players = name, mode, players
        self.rule = Rule.in_dll(library(name), f"pp_players_rule_{name}")
        self.oracle = Oracle(name, mode, players, seed)
        self.scores = Scores()
        self.poked: dict[int, int] = {}
        self.frame = 0
        self.over = False
        self.rewards = 0  # rewards that were not zero

    def reset(self) -> None:
        """Starts a game."""
        self.oracle.ale.reset_game()
        self.scores = Scores()
        if self.rule.reset:
            self.rule.reset(self.scores, self.mode, self.players)
        frames = RESET_FRAMES.get(self.name, 0) + self.mode if self.name in RESET_FRAMES else 1
        for _ in range(frames - 1):
            self.rule.step(self.scores, self.oracle.memory(), self.mode, self.players)
        self.frame, self.poked = 0, {}
        self._compare(np.zeros(self.players, np.int32), first=True)

    def poke(self, changes: dict[int, int]) -> None:
        """Changes bytes of memory."""
        self.poked = changes
        for at, value in changes.items():
            self.oracle.ale.setRAM(at, value)

    def act(self, actions: list[int]) -> None:
        """Plays a frame.

        Raises:
            Difference: the rule is wrong.
        """
        self.frame += 1
        self._compare(self.oracle.ale.act(np.array(actions, np.int32)))

    def _compare(self, rewards: NDArray[np.int32], *, first: bool = False) -> None:
        memory = self.oracle.memory()
        self.rule.step(self.scores, memory, self.mode, self.players)
        ours = [0] * self.players if first else self.scores.reward[: self.players]
        ours += [*self.scores.lives[: self.players], self.scores.over]
        theirs = self.oracle.answer(rewards)
        if tuple(ours) != theirs:
            kept = [*self.scores.kept]
            raise Difference(
                self.name, self.mode, self.frame, self.poked, tuple(ours), theirs, memory, kept
            )
        self.rewards += int(np.count_nonzero(rewards))
        self.over = bool(theirs[-1])


class Players:
    """Several players, each with a way to play of its own, which changes now and then."""

    HOLDS = (1.2, 4, 12, 40)

    def __init__(self, actions: list[int], players: int, rng: np.random.Generator) -> None:
        self.actions, self.players, self.rng = actions, players, rng
        self.start()

    def start(self) -> None:
        """Chooses how each player plays now: at random, idle, or one action mostly."""
        self.held = [0] * self.players
        self.left = [0] * self.players
        self.kinds = [int(self.rng.integers(5)) for _ in range(self.players)]
        self.usual = [int(self.rng.choice(self.actions)) for _ in range(self.players)]
        self.holds = [float(self.rng.choice(self.HOLDS)) for _ in range(self.players)]

    def choose(self) -> list[int]:
        """Returns the actions of all players in the next frame."""
        for i in range(self.players):
            if not self.left[i]:
                self.held[i] = self._draw(i)
                self.left[i] = int(self.rng.geometric(1 / self.holds[i]))
            self.left[i] -= 1
        return self.held

    def _draw(self, player: int) -> int:
        kind = self.kinds[player]
        if kind == 0:  # idle
            return 0
        if kind == 1 and self.rng.random() < 0.8:
            return self.usual[player]
        return int(self.rng.choice(self.actions))


def compare(match: Match, frames: int, *, seed: int = 0, poking: float = 0.0) -> int:
    """Plays and compares; returns the number of games that ended.

    Args:
        poking: the share of frames before which bytes are changed.

    Raises:
        Difference: the rule is wrong.
    """
    rng = np.random.default_rng(seed)
    poker, players = Poker(match.name, rng), Players(match.oracle.actions, match.players, rng)
    games = 0
    match.reset()
    for frame in range(frames):
        # after pokes a game may never end
        if match.over or (poking and rng.random() < 0.002):
            match.reset()
            players.start()
        elif rng.random() < 0.001:
            players.start()
        memory = match.oracle.memory()
        match.poke(poker.next(memory, poking) if poking and not match.over else {})
        match.act(players.choose())
        games += match.over
        if poking and (match.over or frame % 50 == 0):
            poker.remember(match.oracle.memory())
    return games


def proofs(name: str, frames: int, seed: int) -> Iterator[str]:
    """Compares a game in all modes, with and without pokes; yields what was done, in words."""
    for players, modes in MODES[name].items():
        for mode in modes:
            match = Match(name, mode, players, seed)
            games = compare(match, frames, seed=seed)
            words = f"mode {mode}, {players} players: {frames} frames, {games} games,"
            words += f" {match.rewards} rewards"
            for share in (0.002, 0.05):
                games = compare(match, frames, seed=seed + 1, poking=share)
                words += f"; {share:.1%} of {frames} frames poked, {games} games"
            yield words


def main() -> int:
    """Compares games and prints which rules hold; returns 1 if one does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="*", help="default: all games")
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    for name in options.game or sorted(MODES):
        try:
            for line in proofs(name, options.frames, options.seed):
                print(f"{name}, {line}", flush=True)
        except Difference as difference:
            wrong += 1
            print(f"{name}: WRONG: {difference}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
