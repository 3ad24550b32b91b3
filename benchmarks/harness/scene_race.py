"""Scene race: the command and the table of a study that races players in named scenes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from parallel_pool._bench import machine
from parallel_pool._bench.rounds import Player, Sample, Spread, interleave, ratio


@dataclass(frozen=True)
class SceneRace:
    """What is raced, and how the table shows it.

    Attributes:
        program: the study's module.
        about: its docstring.
        scenes: of each name what returns the functions that make its players, by their names.
        ours: the player with which the others are compared.
        rate: the heading of the rates.
        faster: the heading of the ratios.
        digits: of the ratios, behind the point.
        cpu: the heading of CPU time per step in microseconds, which is followed by the ratios of
            it; "" for no such columns.
    """

    program: str
    about: str | None
    scenes: Mapping[str, Callable[[], Mapping[str, Callable[[], Player]]]]
    ours: str
    rate: str
    faster: str
    digits: int
    cpu: str = ""

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Runs the command; returns its exit status."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.program}", description=self.about)
        add = parser.add_argument
        add("scenes", nargs="*", metavar="WORD", help="scenes with one of these words")
        add("--rounds", type=int, default=9, help="rounds of each player (9)")
        add("--seconds", type=float, default=1.0, help="of each player in a round (1)")
        add("--out", type=Path, help="file for the table")
        options = parser.parse_args(arguments)
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        words = options.scenes
        chosen = [
            scene for scene in self.scenes if not words or any(word in scene for word in words)
        ]
        lines = [
            f"{machine.cpu_name()}, commit {machine.commit()}\n",
            f"| scene | player | {self.rate} | {self.faster} |"
            + (f" {self.cpu} | {self.faster} |" if self.cpu else ""),
            "| --- | --- | ---: | ---: |" + (" ---: | ---: |" if self.cpu else ""),
        ]
        print("\n".join(lines), flush=True)
        for scene in chosen:
            rows = self._rows(scene, options.rounds, options.seconds)
            print("\n".join(rows), flush=True)
            lines += rows
        if options.out:
            options.out.write_text("\n".join(lines) + "\n")
        return 0

    def _rows(self, scene: str, rounds: int, seconds: float) -> list[str]:
        """Plays a scene; returns the rows of the table."""
        with ExitStack() as stack:
            players = {
                name: stack.enter_context(closing(make()))
                for name, make in self.scenes[scene]().items()
            }
            samples = interleave(players, rounds, seconds, turns=3)
        rows = []
        for name, own in samples.items():
            rate = Spread.of(each.rate for each in own).median
            row = f"| {scene} | {name} | {rate:,.0f} | {self._faster(samples, name)} |"
            if self.cpu:
                spent = Spread.of(each.cpu_us for each in own).median
                row += f" {spent:,.1f} | {self._faster(samples, name, cpu=True)} |"
            rows.append(row)
        return rows

    def _faster(
        self, samples: Mapping[str, Sequence[Sample]], name: str, *, cpu: bool = False
    ) -> str:
        """Returns how many times faster ours are than a player, "" for ours."""
        if name == self.ours:
            return ""
        return self._times(ratio(samples[self.ours], samples[name], cpu=cpu))

    def _times(self, spread: Spread) -> str:
        """Returns a ratio with its quartiles."""
        median, low, high = (
            f"{each:,.{self.digits}f}" for each in (spread.median, spread.low, spread.high)
        )
        return f"{median} ({low}-{high})"
