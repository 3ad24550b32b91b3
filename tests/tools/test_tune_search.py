"""`python -m parallel_pool tune`: what a search makes of runs that fail, and of its time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from parallel_pool._tuner import grid
from parallel_pool._tuner.run import Outcome, Script
from parallel_pool._tuner.search import (
    FINAL_ROUNDS,
    MAX_FINAL_ROUNDS,
    MIN_GAIN_ROUNDS,
    Gain,
    Search,
    most_in,
)
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.tune import measured, tune
from parallel_pool._tuner.turns import OneByOne, Round

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("failed", [0, 1])
def test_a_failed_run_of_the_script_as_it_is_is_no_gain_of_others(failed: int) -> None:
    """As when a port is taken for a moment: neither run of a round then counts."""
    own: list[float] = []

    def run(setting: Setting) -> Outcome:
        if setting != Setting():
            return Outcome(90.0, "", {}, 0.0)
        own.append(0.0 if len(own) % 2 == failed else 100.0)
        return Outcome(own[-1], "" if own[-1] else "planted", {}, 0.0)

    settings = [Setting(num_threads=count) for count in (1, 2, 3)]
    found = Search(OneByOne(run, time.monotonic() + 60), settings)
    _, gain = found.best()
    assert gain.median == pytest.approx(0.9) and gain.high == pytest.approx(0.9)
    assert not gain.is_worth_it


def test_changes_that_gain_only_together_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pool's threads and those of torch, which spin, on two cores."""
    facts = {
        "unit": "thread",
        "num_envs": 32,
        "count": 1,
        "cores": 2,
        "name": "ALE/Pong-v5",
        "outside": 0.5,
        "math_threads": 2,
        "change": {"num_threads": 2},
        "advice": "",
        "cycle": 0.0,
        "cycles": 0,
        "longest": 0.0,
    }

    def run(self: Script, setting: Setting, **_: object) -> Outcome:
        is_best = setting == Setting(num_threads=2, is_passive=True)
        # the clock stands still, so there is time for all runs that the limit allows
        return Outcome(140.0 if is_best else 100.0, "", facts, 8.0)

    monkeypatch.setattr(Script, "run", run)
    found = tune(Path("script.py"), [], 3.0, 110.0, lambda text: None)
    assert str(found.choice) == "num_threads=2, OMP_WAIT_POLICY=PASSIVE"
    # with less time, changes are made alone
    found = tune(Path("script.py"), [], 3.0, 60.0, lambda text: None)
    assert str(found.choice) == "as it is"


class Costs:
    """Plays side by side; counts what that takes."""

    START, SECONDS = 2.0, 1.0

    def __init__(self, limit: float, failing: Mapping[int, Setting] | None = None) -> None:
        """
        Args:
            limit: seconds.
            failing: settings that fail in rounds.
        """
        self.left, self.started = limit, set[Setting]()
        self.rounds: list[Sequence[Setting]] = []
        # before which rounds all began anew
        self.renewed: list[int] = []
        self.failing = failing or {}

    def play(self, settings: Sequence[Setting]) -> Round | None:
        new = {Setting(), *settings} - self.started
        cost = len(new) * self.START + (1 + len(settings)) * self.SECONDS
        if cost > self.left:
            return None
        self.left -= cost
        self.started |= new
        failed = {self.failing[len(self.rounds)]} if len(self.rounds) in self.failing else set()
        self.rounds.append(list(settings))
        # more gain more
        gains = {each: 1.0 + (each.num_threads or 0) / 10 for each in settings}
        return Round(
            {each: gain for each, gain in gains.items() if each not in failed},
            dict.fromkeys(failed, "planted"),
        )

    def renew(self) -> None:
        self.renewed.append(len(self.rounds))
        if self.left >= 2 * (self.START + self.SECONDS):
            self.started.clear()


@pytest.mark.parametrize("count", range(1, grid.MAX_SETTINGS + 1))
def test_a_search_takes_the_time_that_is_said(count: int) -> None:
    settings = [Setting(num_threads=each + 1) for each in range(count)]
    limit = next(
        i for i in range(200) if most_in(i, Costs.START, Costs.SECONDS, FINAL_ROUNDS) >= count
    )
    costs = Costs(limit)
    best, gain = Search(costs, settings).best()
    assert best == settings[-1]
    assert costs.rounds[0] == ([best] if count == 1 else settings)
    assert costs.rounds[-FINAL_ROUNDS:] == [[best]] * FINAL_ROUNDS and gain.rounds >= FINAL_ROUNDS
    # what is left is for a setting that may join
    assert costs.left < Costs.START + 7 * Costs.SECONDS


@pytest.mark.parametrize("count", range(1, grid.MAX_SETTINGS + 1))
def test_a_search_one_by_one_takes_the_time_that_is_said(count: int) -> None:
    runs: list[Setting] = []

    def run(setting: Setting) -> Outcome:
        runs.append(setting)
        # none gains anything, so no combination joins
        return Outcome(100.0 if setting == Setting() else 90.0, "", {}, 0.0)

    settings = [Setting(num_threads=each + 1) for each in range(count)]
    best, _ = Search(OneByOne(run, time.monotonic() + 60), settings).best()
    seconds = next(left for left in range(100) if most_in(left, 0.0, 1.0, 1) == count)
    assert runs[:seconds].count(best) >= MIN_GAIN_ROUNDS
    # it goes on with more rounds of the fastest
    assert set(runs[seconds:]) == {Setting(), best} and runs[-2:] == [Setting(), best]
    assert all(one != other for one, other in itertools.pairwise(runs[seconds - 2 :]))


def test_final_rounds_begin_with_new_processes_twice() -> None:
    costs = Costs(1000)
    Search(costs, [Setting(num_threads=each + 1) for each in range(8)]).best()
    many = sum(len(settings) > 1 for settings in costs.rounds)
    assert len(costs.rounds) == many + MAX_FINAL_ROUNDS
    assert costs.renewed == [many, many + FINAL_ROUNDS]


def test_the_next_takes_the_place_of_a_winner_that_fails() -> None:
    settings = [Setting(num_threads=each + 1) for each in range(4)]
    search = Search(Costs(1000, {4: settings[3]}), settings)
    best, gain = search.best()
    assert best == settings[2] and gain.rounds == MAX_FINAL_ROUNDS
    assert search.failed == {settings[3]: "planted"}
    # in its first round, or in all
    search = Search(Costs(1000, {0: settings[0]}), settings[:1])
    assert search.best() == (Setting(), Gain(1, 1, 1, 0))


# hangs if the file is there
SCRIPT = """
import os, sys, time
import numpy as np
import parallel_pool
if os.path.exists(sys.argv[1]):
    time.sleep(600)
envs = parallel_pool.make_vec("CartPole-v1", 4, num_threads=1)
envs.reset(seed=0)
open(sys.argv[1], "w").close()
while True:
    envs.step(np.zeros(4, int))
"""


@pytest.mark.slow
def test_settings_that_hang_do_not_pass_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    script, mark = tmp_path / "script.py", tmp_path / "ran"
    script.write_text(SCRIPT)
    began = time.monotonic()
    tune(script, [str(mark), "{num_envs:4}"], 0.2, 20.0, lambda text: None)
    # a run that hangs would last a minute, and there are several settings
    assert time.monotonic() - began < 60


def test_a_longer_first_run_does_not_pass_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(self: Script, *_: object, **__: object) -> Outcome:
        asked.append(self.seconds)
        pace = {"cycle": 0.0, "cycles": 0, "longest": self.seconds}
        return Outcome(100.0, "", pace, self.seconds)

    monkeypatch.setattr(Script, "run", run)
    measured(Path("script.py"), [], 3.0, 5.0, time.monotonic() + 10.0)
    assert asked == [3.0, 9.0]
    asked.clear()
    measured(Path("script.py"), [], 3.0, 5.0, time.monotonic() + 5.0)
    assert asked == [3.0]


def test_no_round_begins_for_which_the_first_run_was_too_long() -> None:
    ran: list[Setting] = []

    def run(setting: Setting) -> Outcome:
        ran.append(setting)
        return Outcome(1.0, "", {}, 5.0)

    found = Search(OneByOne(run, time.monotonic() + 8, 5.0), [Setting(num_threads=1)])
    assert found.best()[1].rounds == 0 and not ran
