"""Step costs: what is timed by a clock of the test's own, and the table of ratios."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.harness import step_costs
from benchmarks.harness.step_costs import Player


class Clock:
    """CPU time that passes when players say so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.played: list[tuple[str, int]] = []
        monkeypatch.setattr(time, "process_time", lambda: self.now)

    def player(self, name: str, seconds: float) -> Callable[[int], None]:
        """Returns a player whose steps take so many seconds each."""

        def play(steps: int) -> None:
            self.now += steps * seconds
            self.played.append((name, steps))

        return play


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_costs_are_of_one_environments_step(clock: Clock) -> None:
    players = {
        "many": Player(clock.player("many", 8e-6), 4),
        "one": Player(clock.player("one", 5e-6), 1, times=3),
    }
    spent = step_costs.measure(players, 10, 2)
    # the first of three rounds is left out
    assert clock.played == [("many", 10), ("one", 30)] * 3
    assert spent["many"] == pytest.approx([2.0, 2.0]) and spent["one"] == pytest.approx([5.0, 5.0])


def test_some_steps_take_a_tenth_of_a_second(clock: Clock) -> None:
    assert step_costs.calibrate(clock.player("fast", 0.1 / 25.5), 4) == 25
    assert step_costs.calibrate(clock.player("slow", 0.1), 4) == 4
    assert step_costs.calibrate(clock.player("slow", 0.1), 51) == 51


def test_rows_go_on_from_play_to_play() -> None:
    seen: list[int] = []
    play = step_costs.repeat(lambda row: seen.append(int(row[0])), np.arange(3)[:, None])
    play(2)
    play(3)
    assert seen == [0, 1, 2, 0, 1]


def test_ratios_are_of_those_who_play(capsys: pytest.CaptureFixture[str]) -> None:
    costs = {
        "a": {"ours": 2.0, "single": 1.0, "theirs": 5.0},
        "b": {"ours": 2.0, "single": 1.5},
        "c": {"ours": 1.0, "single": 4.0, "theirs": 3.5},
    }
    ratios = {
        "theirs": ("theirs", "ours"),
        "threads": ("ours", "single"),
        "nobody": ("nobody", "ours"),
    }
    rows = step_costs.compare(costs, costs.__getitem__, "single", ratios)
    assert rows == [
        ["a", "1.0", "2.50", "2.00", ""],
        ["b", "1.5", "", "1.33", ""],
        ["c", "4.0", "3.50", "0.25", ""],
        ["median", "", "3.00", "1.33", ""],
    ]
    # as soon as they are known
    assert capsys.readouterr().err.splitlines()[1] == "b 1.5  1.33 "
