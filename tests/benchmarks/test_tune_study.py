"""The study that compares `tune` with its whole grid."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.studies import tune as study
from parallel_pool._tuner.run import Outcome
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.tune import measured

FACTS: dict[str, Any] = {
    "unit": "thread",
    "count": 1,
    "num_envs": 16,
    "cores": 4,
    "outside": 0.5,
    "change": {},
    "math_threads": None,
    "advice": "",
    "name": "E",
    "place": "a.py:1",
    "cycle": 0.0,
}


def test_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: Any, setting: Setting, **_: Any) -> Outcome:
        return Outcome(100.0 * (setting.num_threads or 1), "", FACTS, 0.0)

    monkeypatch.setattr("parallel_pool._tuner.run.Script.run", run)
    out = tmp_path / "tune.md"
    assert study.main(["--programs", "pong", "sb3", "--rounds", "2", "--out", str(out)]) == 0
    lines = out.read_text().splitlines()
    assert lines[4] == "| pong | num_threads=4 | 0 | 4.00 | num_threads=4 | 4.00 | 1.00 | 3 |"
    assert lines[-1] == "Within 5% of the best, in less than 120 s: 2 of 2."


def test_a_row_that_misses_the_bar() -> None:
    gains = {"as it is": 1.0, "num_threads=2": 1.5}
    assert study.row_of("pong", "as it is", 60, gains)[1] is False
    assert study.row_of("pong", "num_threads=2", 130, gains)[1] is False
    assert study.row_of("pong", "num_threads=2", 60, gains)[1] is True


@pytest.mark.slow
@pytest.mark.parametrize("program", study.PROGRAMS)
def test_programs_can_be_measured(program: str) -> None:
    _, first = measured(study.SCRIPT, [program], 1.0)
    assert first.rate > 0 and first.facts["place"].startswith("tuned.py:")


@pytest.mark.slow
def test_the_programs_are_those_of_the_script() -> None:
    shown = subprocess.run(
        [sys.executable, study.SCRIPT, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert f"{{{','.join(sorted(study.PROGRAMS))}}}" in shown
