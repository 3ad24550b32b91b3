"""The table of what Atari's builds cost (.ci/atari_builds.py)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns .ci/atari_builds.py."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("atari_builds")


def test_a_row_has_what_each_build_takes_beside_avx2(
    builds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratios of times are medians of the rounds' ratios: the machine was slow in the second."""
    instructions = {builds.AVX2: 200_000, builds.TRANSLATED: 250_000, builds.INTERPRETED: 500_000}
    times = {
        builds.AVX512: [9.0, 27.0, 9.0],
        builds.AVX2: [10.0, 30.0, 12.0],
        builds.TRANSLATED: [13.0, 39.0, 12.0],
        builds.INTERPRETED: [20.0, 66.0, 24.0],
    }

    class Measured:
        def count(self, game: str, what: str, build: Any) -> float:
            return float(instructions[build])

        def times(self, game: str, what: str, timed: Sequence[Any]) -> list[list[float]]:
            return [times[build] for build in timed]

    heads, rule, *rows = builds.table(Measured(), ["pong"], list(times))
    assert heads == (
        "| game |  | instructions, AVX2 | plain C | plain C, interpreted | time, AVX2 | AVX-512"
        " | plain C | plain C, interpreted |"
    )
    assert rule.count("|") == heads.count("|")
    cells = "200 k | x 1.25 | x 2.50 | 12.0 us | x 0.90 | x 1.30 | x 2.00"
    assert rows == [f"| pong | {what} | {cells} |" for what in ("console", "84 x 84")]


def test_each_build_plays_with_its_package_and_variables(
    builds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-g")
    played = []

    def count(tree: Path, game: str, steps: int, console: str | None, **env: str) -> float:
        played.append((tree.name, console, env))
        return 1.0

    monkeypatch.setattr(builds.atari_steps, "count", count)
    measurement = builds.Measurement((Path("native"), Path("plain")), 1)
    for what in builds.COUNTED:
        for build in builds.COMPARED:
            measurement.count("pong", what, build)
    v3, plain = {"PP_ATARI_BUILD": "v3"}, {"CFLAGS": f"-g {builds.PLAIN}"}
    interpreted = {**plain, "PP_ATARI_JIT": "0"}
    assert played == [
        *(("native", "v3", v3), ("plain", "", plain), ("plain", "base", interpreted)),
        *(("native", None, v3), ("plain", None, plain), ("plain", None, interpreted)),
    ]
