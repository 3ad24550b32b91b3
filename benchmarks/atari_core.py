"""Times the Atari core against ale-py's act(): one thread, CPU time, agent steps of four frames.

``python benchmarks/atari_core.py --game pong --game breakout``. Both sides play random agent steps
with real resets at game over; rounds alternate, and the ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from ale_py import ALEInterface, LoggerMode, roms

ROOT = Path(__file__).resolve().parents[1]
ATARI = ROOT / "csrc" / "envs" / "atari"
FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-shared", "-pthread"]
SKIP = 4

# the core's C files, of all the family's
NOUNS = ("cartridge", "console", "game", "instruction", "machine", "tia")

# the loop of an agent's steps, in C so that the calls from Python cost nothing
LOOP = """
#include "console.h"
long agent_steps(pp_console *c, const pp_cartridge *cart, const uint8_t *actions, int steps,
                 int skip, int draw_from) {
  long frames = 0;
  for (int i = 0; i < steps; ++i) {
    for (int k = 0; k < skip && !pp_console_game_over(c); ++k, ++frames) {
      pp_console_act(c, cart, actions[i], k >= draw_from);
    }
    if (pp_console_game_over(c)) pp_console_reset_game(c, cart);
  }
  return frames;
}
"""


def build(folder: Path) -> ctypes.CDLL:
    """Compile the core with the loop above."""
    loop = folder / "loop.c"
    loop.write_text(LOOP)
    units = [p for noun in NOUNS for p in sorted(ATARI.glob(f"{noun}*.c"))]
    library = folder / "core.so"
    command = ["gcc", *FLAGS, f"-I{ATARI}", "-o", str(library), str(loop)]
    subprocess.run(
        [*command, *map(str, units), str(ROOT / "csrc" / "base" / "mt19937.c")], check=True
    )
    return ctypes.CDLL(str(library))


class Core:
    """The core's side: a console that keeps playing from round to round."""

    def __init__(self, c: ctypes.CDLL, game: str, build: str, draw_from: int) -> None:
        rom = Path(roms.get_rom_path(game)).read_bytes()
        self.c, self.draw_from = c, draw_from
        self.cartridge = ctypes.c_void_p()
        status = c.pp_cartridge_create(
            rom, ctypes.c_size_t(len(rom)), game.encode(), ctypes.byref(self.cartridge)
        )
        if status < 0 or (build and c.pp_cartridge_use_build(self.cartridge, build.encode()) < 0):
            raise ValueError(f"cannot run {game} with build {build!r}")
        c.pp_console_size.restype = ctypes.c_size_t
        self.memory = ctypes.create_string_buffer(c.pp_console_size() + 64)
        self.state = ctypes.c_void_p((ctypes.addressof(self.memory) + 63) & ~63)
        c.pp_console_load(self.state, self.cartridge, ctypes.c_uint32(1))

    def play(self, actions: bytes) -> float:
        """Return microseconds of CPU time per agent step."""
        start = time.thread_time()
        self.c.agent_steps(self.state, self.cartridge, actions, len(actions), SKIP, self.draw_from)
        return (time.thread_time() - start) / len(actions) * 1e6


class Ale:
    """ale-py's side; it always draws."""

    def __init__(self, game: str) -> None:
        self.ale = ALEInterface()
        self.ale.setInt("random_seed", 1)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(roms.get_rom_path(game))

    def play(self, actions: bytes) -> float:
        """Return microseconds of CPU time per agent step."""
        ale, start = self.ale, time.thread_time()
        for action in actions:
            for _ in range(SKIP):
                if ale.game_over():
                    break
                ale.act(action)
            if ale.game_over():
                ale.reset_game()
        return (time.thread_time() - start) / len(actions) * 1e6


def main() -> int:
    """Print one line per game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", action="append", required=True)
    parser.add_argument("--build", default="", help="base, v3 or v4 instead of the best")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1500, help="agent steps per round")
    options = parser.parse_args()
    ALEInterface.setLoggerMode(LoggerMode.Error)
    with tempfile.TemporaryDirectory() as folder:
        c = build(Path(folder))
    for game in options.game:
        ale = Ale(game)
        actions = np.array([a.value for a in ale.ale.getMinimalActionSet()], np.uint8)
        sides = [Core(c, game, options.build, d) for d in (0, 2, SKIP)]
        random, rows = np.random.default_rng(0), []
        for _ in range(options.rounds):
            played = actions[random.integers(len(actions), size=options.steps)].tobytes()
            rows.append([ale.play(played), *(side.play(played) for side in sides)])
        theirs, *ours = (statistics.median(column) for column in zip(*rows, strict=True))
        ratios = [statistics.median(row[0] / row[1 + k] for row in rows) for k in range(len(sides))]
        cells = [
            f"{name} {us:.1f} us {ratio:.2f}x"
            for name, us, ratio in zip(("all drawn", "2 of 4", "none"), ours, ratios, strict=True)
        ]
        print(f"{game}: ale-py {theirs:.1f} us per step; {'; '.join(cells)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
