"""Measures what Atari games cost without code for AVX2 and without a translator, as on aarch64.

    python .ci/atari_builds.py [GAME ...] [--rounds N]

prints the table of docs/internals/platforms.md: instructions, counted by valgrind, and the
processor's time, medians of interleaved rounds. The package is built twice, as it is and as if the
processor had no instructions beyond SSE2, which also reaches code that PP_ATARI_BUILD does not
choose. PP_ATARI_BUILD=v3 fails where AVX2 is missing, so its column can't show another build.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import atari_steps
import instructions

ROOT = Path(__file__).resolve().parent.parent
GAMES = ("pong", "breakout", "space_invaders", "ms_pacman")
# of each environment, or of the console alone: those that are counted, and those that are timed
COUNTED, TIMED = {"console": 300, "84 x 84": 60}, {"console": 12000, "84 x 84": 1500}
# for CFLAGS: the compiler's test of the processor always says no
PLAIN = "-D__builtin_cpu_supports(feature)=0"


@dataclass(frozen=True, eq=False)
class Build:
    """A way to run games.

    Attributes:
        title: of its column.
        console: the build's name, for the console alone.
        is_plain: the package is the one for a processor without AVX2.
        variables: of the environment.
    """

    title: str
    console: str
    is_plain: bool
    variables: Mapping[str, str] = field(default_factory=dict)


AVX512 = Build("AVX-512", "v4", False, {"PP_ATARI_BUILD": "v4"})
AVX2 = Build("AVX2", "v3", False, {"PP_ATARI_BUILD": "v3"})
TRANSLATED = Build("plain C", "", True)
INTERPRETED = Build("plain C, interpreted", "base", True, {"PP_ATARI_JIT": "0"})
# others are given in proportion to the first
COMPARED = (AVX2, TRANSLATED, INTERPRETED)


class Measurement:
    """Measures games with builds.

    Args:
        trees: the folders with the package: as it is, and for a processor without AVX2.
        rounds: of timed plays.
    """

    def __init__(self, trees: tuple[Path, Path], rounds: int) -> None:
        self.trees, self.rounds = trees, rounds

    def count(self, game: str, what: str, build: Build) -> float:
        """Returns the instructions of a step."""
        tree, console, env = self._place(what, build)
        return atari_steps.count(tree, game, COUNTED[what], console, **env)

    def times(self, game: str, what: str, builds: Sequence[Build]) -> list[list[float]]:
        """Returns the times of a step with each build, in microseconds, in order of the rounds."""
        found: list[list[float]] = [[] for _ in builds]
        for _ in range(self.rounds):
            for build, times in zip(builds, found, strict=True):
                tree, console, env = self._place(what, build)
                times.append(atari_steps.cpu_us(tree, game, TIMED[what], console, **env))
        return found

    def _place(self, what: str, build: Build) -> tuple[Path, str | None, dict[str, str]]:
        env = dict(build.variables)
        if build.is_plain:
            # with which the benchmarks compile the console
            env["CFLAGS"] = plain_flags()
        return self.trees[build.is_plain], build.console if what == "console" else None, env


def plain_flags() -> str:
    return f"{os.environ.get('CFLAGS', '')} {PLAIN}"


def build_tree(name: str, **env: str) -> Path:
    """Builds the package into a folder; returns its path."""
    tree = ROOT / "build" / "trees" / name
    command = [sys.executable, "build_ffi.py", "--quiet", "build", "--build-lib", str(tree)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, check=True)
    return tree


def has_avx512(tree: Path) -> bool:
    """Says whether this processor can run the console's build for AVX-512."""
    script = "from parallel_pool._prove_atari import builds; print(*builds.available())"
    env = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return "v4" in done.stdout.split()


def table(measurement: Measurement, games: Sequence[str], timed: Sequence[Build]) -> Iterator[str]:
    """Yields the lines of the table."""
    first, *others = COMPARED
    heads = [
        *("game", "", f"instructions, {first.title}", *(build.title for build in others)),
        *(f"time, {first.title}", *(build.title for build in timed if build is not first)),
    ]
    yield f"| {' | '.join(heads)} |"
    yield f"| --- | --- |{' ---: |' * (len(heads) - 2)}"
    for game in games:
        for what in COUNTED:
            counts = [measurement.count(game, what, build) for build in COMPARED]
            cells = [game, what, f"{counts[0] / 1e3:.0f} k"]
            cells += [f"x {count / counts[0]:.2f}" for count in counts[1:]]
            yield f"| {' | '.join(cells + times_of(measurement, game, what, timed))} |"


def times_of(measurement: Measurement, game: str, what: str, timed: Sequence[Build]) -> list[str]:
    """Returns the cells of a row with times."""
    times = measurement.times(game, what, timed)
    first = times[timed.index(AVX2)]
    ratios = [
        statistics.median(time / base for time, base in zip(own, first, strict=True))
        for own in times
        if own is not first
    ]
    return [f"{statistics.median(first):.1f} us", *(f"x {ratio:.2f}" for ratio in ratios)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python .ci/atari_builds.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"({' '.join(GAMES)})")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    trees = build_tree("native"), build_tree("plain", CFLAGS=plain_flags())
    timed = [*([AVX512] if has_avx512(trees[0]) else []), *COMPARED]
    try:
        for line in table(Measurement(trees, options.rounds), options.games or GAMES, timed):
            print(line, flush=True)
    except instructions.Unavailable as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
