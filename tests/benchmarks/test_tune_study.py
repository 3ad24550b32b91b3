"""The study that compares `tune` with its whole grid."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from benchmarks.studies import tune as study
from parallel_pool._tuner.run import Outcome, Script
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.tune import measured
from parallel_pool._tuner.turns import Round

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


class Played:
    """Plays rounds in place of the study's scripts: gains of num_threads=1, 2 and 4."""

    def __init__(self, gains: Iterable[Mapping[int, float]]) -> None:
        self.gains = iter(gains)

    def __call__(self, *_: object) -> Played:
        return self

    def play(self, settings: Sequence[Setting]) -> Round:
        gains = next(self.gains)
        return Round({each: gains[each.num_threads or 1] for each in settings}, {})

    def close(self) -> None: ...


def test_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: Any, setting: Setting, **_: Any) -> Outcome:
        return Outcome(100.0 * (setting.num_threads or 1), "", FACTS, 0.0)

    monkeypatch.setattr("parallel_pool._tuner.run.Script.run", run)
    monkeypatch.setattr(study, "SideBySide", Played(cycle([{2: 2.0, 4: 4.0}])))
    out = tmp_path / "tune.md"
    assert study.main(["--programs", "pong", "sb3", "--rounds", "2", "--out", str(out)]) == 0
    lines = out.read_text().splitlines()
    assert lines[4] == "| pong | num_threads=4 | 0 | 4.00 | num_threads=4 | 4.00 | 1.00 | 3 |"
    assert lines[-1] == "Within 5% of the best, in less than 120 s: 2 of 2."


@pytest.mark.parametrize("found", [None, Round({}, {Setting(num_threads=2): "out of memory"})])
def test_a_failed_setting_ends_the_study(
    monkeypatch: pytest.MonkeyPatch, found: Round | None
) -> None:
    played = Played([])
    played.play = lambda settings: found  # type: ignore[assignment,method-assign,return-value]
    monkeypatch.setattr(study, "SideBySide", played)
    script = Script(study.SCRIPT, ["pong"], 1.0, 0.0)
    with pytest.raises(RuntimeError, match=r"pong.*(out of memory|None)"):
        study.gains_of(script, 1, [Setting(num_threads=2)], 1)
    with pytest.raises(RuntimeError, match="num_threads=2 does not run beside others"):
        study.refuse(Setting(num_threads=2))


def test_the_choice_plays_against_the_fastest_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(*_: Any) -> Any:
        return Script(study.SCRIPT, [], 1.0, 0.0), Outcome(1.0, "", FACTS, 0.0)

    # of the grid's rounds, then of the two alone
    again = [{2: 7.2, 4: 8.0}, {2: 9.0, 4: 10.0}]
    played = Played([{2: 2.0, 4: 3.0}, {2: 2.2, 4: 2.8}, *again])
    monkeypatch.setattr(study, "SideBySide", played)
    monkeypatch.setattr(study, "measured", whole)
    gains, share = study.compared("pong", "num_threads=2", 2, 1.0)
    assert gains == pytest.approx({"as it is": 1.0, "num_threads=2": 2.1, "num_threads=4": 2.9})
    assert share == pytest.approx(0.9)
    # the script as it is plays in each round
    played.gains = iter([{2: 2.0, 4: 3.0}, {4: 2.5}])
    assert study.compared("pong", "as it is", 1, 1.0)[1] == pytest.approx(0.4)


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
