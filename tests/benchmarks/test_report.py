"""Outcomes as text, JSON, tables and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.harness import report
from parallel_pool._bench.outcome import Bar, Outcome, Row, reached
from parallel_pool._bench.rounds import Spread
from tests.benchmarks.made_up import MACHINE, outcome


def test_bars_say_what_was_reached() -> None:
    assert str(Bar("vs them", 4.5, 5.21)) == "vs them >= 4.5x: 5.21x, met"
    assert str(Bar("vs them", 4.5, 4.49)) == "vs them >= 4.5x: 4.49x, NOT met"
    assert str(Bar("vs them", 4.5, None)) == "vs them >= 4.5x: not measured"
    assert str(Bar("time", 0.5, 0.5, at_least=False, unit=" s")) == "time < 0.5 s: 0.5 s, NOT met"
    assert Bar("time", 0.5, 0.49, at_least=False).is_met is True


def test_reached_takes_the_worst_of_ours_against_the_best_of_theirs() -> None:
    rows = [
        Row("them", "", "same", Spread(1, 1, 1), ratios={"a": Spread(9, 9, 9)}),
        Row(
            "them", "", "best", Spread(1, 1, 1), ratios={"a": Spread(4, 1, 9), "b": Spread(3, 2, 9)}
        ),
        Row("them", "", "best", Spread(1, 1, 1), ratios={"a": Spread(5, 5, 5)}),
        Row("others", "", "only", Spread(1, 1, 1), ratios={"a": Spread(1, 1, 1)}),
    ]
    assert reached(rows, "them") == 3
    assert reached(rows, "no one") is None


def test_outcomes_survive_json() -> None:
    each = outcome()
    data = json.loads(json.dumps(each.to_json()))
    assert [bar["met"] for bar in data["bars"]] == [False, None]
    assert Outcome.from_json(data) == each


def test_numbers_are_short() -> None:
    assert [report.short(v) for v in (46_812_345, 999_600, 12_345, 1000, 999.4, 0.0123)] == [
        "46.8 M",
        "1.00 M",
        "12.3 k",
        "1.00 k",
        "999",
        "0.0123",
    ]


def test_tables_label_frames_and_steps() -> None:
    page = report.markdown([outcome()], MACHINE)
    assert "| env steps/s | frames/s (x 4) | CPU us/step |" in page
    assert "| 1.00 k (900-1.10 k) | 4.00 k |" in page
    assert "- bar: vs them >= 5x: 4x, NOT met" in page
    table = report.rich_table(outcome())
    assert table.row_count == 2
    assert len(table.columns) == len(report.headings(outcome()))


def test_pages_of_studies_name_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "summary", lambda: "EPYC, 2 cores, commit 12ab")
    rows = report.table(["who", "us"], [["we", "1.0"]])
    page = report.page("Steps", "`python -m steps`: medians.", *rows, "", "All of them.")
    lines = ("| who | us |", "| --- | ---: |", "| we | 1.0 |")
    head = "# Steps\n\nEPYC, 2 cores, commit 12ab, `python -m steps`: medians.\n\n"
    assert page == head + "\n".join(lines) + "\n\nAll of them.\n"
    report.publish(page, tmp_path / "steps.md")
    assert (tmp_path / "steps.md").read_text() == page
    assert capsys.readouterr().out == page + "\n"


@pytest.mark.slow
def test_written_scenes_stay_until_they_are_measured_again(tmp_path: Path) -> None:
    report.write(tmp_path, [outcome("ant-1"), outcome("pong-1")], MACHINE)
    (tmp_path / "mujoco.png").unlink()
    files = report.write(tmp_path, [outcome("pong-1", rate=2000)], MACHINE)
    # only the family that was measured is drawn
    assert [file.name for file in files] == ["results.json", "results.md", "atari.png"]
    assert files[2].read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "mujoco.png").exists()
    found = {each.name: each.rows[0].value.median for each in report.read(tmp_path)}
    assert found == {"ant-1": 1000, "pong-1": 2000}


def test_every_scene_belongs_to_a_family() -> None:
    named = {name: report.family(name) for name in command.NAMES if not name.startswith("atari-57")}
    assert set(named.values()) == set(report.FAMILIES)
    assert named["cartpole-python-64"] == "python" and named["create-ant-256"] == "mujoco"
    with pytest.raises(ValueError, match=r"'chess-1' belongs to no family: add its prefix"):
        report.family("chess-1")
