"""The long run counts every row, and finds rows that are lost, doubled or of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.studies import long_run


@pytest.mark.slow
def test_every_kind_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.json"
    assert long_run.main(["--steps", "20000", "--out", str(file)]) == 0
    runs = json.loads(file.read_text())["runs"]
    assert [run["kind"] for run in runs] == list(long_run.KINDS)
    assert all(run["rows"] >= 20_000 and not run["faults"] for run in runs)
    assert "FAULT" not in capsys.readouterr().out


def test_a_kind_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--steps", "3000", "--out", str(tmp_path / "run.json")]
    assert long_run.main(["threads", *words]) == 0
    assert capsys.readouterr().out.startswith("threads: 3,072 rows")
    with pytest.raises(SystemExit):
        long_run.main(["thread", *words])
    assert "unknown: thread; choose from one-thread, threads" in capsys.readouterr().err


# env ids, elapsed steps and ends of two environments in three batches
RIGHT = (([0, 1], [0, 0], [0, 0]), ([0, 1], [1, 1], [1, 0]), ([1, 0], [2, 0], [0, 0]))
WRONG = {
    "lost": (([0, 1], [0, 0], [0, 0]), ([0, 1], [1, 2], [0, 0])),
    "doubled": (([0, 1], [0, 0], [0, 0]), ([0, 1], [0, 1], [0, 0])),
    "of another environment": (([0, 1], [0, 0], [0, 0]), ([0], [1], [0]), ([0, 1], [1, 2], [0, 0])),
    "no reset after an end": (([0, 1], [0, 0], [1, 0]), ([0, 1], [1, 1], [0, 0])),
    "too long": (([0, 1], [0, 0], [0, 0]), *(([0], [n], [0]) for n in range(1, 502))),
}


def counted(batches: tuple[tuple[list[int], list[int], list[int]], ...]) -> long_run.Counts:
    counts = long_run.Counts(2)
    for env_ids, elapsed, ended in batches:
        counts.add(np.array(env_ids), np.array(elapsed), np.array(ended, np.bool_))
    return counts


def test_rows_that_follow_are_right() -> None:
    counts = counted(RIGHT)
    assert (counts.rows, counts.episodes, counts.num_wrong) == (6, 1, 0)
    assert counts.steps.tolist() == [3, 3]


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_rows_are_found(fault: str) -> None:
    assert counted(WRONG[fault]).num_wrong > 0


def test_counts_that_differ_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    make, play = long_run.KINDS["threads"]

    def miscounting() -> Any:
        pool = make()
        pool.stats = lambda: {"env_steps": 7}
        return pool

    monkeypatch.setitem(long_run.KINDS, "threads", (miscounting, play))
    (fault,) = long_run.run("threads", 3000).faults
    assert fault == "3072 rows, 3072 of the environments, 7 of the pool"
