"""The benchmark of the tracer: programs whose shares are known, and when it fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.studies import tracing
from benchmarks.studies.tracing import PROGRAMS, Outcome, Program
from parallel_pool._bench.rounds import Spread
from parallel_pool._tracing.report import Report
from parallel_pool.errors import StateError
from tests.support.made_records import MS, Loop

# in a few milliseconds
TINY = ("--rounds", "1", "--seconds", "0.02")


def loop_of(program: Program) -> Loop:
    """Returns the same loop as a made-up record; only two threads compute at once."""
    num_threads = program.num_threads
    if not program.sleeps and not program.in_processes:
        num_threads = min(num_threads, 2)
    between = program.policy_ms + program.learn_ms
    return Loop(program.step_ms, between, num_threads, in_processes=program.in_processes, cores=2)


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_injected_shares_are_those_of_a_perfect_record(name: str) -> None:
    injected = dict(PROGRAMS[name].injected)
    assert sum(injected.values()) == pytest.approx(1)
    injected["policy"] += injected.pop("learn", 0.0)
    assert dict(Report(loop_of(PROGRAMS[name]).record()).shares) == pytest.approx(injected)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["policy-bound", "one straggler", "Python workers"])
def test_programs_step_all_of_their_environments(name: str) -> None:
    """Also with what the advice changes: smaller batches, and other workers."""
    program = PROGRAMS[name]
    report = program.play(0.01)
    count = len(program.step_ms)
    assert report.record.setting.num_envs == count
    assert report.steps == count * report.batches > 0
    name = "num_workers" if program.in_processes else "num_threads"
    report = program.changed({"batch_size": 2, name: 1}).play(0.01)
    assert report.record.setting.num_threads == 1
    assert report.steps == 2 * report.batches > 0


def test_a_tiny_run_writes_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tracing.md"
    status = tracing.main(["policy-bound", "one straggler", *TINY, "--out", str(out)])
    assert out.read_text() == capsys.readouterr().out
    rows = [line for line in out.read_text().splitlines() if line.startswith(("| policy", "| one"))]
    assert [row.split(":")[0] for row in rows] == ["| policy-bound", "| one straggler"]
    # such a short run may be far from the truth
    assert status == (0 if all(row.endswith("| yes |") for row in rows) else 1)


def outcome(name: str, gain: float | None = 100.0) -> Outcome:
    """Returns what a perfect trace of a program would say; gain: measured, if there is one."""
    spread = None if gain is None else Spread.of([gain])
    return Outcome(name, Report(loop_of(PROGRAMS[name]).record()), spread)


def status_of(one: Outcome, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tracing, "try_program", lambda name, rounds, seconds: one)
    return tracing.main([one.name])


def test_a_right_report_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, gain in (("policy-bound", None), ("one straggler", 100.0), ("Python workers", 100.0)):
        assert status_of(outcome(name, gain), monkeypatch) == 0


@pytest.mark.parametrize(("error_ms", "status"), [(0.1, 0), (0.2, 1)])
def test_a_wrong_share_is_a_failure(
    error_ms: float,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Calls last longer than they should, in batches of 4.8 ms."""
    record = loop_of(PROGRAMS["policy-bound"]).record()
    record.tracks[0]["end"] += round(error_ms * MS)
    one = Outcome("policy-bound", Report(record), None)
    assert one.is_right and one.farthest == pytest.approx(error_ms / 4.8)
    assert status_of(one, monkeypatch) == status
    verdict = ("yes", "NO")[status]
    assert capsys.readouterr().out.strip().endswith(f"| {verdict} |")


@pytest.mark.slow
def test_wrong_advice_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    straggler = outcome("one straggler")
    # advice where there should be none, and none where there should be some
    for name, other in (("policy-bound", "one straggler"), ("one straggler", "policy-bound")):
        wrong = Outcome(name, outcome(other).report, Spread.of([100.0]))
        monkeypatch.setattr(Outcome, "farthest", 0.0)
        assert status_of(wrong, monkeypatch) == 1
    # a change that gains less than expected
    enough = tracing.MIN_SPEED_SHARE * straggler.advice.gain
    assert status_of(outcome("one straggler", 1.01 * enough), monkeypatch) == 0
    assert status_of(outcome("one straggler", 0.99 * enough), monkeypatch) == 1


def test_the_cost_of_a_trace_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Traced and not by turns, in both orders."""
    is_traced: list[bool] = []

    def time_of(step: object, actions: object, batches: int) -> float:
        pool = step.__self__  # type: ignore[attr-defined]
        try:
            with pool.trace():
                is_traced.append(False)
        except StateError:  # another trace is running
            is_traced.append(True)
        return 3.0 if is_traced[-1] else 2.0

    monkeypatch.setattr(tracing, "time_of", time_of)
    spread = tracing.cost("CartPole-v1", 2, 2, 1.0)
    assert (spread.low, spread.median, spread.high) == (1.5, 1.5, 1.5)
    # the first finds out how many batches last long enough
    assert is_traced == [False, False, True, True, False]
    monkeypatch.setattr(tracing, "PROGRAMS", {})
    assert tracing.main([*TINY, "--cost-rounds", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "| CartPole-v1, 64 | 1.500 (1.500-1.500) |" in lines
    monkeypatch.setattr(tracing, "cost", lambda *args: Spread.of([tracing.COST]))
    assert tracing.main([*TINY]) == 0
