"""Writes the superinstructions of the Atari interpreter.

A superinstruction (csrc/envs/atari/console/superinstructions.def) is a sequence of instructions
with code of its own, which saves the jumps between its parts. This program compiles a copy of the
core that has no superinstructions and counts how often the instruction at each address runs. It
plays each game at random. Then it chooses one sequence after another: always the one that saves the
most jumps in addition to those already chosen.

    python -m tests.parity.atari_superinstructions            # print what the list saves
    python -m tests.parity.atari_superinstructions --write    # write the list
    python -m tests.parity.atari_superinstructions --check    # exit with 1 if it would change
"""

from __future__ import annotations

import argparse
import ctypes
import heapq
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np

from tests.parity import atari_core, atari_roms
from tests.support.c_library import exports

LIST = atari_core.SOURCES / "console" / "superinstructions.def"
# not optimised, as building would take longer than playing
FLAGS = ["-std=c11", "-O0", "-ffp-contract=off", "-fPIC", "-shared", "-pthread"]

# an instruction is an operation and a mode of instruction.h: "LDA, RRA"; a sequence is the parts of
# a superinstruction
Instruction = str
Sequence = tuple[Instruction, ...]

KINDS = {2: "PAIRS", 3: "TRIPLES", 4: "QUADRUPLES"}
COUNT = 170  # sequences; with 400 most games ran slower
FRAMES = 600  # of each game

# the games that benchmarks quote most; all others weigh 1
WEIGHTS = {"breakout": 10.0, "pong": 10.0}

# Bytes of an instruction, by its mode. A mode that is not here may switch banks, after which a
# sequence would go on in the wrong bank; RPY checks that (ALONE in machine_banked.c).
BYTES = {
    "IMP": 1, "STK": 1,
    "RIM": 2, "RRA": 2, "RTI": 2, "RZX": 2, "RZY": 2, "RIN": 2, "RPY": 2,
    "WRA": 2, "WTR": 2, "WTI": 2, "WSY": 2, "WNO": 2, "WZX": 2, "WZY": 2, "WG0": 2, "WG1": 2,
    "MRA": 2, "MZX": 2, "BNR": 2, "BFR": 2, "BAB": 2,
    "RCO": 3, "RTM": 3, "RTW": 3, "RLX": 3, "RLY": 3, "ABS": 3,
}  # fmt: skip
# the modes of branches and jumps: only the last instruction of a sequence can have one
LAST = ("BNR", "BFR", "BAB", "ABS")
# instructions that leave the decoded program
NEVER = {"JSR, STK", "RTS, STK", "RTI, STK", "BRK, STK", "JAM, IMP", "OUT, IMP"}

# ------------------------------------------------------------------------------ the profile

PLACES = 40_000  # addresses that are counted: more than any cartridge has instructions
PROFILE = f"""
#include <stdint.h>
enum {{ PLACES = {PLACES} }};
extern uint32_t profile_runs[PLACES];
extern uint16_t profile_handler[PLACES];
#define COUNT_RUN(number) {{ \\
  uintptr_t at_ = ((uintptr_t)ip - (uintptr_t)cart->program) / sizeof *ip; \\
  if (at_ < PLACES) {{ ++profile_runs[at_]; profile_handler[at_] = (number); }} }}
"""
HANDLER = "H_##op##_##mode : BODY(op, mode) NEXT;"
NAMES = f"""
#include "envs/atari/console/instruction.h"
#define NAME(op, mode) #op ", " #mode,
const char *const profile_names[] = {{PP_HANDLERS(NAME) 0}};
uint32_t profile_runs[{PLACES}];
uint16_t profile_handler[{PLACES}];
"""


class Profiler:
    """A core without superinstructions that counts how often each instruction runs."""

    def __init__(self, folder: Path) -> None:
        csrc = folder / "csrc"
        sources = csrc / "envs" / "atari"
        shutil.copytree(atari_core.SOURCES, sources)
        for part in ("base", "include", "os"):
            shutil.copytree(atari_core.ROOT / "csrc" / part, csrc / part)
        console = sources / "console"
        empty = "".join(f"#define PP_{kind}(X)\n" for kind in KINDS.values())
        (console / LIST.name).write_text(empty)
        operations = (console / "operation.inl").read_text()
        if operations.count(HANDLER) != 1:
            raise RuntimeError(f"operation.inl: DEFINE_HANDLER is not {HANDLER!r} any more")
        counted = HANDLER.replace(" : ", " : COUNT_RUN(PP_##op##_##mode) ")
        (console / "operation.inl").write_text(PROFILE + operations.replace(HANDLER, counted))
        (console / "profile.c").write_text(NAMES)
        (console / "exports.c").write_text(exports(atari_core.symbols()))
        output = folder / "profile.so"
        units = map(str, atari_core.units(sources))
        command = ["gcc", *FLAGS, f"-I{csrc}", f"-I{csrc / 'include'}", "-o", str(output), *units]
        subprocess.run(command, check=True)
        self.library = atari_core.Library(output)
        c = ctypes.CDLL(str(output))
        self.runs = np.ctypeslib.as_array((ctypes.c_uint32 * PLACES).in_dll(c, "profile_runs"))
        self.handler = (ctypes.c_uint16 * PLACES).in_dll(c, "profile_handler")
        texts = (ctypes.c_char_p * 1_000).in_dll(c, "profile_names")
        self.names = []
        for text in texts:
            if text is None:
                break
            self.names.append(text.decode())

    def play(self, game: str, frames: int) -> dict[int, tuple[Instruction, int]]:
        """Plays a game at random; returns, by address, each instruction that ran and how often."""
        self.runs[:] = 0
        console = atari_core.Console(self.library, game, seed=1, build="base")
        random, action = np.random.default_rng(1), 0
        for frame in range(frames):
            if frame == 0 or console.game_over():
                console.reset_game()
            if frame % 7 == 0:
                action = int(random.integers(18))
            console.act(action, False)
        console.close()
        places = np.flatnonzero(self.runs)
        return {
            int(at): (self.names[self.handler[at]], int(self.runs[at])) for at in places.tolist()
        }


def may_follow(instruction: Instruction) -> bool:
    """Returns whether a sequence can go on after an instruction."""
    mode = instruction[-3:]
    return mode in BYTES and mode not in LAST and instruction not in NEVER


def may_be_part(instruction: Instruction) -> bool:
    """Returns whether an instruction can be part of a sequence."""
    return instruction[-3:] in BYTES and instruction not in NEVER


class Profile:
    """What ran: stretches of instructions that follow one another in memory.

    Attributes:
        stretches: for each stretch, how often the program jumps to its first instruction, to its
            second one, and so on. The numbers are shares of all instructions that ran in a game,
            summed over the games.
    """

    def __init__(self) -> None:
        self.stretches: dict[Sequence, list[float]] = {}

    def add(self, ran: dict[int, tuple[Instruction, int]], weight: float = 1.0) -> None:
        """Adds what `Profiler.play` returned for one game."""
        unit = weight / sum(runs for _, runs in ran.values())
        after = {
            at: at + BYTES[instruction[-3:]]
            for at, (instruction, _) in ran.items()
            if may_follow(instruction)
        }
        through: dict[int, int] = defaultdict(int)  # runs that follow the instruction before
        for at, next_at in after.items():
            through[next_at] += ran[at][1]
        done: set[int] = set()
        for start in sorted(ran, key=lambda at: (at in through, at)):
            stretch, jumps, at = [], [], start
            while at in ran and at not in done:
                done.add(at)
                stretch.append(ran[at][0])
                jumps.append(max(0, ran[at][1] - through[at]) * unit)
                at = after.get(at, -1)
            if stretch:
                known = self.stretches.setdefault(tuple(stretch), [0.0] * len(stretch))
                for i, share in enumerate(jumps):
                    known[i] += share

    def jumps(self, chosen: Collection[Sequence], stretches: Iterable[Sequence] = ()) -> float:
        """Returns the jumps that remain with these superinstructions (with none: 1 per game).

        Args:
            stretches: the stretches to count (default: all).
        """
        total = 0.0
        for stretch in stretches or self.stretches:
            arriving = list(self.stretches[stretch])
            for i, share in enumerate(arriving):
                if share == 0.0:
                    continue
                total += share
                end = i + next((n for n in (4, 3, 2) if stretch[i : i + n] in chosen), 1)
                if end < len(stretch):
                    arriving[end] += share
        return total

    def candidates(self) -> dict[Sequence, tuple[float, list[Sequence]]]:
        """Returns each possible sequence, an upper bound of what it saves, and its stretches."""
        found: dict[Sequence, tuple[float, list[Sequence]]] = {}
        for stretch, jumps in self.stretches.items():
            runs = np.cumsum(jumps).tolist()
            usable = [may_be_part(instruction) for instruction in stretch]
            for length in KINDS:
                for i in range(len(stretch) - length + 1):
                    if not all(usable[i : i + length]):
                        continue
                    sequence = stretch[i : i + length]
                    bound, places = found.get(sequence, (0.0, []))
                    if not places or places[-1] is not stretch:
                        places.append(stretch)
                    found[sequence] = bound + runs[i] * (length - 1), places
        return found


def profile(games: Iterable[str], frames: int = FRAMES) -> Profile:
    """Plays games and returns what ran."""
    known = Profile()
    with tempfile.TemporaryDirectory() as folder:
        profiler = Profiler(Path(folder))
        for game in games:
            known.add(profiler.play(game, frames), WEIGHTS.get(game, 1.0))
    return known


# ------------------------------------------------------------------------------- the choice


def choose(known: Profile, count: int = COUNT) -> list[Sequence]:
    """Returns sequences, each the one that saves the most in addition to those before it."""
    chosen: list[Sequence] = []
    taken: set[Sequence] = set()
    candidates = known.candidates()
    # choosing others hardly ever makes a sequence save more, so an old number is an upper bound
    heap = [(-bound, sequence, -1) for sequence, (bound, _) in candidates.items()]
    heapq.heapify(heap)
    while heap and len(chosen) < count:
        saved, sequence, when = heapq.heappop(heap)
        if when == len(chosen):
            chosen.append(sequence)
            taken.add(sequence)
            continue
        places = candidates[sequence][1]
        saved = known.jumps(taken, places) - known.jumps(taken | {sequence}, places)
        heapq.heappush(heap, (-saved, sequence, len(chosen)))
    return chosen


# --------------------------------------------------------------------------------- the file

HEAD = """\
/* Superinstructions: the sequences of instructions that have a handler of their own: those that
 * save the most jumps over all games of ale-py. Included by instruction.h.
 *
 * Defines PP_PAIRS(X), PP_TRIPLES(X) and PP_QUADRUPLES(X), which call X with the operation and the
 * mode of each part. Within a list, the sequence that saves more comes first.
 *
 * Written by `python -m tests.parity.atari_superinstructions --write`: change that, not this. */

// clang-format off
"""


def text(chosen: Iterable[Sequence]) -> str:
    """Returns superinstructions.def with these sequences."""
    chosen = list(chosen)
    blocks = []
    for length, kind in KINDS.items():
        rows = [f"  X({', '.join(each)})" for each in chosen if len(each) == length]
        blocks.append(" \\\n".join([f"#define PP_{kind}(X)", *rows]) + "\n\n")
    return HEAD + "".join(blocks) + "// clang-format on\n"


def read(file: str) -> Iterator[Sequence]:
    """Yields the sequences of a superinstructions.def."""
    for words in re.findall(r"^  X\((.*)\)", file, re.MULTILINE):
        parts = words.split(", ")
        yield tuple(", ".join(parts[i : i + 2]) for i in range(0, len(parts), 2))


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {LIST.name}")
    parser.add_argument("--check", action="store_true", help=f"compare with {LIST.name}")
    options = parser.parse_args()
    known = profile(atari_roms.names())
    new, old = choose(known), list(read(LIST.read_text()))
    for name, sequences in (("in use", old), ("chosen now", new)):
        saved = 1 - known.jumps(set(sequences)) / known.jumps(())
        print(f"{name}: {len(sequences)} sequences save {saved:.1%} of all jumps")
    changed = text(new) != LIST.read_text()
    if options.write and changed:
        LIST.write_text(text(new))
    elif options.check and changed:
        print(f"{LIST.name} would change: run --write, and measure the speed of games")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
