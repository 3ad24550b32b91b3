"""Rules of Atari games against ALE's answers: `python -m tests.parity.atari_rules GAME ...`.

A rule (csrc/envs/atari/games/*.c) says of a console's memory what ALE's says: the reward of a
frame, the lives that are left, and whether the game is over. Here both read the same memory after
every frame of play, and of play in which bytes are changed from outside, so that a rule is right
for memory that no agent would ever see too. ALE's rules read the frames of a reset too, from the
moment when they are reset themselves; of those only the last one's memory can be seen here.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GAMES = ROOT / "csrc/envs/atari/games"
NOTES = 6


class Score(ctypes.Structure):
    """`pp_score` of csrc/envs/atari/rule.h."""

    _fields_ = (
        ("score", ctypes.c_int32),
        ("reward", ctypes.c_int32),
        ("lives", ctypes.c_int32),
        ("over", ctypes.c_uint8),
        ("started", ctypes.c_uint8),
        ("notes", ctypes.c_uint8 * NOTES),
    )


class Rule(ctypes.Structure):
    """`pp_rule`."""

    _fields_ = (
        ("reset", ctypes.CFUNCTYPE(None, ctypes.POINTER(Score))),
        ("step", ctypes.CFUNCTYPE(None, ctypes.POINTER(Score), ctypes.c_char_p)),
    )


def names() -> list[str]:
    """Returns the games that have a rule."""
    return sorted(path.stem for path in GAMES.glob("*.c"))


@functools.cache
def library(chosen: tuple[str, ...]) -> ctypes.CDLL:
    """Returns the compiled rules of some games."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rules.so"
        sources = [str(GAMES / f"{name}.c") for name in chosen]
        flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
        subprocess.run([compiler, *flags, "-o", str(output), *sources], check=True)
        return ctypes.CDLL(str(output))


@dataclass(frozen=True)
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

    def __init__(self, name: str, seed: int) -> None:
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("max_num_frames_per_episode", 0)
        self.ale.loadROM(Path(ale_py.__file__).parent / "roms" / f"{name}.bin")
        self.modes = list(self.ale.getAvailableModes())
        self.difficulties = list(self.ale.getAvailableDifficulties())
        self.actions = self.ale.getMinimalActionSet()

    def draw(self, rng: np.random.Generator) -> Any:
        """Returns an action that the game uses."""
        return self.actions[rng.integers(len(self.actions))]


def begin(rule: Rule, ale: Any) -> Score:
    """Returns what a rule knows after a reset."""
    score = Score()
    if rule.reset:
        rule.reset(score)
    rule.step(score, bytes(ale.getRAM()))
    return score


def poke(ale: Any, rng: np.random.Generator, often: Sequence[int]) -> dict[int, int]:
    """Changes some bytes: any, those that a rule may read (`often`) more often."""
    poked = {}
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.choice(often)) if len(often) and rng.random() < 0.7 else int(rng.integers(128))
        kind = rng.integers(5)
        value = int(rng.integers(256))
        if kind == 0:  # decimal digits
            value = int(rng.integers(10)) * 16 + int(rng.integers(10))
        elif kind == 1:  # next to what is there
            value = (int(ale.getRAM()[at]) + int(rng.integers(-2, 3))) % 256
        elif kind == 2:
            value = int(rng.choice([0, 1, 2, 0x80, 0x99, 0x9F, 0xA0, 0xF0, 0xFF]))
        ale.setRAM(at, value)
        poked[at] = value
    return poked


def compare(
    name: str,
    frames: int,
    *,
    mode: int | None = None,
    seed: int = 0,
    poking: float = 0.0,
    often: Sequence[int] = (),
) -> int:
    """Plays and compares; returns how many episodes ended.

    Args:
        poking: the share of frames before which bytes are changed.
        often: bytes that are changed more often than others.

    Raises:
        Difference: the rule is wrong.
    """
    rule = Rule.in_dll(library((name,)), f"pp_rule_{name}")
    oracle = Oracle(name, seed)
    ale, rng, score = oracle.ale, np.random.default_rng(seed), Score()
    if mode is not None:
        ale.setMode(mode)
    episodes, hold, action = 0, 0, oracle.actions[0]
    frame, fresh, poked = 0, True, {}
    while frame < frames:
        if fresh:
            ale.reset_game()
            score = begin(rule, ale)
            over = ale.game_over(with_truncation=False)
            ours, theirs = (0, score.lives, score.over), (0, ale.lives(), int(over))
            fresh = False
        else:
            # after the end ALE does nothing any more, and sees no changes of memory
            poked = poke(ale, rng, often) if rng.random() < poking and not over else {}
            if not hold:
                action = oracle.draw(rng)
                hold = int(rng.geometric(1 / rng.choice([1.5, 4, 12, 40])))
            hold -= 1
            reward = ale.act(action)
            rule.step(score, bytes(ale.getRAM()))
            over = ale.game_over(with_truncation=False)
            ours, theirs = (
                (score.reward, score.lives, score.over),
                (int(reward), ale.lives(), int(over)),
            )
            frame += 1
            # after pokes a game may never end
            fresh = bool(over) or (poking > 0 and rng.random() < 0.002)
            episodes += bool(over)
        if ours != theirs:
            raise Difference(name, mode or 0, frame, poked, ours, theirs, bytes(ale.getRAM()))
    return episodes


def reads(name: str) -> list[int]:
    """Returns the bytes that a rule's source mentions."""
    text = (GAMES / f"{name}.c").read_text()
    return sorted({int(at) for at in re.findall(r"ram\[(\d+)\]", text) if int(at) < 128})


def sweep(name: str, often: Sequence[int], seed: int, moments: int = 3) -> int:
    """Gives every byte that a rule reads every value, at a few moments; returns how many."""
    rule = Rule.in_dll(library((name,)), f"pp_rule_{name}")
    oracle = Oracle(name, seed)
    ale, rng = oracle.ale, np.random.default_rng(seed)
    done = 0
    for moment in range(moments):
        ale.reset_game()
        score = begin(rule, ale)
        for _ in range(20 + 300 * moment):
            ale.act(oracle.draw(rng))
            rule.step(score, bytes(ale.getRAM()))
            if ale.game_over(with_truncation=False):
                break
        state, own = ale.cloneState(), bytes(score)
        if ale.game_over(with_truncation=False):
            continue
        for at in often:
            for value in range(256):
                ale.restoreState(state)
                score = Score.from_buffer_copy(own)
                ale.setRAM(at, value)
                # the frame may change it back, a second one follows from what it made of it
                for frame in range(2):
                    reward = ale.act(oracle.actions[0])
                    rule.step(score, bytes(ale.getRAM()))
                    over = ale.game_over(with_truncation=False)
                    ours = score.reward, score.lives, score.over
                    theirs = int(reward), ale.lives(), int(over)
                    if ours != theirs:
                        ram = bytes(ale.getRAM())
                        raise Difference(name, 0, frame, {at: value}, ours, theirs, ram)
                    if over:
                        break
                done += 1
    return done


def proofs(name: str, frames: int, seed: int) -> Iterator[str]:
    """Compares a game in every mode, undisturbed and poked; yields what was done."""
    oracle = Oracle(name, seed)
    often = reads(name)
    ends = compare(name, frames, seed=seed)
    yield f"{frames} frames, {ends} episodes"
    ends = compare(name, frames, seed=seed + 1, poking=0.05, often=often)
    yield f"{frames} frames poked, {ends} episodes"
    for mode in oracle.modes:
        compare(name, max(200, frames // 20), mode=mode, seed=seed + 2, poking=0.02, often=often)
    yield f"{len(oracle.modes)} modes"
    yield f"{sweep(name, often, seed)} values of single bytes"


def main() -> int:
    """Compares games and says which rules hold; 1 if one does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="*", help="all that have a rule, without one")
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
