"""The study that compares `tune` with its whole grid."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.studies import tune as study
from parallel_pool._tuner.run import Outcome, Script
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


def test_a_failed_run_of_the_script_as_it_is_ends_the_study(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(self: Any, setting: Setting, **_: Any) -> Outcome:
        return Outcome(0.0, "exit status 1: out of memory", {}, 0.0)

    monkeypatch.setattr("parallel_pool._tuner.run.Script.run", run)
    script = Script(study.SCRIPT, [], 1.0, 0.0)
    with pytest.raises(RuntimeError, match="failed with as it is: exit status 1: out of memory"):
        study.gains_over(script, [Setting()], Setting(), 1)


def test_the_choice_plays_against_the_fastest_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # of the grid's rounds: as it is, num_threads=2, num_threads=4; then of the two alone
    rates = iter([1.0, 2.0, 3.0, 3.0, 2.0, 1.0, 8.0, 7.2, 7.2, 8.0])

    def run(self: Any, setting: Setting, **_: Any) -> Outcome:
        return Outcome(next(rates), "", FACTS, 0.0)

    def whole(*_: Any) -> Any:
        return Script(study.SCRIPT, [], 1.0, 0.0), Outcome(1.0, "", FACTS, 0.0)

    monkeypatch.setattr("parallel_pool._tuner.run.Script.run", run)
    monkeypatch.setattr(study, "measured", whole)
    gains, share = study.compared("pong", "num_threads=2", 2, 1.0)
    assert gains == {"as it is": 1.0, "num_threads=2": 2.0, "num_threads=4": 3.0}
    assert share == pytest.approx(0.9)


def test_a_row_that_misses_the_bar() -> None:
    gains = {"as it is": 1.0, "num_threads=2": 1.5}
    assert study.row_of("pong", "as it is", 60, gains, 0.7)[1] is False
    assert study.row_of("pong", "num_threads=2", 130, gains, 1.0)[1] is False
    assert study.row_of("pong", "as it is", 60, gains, 0.96)[1] is True


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
