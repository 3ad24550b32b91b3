"""Compares rules of Atari games with ALE's answers: `python -m tests.parity.atari_rules GAME ...`.

A rule (csrc/envs/atari/games/rules) derives the reward of a frame, the lives and the end of the
game from the console's memory, as ALE does. Here both read the same memory after every frame. Bytes
of memory are also changed from outside (poked), so that a rule is right even for memory that no
agent would ever see. ALE also applies its rule to the frames of a reset; of these only the last
one's memory is visible here.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import itertools
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "csrc/envs/atari/games/rules"
STATE = 6

# games whose rules read the cartridge's own RAM; in ALE's states it follows this name
CARTRIDGES = {"klax": b"CartridgeF6SC"}

# games in which ALE's rule has state that ALE's snapshots lack
HIDDEN_STATE = ("hangman", "miniature_golf", "video_cube")

# bytes that have a meaning only together: a side of the cube
GROUPS = {"video_cube": [range(at, at + 9) for at in range(32, 86, 9)]}


class Score(ctypes.Structure):
    """`pp_score` of rules/rule.h."""

    _fields_ = (
        ("score", ctypes.c_int32),
        ("reward", ctypes.c_int32),
        ("lives", ctypes.c_int32),
        ("over", ctypes.c_uint8),
        ("started", ctypes.c_uint8),
        ("state", ctypes.c_uint8 * STATE),
    )


class Rule(ctypes.Structure):
    """`pp_rule`."""

    _fields_ = (
        ("reset", ctypes.CFUNCTYPE(None, ctypes.POINTER(Score))),
        ("step", ctypes.CFUNCTYPE(None, ctypes.POINTER(Score), ctypes.c_char_p)),
    )


def names() -> list[str]:
    """Returns the games that have a rule."""
    return sorted(path.stem for path in RULES.glob("*.c"))


@functools.cache
def library(chosen: tuple[str, ...]) -> ctypes.CDLL:
    """Returns the compiled rules of some games."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rules.so"
        sources = [str(RULES / f"{name}.c") for name in chosen]
        flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
        subprocess.run([compiler, *flags, "-o", str(output), *sources], check=True)
        return ctypes.CDLL(str(output))


@dataclass(eq=False)
class Difference(Exception):
    """The first frame on which a rule and ALE disagree."""

    game: str
    mode: int
    frame: int
    poked: dict[int, int]
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    ram: bytes

    def __str__(self) -> str:
        return (
            f"{self.game}, mode {self.mode}, frame {self.frame}, poked {self.poked}:"
            f" (reward, lives, over) is {self.ours}, ALE says {self.theirs};"
            f" memory {self.ram.hex(' ', 16)}"
        )


class Oracle:
    """ale_py with one game."""

    def __init__(self, name: str, seed: int, sticky: float = 0.0) -> None:
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", sticky)
        self.ale.setInt("max_num_frames_per_episode", 0)
        self.ale.loadROM(Path(ale_py.__file__).parent / "roms" / f"{name}.bin")
        self.cartridge = CARTRIDGES.get(name, b"")
        self.modes = list(self.ale.getAvailableModes())
        self.difficulties = list(self.ale.getAvailableDifficulties())
        self.actions = self.ale.getMinimalActionSet()

    def draw(self, rng: np.random.Generator) -> Any:
        """Returns a random action from the game's minimal set."""
        return self.actions[rng.integers(len(self.actions))]

    def memory(self) -> bytes:
        """Returns the memory that a rule may read."""
        ram = bytes(self.ale.getRAM())
        if self.cartridge:
            state, at = self._cartridge_ram()
            ram += bytes(state[at : at + 4 * 128 : 4])
        return ram

    def write(self, at: int, value: int) -> None:
        """Changes a byte of the memory that a rule may read."""
        if at < 128:
            self.ale.setRAM(at, value)
        else:
            state, start = self._cartridge_ram()
            state[start + 4 * (at - 128)] = value
            self.ale.restoreState(type(self.ale.cloneState())(bytes(state)))

    def answer(self, reward: float) -> tuple[int, ...]:
        """Returns reward, lives and whether the game is over."""
        over = self.ale.game_over(with_truncation=False)
        return int(reward), int(self.ale.lives()), int(over)

    def _cartridge_ram(self) -> tuple[bytearray, int]:
        """Returns ALE's state, and the offset of the cartridge's bytes in it, one in each word."""
        state = bytearray(self.ale.cloneState().serialize())
        # the current bank and the number of bytes come before them
        return state, state.index(self.cartridge) + len(self.cartridge) + 8


class Match:
    """Compares a rule with ALE, on the same memory after every frame."""

    def __init__(self, name: str, seed: int, mode: int | None = None) -> None:
        self.name, self.mode = name, mode
        self.rule = Rule.in_dll(library((name,)), f"pp_rule_{name}")
        self.oracle = Oracle(name, seed)
        if mode is not None:
            self.oracle.ale.setMode(mode)
        self.score = Score()
        self.poked: dict[int, int] = {}
        self.actions: list[Any] = []  # since the reset
        self.over = False

    def reset(self) -> None:
        """Starts a game."""
        self.oracle.ale.reset_game()
        self.score = Score()
        if self.rule.reset:
            self.rule.reset(self.score)
        self.actions.clear()
        self.poked = {}
        self._compare(0, first=True)

    def poke(self, changes: dict[int, int]) -> None:
        """Changes bytes of memory; has no effect on ALE after the end of a game."""
        self.poked = changes
        for at, value in changes.items():
            self.oracle.write(at, value)

    def act(self, action: Any) -> None:
        """Plays a frame.

        Raises:
            Difference: the rule is wrong.
        """
        self.actions.append(action)
        self._compare(self.oracle.ale.act(action))

    def _compare(self, reward: float, *, first: bool = False) -> None:
        memory = self.oracle.memory()
        self.rule.step(self.score, memory)
        ours = 0 if first else self.score.reward, self.score.lives, self.score.over
        theirs = self.oracle.answer(reward)
        if ours != theirs:
            frame = len(self.actions)
            raise Difference(self.name, self.mode or 0, frame, self.poked, ours, theirs, memory)
        self.over = bool(theirs[2])

    def save(self) -> tuple[Any, bytes, list[Any]]:
        """Returns a snapshot of both sides."""
        return self.oracle.ale.cloneState(), bytes(self.score), list(self.actions)

    def restore(self, moment: tuple[Any, bytes, list[Any]]) -> None:
        """Restores a snapshot, which must be from a game without pokes that had not ended."""
        state, score, actions = moment
        self.poked, self.over = {}, False
        if self.name in HIDDEN_STATE:
            self.reset()
            for action in actions:
                self.act(action)
            return
        self.oracle.ale.restoreState(state)
        self.score, self.actions = Score.from_buffer_copy(score), list(actions)


class Poker:
    """Chooses what to poke: random values, likely values, and values from earlier memory."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self.rng, self.often, self.together = rng, reads(name), GROUPS.get(name, [])
        self.seen: list[bytes] = []
        self.held: dict[int, int] = {}
        self.hold = 0  # number of frames for which the byte in `held` stays changed

    def remember(self, memory: bytes) -> None:
        """Keeps a copy of the memory; once there are 64, it replaces a random one."""
        if len(self.seen) < 64:
            self.seen.append(memory)
        else:
            self.seen[int(self.rng.integers(64))] = memory

    def next(self, memory: bytes, share: float) -> dict[int, int]:
        """Returns what to change before a frame: new bytes in some frames, and held bytes.

        Only a byte that is held for many frames tests a rule that counts frames.
        """
        self.hold -= 1
        if self.hold <= 0:
            self.held = {}
        if self.rng.random() >= share:
            return self.held
        changes = self.changes(memory)
        if changes and not self.held and self.rng.random() < 0.1:
            at = list(changes)[int(self.rng.integers(len(changes)))]
            self.held, self.hold = {at: changes[at]}, int(self.rng.integers(20, 200))
        return {**changes, **self.held}

    def changes(self, memory: bytes) -> dict[int, int]:
        """Returns new values of bytes, most often of bytes that the rule reads."""
        rng, changes = self.rng, {}
        if self.together and rng.random() < 0.2:
            for group in self.together:
                if rng.random() < 0.9:
                    changes.update(dict.fromkeys(group, int(rng.integers(6))))
            return changes
        if self.seen and rng.random() < 0.2:
            before = self.seen[int(rng.integers(len(self.seen)))]
            return {at: before[at] for at in self.often if rng.random() < 0.8}
        for _ in range(int(rng.integers(1, 5))):
            usual = bool(self.often) and rng.random() < 0.7
            at = int(rng.choice(self.often)) if usual else int(rng.integers(128))
            changes[at] = self._value(memory[at])
        return changes

    def _value(self, old: int) -> int:
        rng, kind = self.rng, self.rng.integers(5)
        if kind == 0:  # decimal digits
            return int(rng.integers(10)) * 16 + int(rng.integers(10))
        if kind == 1:  # close to the old value
            return (old + int(rng.integers(-2, 3))) % 256
        if kind == 2:
            return int(rng.choice([0, 1, 2, 0x80, 0x99, 0x9F, 0xA0, 0xF0, 0xFF]))
        return int(rng.integers(256))


def compare(
    name: str,
    frames: int,
    *,
    mode: int | None = None,
    seed: int = 0,
    poking: float = 0.0,
    match: Match | None = None,
) -> int:
    """Plays and compares; returns the number of episodes that ended.

    Args:
        poking: the share of frames before which bytes are changed.
        match: the match to play, for callers that read it afterwards.

    Raises:
        Difference: the rule is wrong.
    """
    rng = np.random.default_rng(seed)
    match, poker = match or Match(name, seed, mode), Poker(name, rng)
    episodes, hold, action = 0, 0, match.oracle.actions[0]
    match.reset()
    for frame in range(frames):
        # after pokes a game may never end
        if match.over or (poking and rng.random() < 0.002):
            match.reset()
        disturbed = poking and not match.over
        match.poke(poker.next(match.oracle.memory(), poking) if disturbed else {})
        if not hold:
            action = match.oracle.draw(rng)
            hold = int(rng.geometric(1 / rng.choice([1.5, 4, 12, 40])))
        hold -= 1
        # in some modes a game is over at its reset
        match.act(action)
        episodes += match.over
        if poking and (match.over or frame % 50 == 0):
            poker.remember(match.oracle.memory())
    return episodes


def reads(name: str) -> list[int]:
    """Returns the addresses in a rule's source: ram[5], or, in comments, ram[5..9]."""
    text = (RULES / f"{name}.c").read_text()
    found = re.findall(r"ram\[(\d+)(?:\.\.(\d+))?\]", text)
    return sorted({at for first, last in found for at in range(int(first), int(last or first) + 1)})


def sweep(name: str, seed: int, moments: int = 3) -> int:
    """Tries all values of each byte that a rule reads, at a few moments.

    Returns the number of values tried.
    """
    match, rng = Match(name, seed), np.random.default_rng(seed)
    done = 0
    for moment in range(1 if name in HIDDEN_STATE else moments):
        match.reset()
        for _ in range(20 + 300 * moment):
            if match.over:
                break
            match.act(match.oracle.draw(rng))
        if match.over:
            continue
        start = match.save()
        for at in reads(name):
            for value in range(256):
                match.restore(start)
                match.poke({at: value})
                # the program may change the byte in the first frame: the second reads the new value
                for _ in range(2):
                    if not match.over:
                        match.act(match.oracle.actions[0])
                done += 1
    return done


def letters(name: str, seed: int, most: int = 4096) -> int:
    """Tries nibbles above 9 in all bytes that a rule reads at once.

    Some programs write letters in place of a score: blackjack's are 0x0b and 0xbb.

    Returns the number of combinations tried.
    """
    match, rng = Match(name, seed), np.random.default_rng(seed)
    at = reads(name)
    if name in HIDDEN_STATE or not at:
        return 0
    match.reset()
    for _ in range(20):
        match.act(match.oracle.draw(rng))
    start, tried = match.save(), set()
    for letter in range(10, 16):
        values = (letter * 17, letter, letter << 4, 0)
        if len(values) ** len(at) <= most:
            tried |= set(itertools.product(values, repeat=len(at)))
        else:
            tried |= {tuple(rng.choice(values, len(at)).tolist()) for _ in range(most // 2)}
    for each in sorted(tried):
        match.restore(start)
        match.poke(dict(zip(at, each, strict=True)))
        match.act(match.oracle.actions[0])
    return len(tried)


def proofs(name: str, frames: int, seed: int) -> Iterator[str]:
    """Compares a game in every mode, with and without pokes; yields what was done, in words."""
    modes = Oracle(name, seed).modes
    ends = compare(name, frames, seed=seed)
    yield f"{frames} frames, {ends} episodes"
    ends = compare(name, frames, seed=seed + 1, poking=0.05)
    yield f"{frames} frames poked, {ends} episodes"
    for mode in modes:
        compare(name, max(200, frames // 20), mode=mode, seed=seed + 2, poking=0.02)
    yield f"{len(modes)} modes"
    yield f"{sweep(name, seed)} values of single bytes"
    yield f"{letters(name, seed)} combinations of letters"


def main() -> int:
    """Compares games and prints which rules hold; returns 1 if one does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="*", help="default: all games")
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    for name in options.game or names():
        try:
            print(f"{name}: {', '.join(proofs(name, options.frames, options.seed))}", flush=True)
        except Difference as difference:
            wrong += 1
            print(f"{name}: WRONG: {difference}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
