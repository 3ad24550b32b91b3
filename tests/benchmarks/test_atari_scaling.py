"""The scaling benchmark: what cachegrind counts is read, and the model adds up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.studies import atari_scaling
from benchmarks.studies.atari_scaling import Game, Traffic
from parallel_pool._bench.rounds import Sample

CACHEGRIND = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
cmd: python
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=tia.c
12 1 0 0 0 0 0 0 0 0
summary: 9000 20 2 3000 40 4 1000 10 5
"""

EVENTS = dict(
    zip(["Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw"], range(9), strict=True)
)


def made(step_us: float, far_us: float, batch_us: float, traffic: Traffic | None) -> Game:
    """Returns a game whose steps take these times of the processor, two threads at a time."""
    samples = {
        "1 thread": [Sample(1000, step_us / 1e3, step_us / 1e3)],
        "2 threads": [Sample(1900, step_us / 1e3, 2 * step_us / 1e3)],
    }
    return Game("pong", samples, far_us / step_us, traffic, batch_us)


def test_counts_are_read_by_name() -> None:
    found = atari_scaling.parse(CACHEGRIND)
    assert found["Ir"] == 9000 and found["DLmw"] == 5 and len(found) == 9


def test_traffic_is_lines_read_and_written_back() -> None:
    found = atari_scaling.traffic({name: float(value) for name, value in EVENTS.items()})
    assert found.instructions == EVENTS["Ir"]
    assert found.near == 64 * (1 + 4 + 7)
    # read: 2 + 5; written: 8; written back: at most 8 + 5
    assert found.far == 64 * (2 + 5 + 8 + 8 + 5)


def test_the_model_adds_up() -> None:
    found = atari_scaling.model(made(40.0, 42.0, 12.8, Traffic(1e5, 1e4, 1e5)))
    added = 4 * 0.3 + 12.8 / (8 * 16)
    assert found.step_us == pytest.approx(40.0 + added)
    assert found.far_share == pytest.approx(40.0 / (42.0 + added))
    assert found.far_frames == pytest.approx(16 * 4 * 1e6 / (42.0 + added))
    assert found.share == pytest.approx(40.0 / found.step_us)
    assert found.frames == pytest.approx(16 * 4 * 1e6 / found.step_us)
    assert found.bandwidth == pytest.approx(16 * 1e6 / found.step_us * 1e5 / 80e9)
    # a far step that happens to be faster is no gain
    lucky = atari_scaling.model(made(40.0, 39.0, 0.0, None))
    assert lucky.far_share == lucky.share and lucky.bandwidth is None


def test_numbers_of_threads_double_up_to_the_cores() -> None:
    assert atari_scaling.thread_counts(1) == [1]
    assert atari_scaling.thread_counts(2) == [1, 2]
    assert atari_scaling.thread_counts(12) == [1, 2, 4, 8, 12]
    assert atari_scaling.thread_counts(16) == [1, 2, 4, 8, 16]


def test_caches_are_those_of_this_machine() -> None:
    for level in (1, 2):
        size, ways, line = map(int, atari_scaling.cache(level).split(","))
        sets = size // ways // line
        assert line == 64 and size >= 16_384 and sets & (sets - 1) == 0


@pytest.mark.slow
def test_a_report_has_the_three_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(atari_scaling, "SECONDS", 0.01)
    monkeypatch.setattr(atari_scaling, "count", lambda game: Traffic(2e5, 3e4, 7e4))
    monkeypatch.setattr(atari_scaling.shutil, "which", lambda name: name)
    out = tmp_path / "scaling.md"
    few = ["--rounds", "2", "--far", "32", "--near-pools", "2"]
    assert atari_scaling.main(["pong", *few, "--out", str(out)]) == 0
    text = out.read_text()
    assert text in capsys.readouterr().out
    rows = [line for line in text.splitlines() if line.startswith("| pong |")]
    assert len(rows) == 3
    # the share of one thread
    assert rows[0].split(" | ")[1].endswith("(1.00)")
    counts = atari_scaling.thread_counts(len(os.sched_getaffinity(0)))
    assert rows[0].count("(") == len(counts)
    assert "| 200,000 | 30 | 70 |" in rows[1]
    assert "Bars: a thread's share 0.9 (least of the model:" in text


def test_a_play_steps_every_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what cachegrind runs, in a process of its own."""
    steps = []
    played = atari_scaling.race.playing

    def playing(*args: object) -> object:
        context = played(*args)
        steps.append(args[1])
        return context

    monkeypatch.setattr(atari_scaling.race, "playing", playing)
    assert atari_scaling.main(["--play", "pong", "2"]) == 0
    (task,) = steps
    assert (task.num_envs, task.batch_size, task.num_threads) == (16, 8, 1)
