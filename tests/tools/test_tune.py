"""`python -m parallel_pool tune`: what is tried, how it is measured, and what is said."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parallel_pool import __main__ as cli
from parallel_pool import make_vec
from parallel_pool._command import ended_by_sigterm
from parallel_pool._engine import overrides
from parallel_pool._tracing.record import RECV, SPAN, Record
from parallel_pool._tracing.record import Setting as Traced
from parallel_pool._tuner import grid
from parallel_pool._tuner import run as tuner_run
from parallel_pool._tuner import running as tuner_running
from parallel_pool._tuner import search as tuner_search
from parallel_pool._tuner.pace import pace_in, pace_of, sliced
from parallel_pool._tuner.run import Outcome, Script
from parallel_pool._tuner.search import Gain, Search
from parallel_pool._tuner.setting import Setting, numbers_of
from parallel_pool._tuner.tune import FailedScriptError, Result, measured
from parallel_pool._tuner.turns import OneByOne
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

ROOT = Path(__file__).resolve().parents[2]
FACTS: dict[str, Any] = {
    "unit": "thread",
    "count": 2,
    "num_envs": 16,
    "cores": 2,
    "outside": 0.5,
    "change": {},
    "math_threads": None,
}

# steps for ever, and says what it was given
STEPS = """
import sys
import numpy as np
import parallel_pool
count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
envs = parallel_pool.make_vec("CartPole-v1", count, num_threads=1)
envs.reset(seed=0)
while True:
    envs.step(np.zeros(count, int))
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "script.py"
    path.write_text(STEPS)
    return path


# ------------------------------------------------------------------------------------ settings --


def test_a_setting_changes_only_what_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    assert Setting().environment() == dict(os.environ)
    assert str(Setting()) == "as it is" and Setting().lines("a.py:3", {}) == []
    setting = Setting(1, 3, math_threads=2, is_passive=True, numbers=(("num_envs", 8),))
    changed = dict(setting.environment().items() - os.environ.items())
    assert changed == {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
    assert setting.overrides() == {"num_threads": 1, "num_workers": 3}
    lines = setting.lines("a.py:3", {"num_threads": 2, "num_workers": 2, "math_threads": 4})
    assert lines[0] == "argument of the script: num_envs=8"
    assert lines[1:3] == ["a.py:3: num_threads=1 (was 2)", "a.py:3: num_workers=3 (was 2)"]
    assert "torch.set_num_threads(2) (was 4)" in lines[3] and "PASSIVE" in lines[4]
    assert str(setting).startswith("num_envs=8, num_threads=1, num_workers=3, torch")


def test_numbers_among_the_arguments() -> None:
    given = ["--num-envs", "{num_envs:16}", "--b={batch_size:4}", "{other:3}", "x"]
    assert numbers_of(given) == {"num_envs": 16, "batch_size": 4}
    assert Setting().arguments(given) == ["--num-envs", "16", "--b=4", "{other:3}", "x"]
    changed = Setting(numbers=(("num_envs", 32),)).arguments(given)
    assert changed == ["--num-envs", "32", "--b=4", "{other:3}", "x"]


def test_overrides_never_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for threads, workers in ((None, None), (1, 0), (64, 1)):
        monkeypatch.setattr(overrides, "num_threads", threads)
        monkeypatch.setattr(overrides, "num_workers", workers)
        envs = make_vec("CartPole-v1", 3, num_threads=2)
        python = make_vec("CartPole-v1", 2, backend="process", num_workers=2)
        if threads is not None:
            assert envs.pool.num_threads == min(threads, 3)
            assert python.pool.num_workers == workers
        seen.append((envs.reset(seed=1)[0].tobytes(), python.reset(seed=1)[0].tobytes()))
        envs.close()
        python.close()
    assert seen[0] == seen[1] == seen[2]


# ---------------------------------------------------------------------------------------- grid --


def tried(facts: Mapping[str, Any], **numbers: int) -> list[str]:
    return list(map(str, grid.settings({**FACTS, **facts}, numbers)))


def test_what_is_tried() -> None:
    assert tried({}) == ["as it is", "num_threads=1"]
    workers = tried({"unit": "worker", "num_envs": 8, "change": {"num_workers": 0}})
    assert workers == ["as it is", "num_workers=0", "num_workers=1", "num_workers=8"]
    # only what the pool can have
    few = tried({"unit": "worker", "num_envs": 8, "choices": [1, 2, 8], "change": {}})
    assert few == ["as it is", "num_workers=1", "num_workers=8"]
    assert tried({"unit": "worker", "choices": [], "change": {"num_workers": 0}}) == ["as it is"]
    # torch's threads, and how they wait
    both = tried({"math_threads": 2})
    assert both[0] == "as it is" and len(both) == 6
    assert {"torch.set_num_threads(1)", "OMP_WAIT_POLICY=PASSIVE"} < set(both)


def test_changes_are_tried_alone_and_then_together() -> None:
    facts = {**FACTS, "math_threads": 2, "change": {"num_threads": 1}}
    every = grid.settings(facts, {"num_envs": 16})
    alone = list(map(str, grid.first(every, 3)))
    assert alone[:2] == ["as it is", "num_threads=1"] and len(alone) == 7
    more = list(map(str, grid.first(every, 8)))
    assert more[:7] == alone and len(more) == 9
    # of those that change two things, first those with what the trace advises
    assert all("num_threads=1" in text and "," in text for text in more[7:])
    assert grid.first(every, 99) == every
    for setting in every:
        assert Setting.of_changes(setting.changes()) == setting
    gains = {
        Setting(num_threads=1): 1.1,
        Setting(math_threads=1): 1.5,
        Setting(is_passive=True): 1.6,
        Setting(numbers=(("num_envs", 8),)): 0.9,
    }
    assert grid.combined(gains) == Setting(num_threads=1, is_passive=True)
    assert grid.combined({Setting(num_threads=1): 0.9}) == Setting()


def test_what_can_gain_nothing_is_not_tried() -> None:
    assert tried({"outside": 0.97}) == ["as it is"]
    assert tried({"outside": 0.97, "math_threads": 1, "cores": 1}) == ["as it is"]
    # threads of torch that wait for one another may be why
    assert "num_threads=1" in tried({"outside": 0.97, "math_threads": 2})
    assert tried({"outside": 0.02, "math_threads": 2}) == ["as it is", "num_threads=1"]


def test_numbers_are_tried_only_if_the_user_says_so() -> None:
    assert tried({"outside": 0.97}, num_envs=16) == [
        *("as it is", "num_envs=8", "num_envs=32", "num_envs=64")
    ]


def test_large_grids_are_cut() -> None:
    wide = tried({"cores": 32, "num_envs": 64, "count": 32, "math_threads": 32}, num_envs=64)
    assert len(wide) == grid.MAX_SETTINGS and wide[0] == "as it is"


# ---------------------------------------------------------------------------------------- pace --


def record_of(steps: int, pause_every: int, pause: float) -> Record:
    """Returns a trace of calls of 1 ms for 4 rows each, with a learner's pauses in seconds."""
    spans, now = np.zeros(steps, SPAN), 0
    for i in range(steps):
        spans[i] = (now, now + 1_000_000, RECV, -1, 4, 0)
        now += 1_000_000
        if pause_every and i % pause_every == pause_every - 1:
            now += int(pause * 1e9)
    return Record(Traced("Env", 4, 4, 1, False, 2), 0, now, [spans, np.empty(0, SPAN)])


def test_pace_without_pauses() -> None:
    pace = pace_of(record_of(500, 0, 0))
    assert pace.rate == pytest.approx(4000) and (pace.cycle, pace.cycles) == (0, 0)


@pytest.mark.parametrize("steps", [500, 555, 599])
def test_pace_is_that_of_whole_cycles(steps: int) -> None:
    """100 steps and 0.3 s of learning are 1,000 rows/s, wherever the trace ends."""
    pace = pace_of(record_of(steps, 100, 0.3))
    assert pace.rate == pytest.approx(1000) and pace.cycle == pytest.approx(0.4)
    assert pace.cycles == steps // 100 - 1 - (steps % 100 == 0)


def test_a_trace_that_is_too_short_for_cycles() -> None:
    """One pause of 0.3 s in 0.6 s may be one of many; in a minute it is none of the learner's."""
    pace = pace_of(record_of(300, 200, 0.3))
    assert pace.longest == pytest.approx(0.3)
    assert pace.is_part_of_a_cycle(0.6) and not pace.is_part_of_a_cycle(60)
    # a trace that ends in a pause
    assert pace_of(record_of(100, 100, 0.5)).is_part_of_a_cycle(0.6)
    assert not pace_of(record_of(500, 100, 0.3)).is_part_of_a_cycle(2)
    assert not pace_of(record_of(500, 0, 0)).is_part_of_a_cycle(0.5)


def test_pace_of_too_little() -> None:
    assert pace_of(record_of(0, 0, 0)).rate == 0
    assert pace_of(record_of(1, 0, 0)).rate == 0


def test_pace_of_slices() -> None:
    """What runs between them does not count, and a call that they cut lasts as long as in them."""
    ms = 1_000_000
    record = record_of(1000, 0, 0)
    own = sliced(record, [(100 * ms, 200 * ms), (600 * ms, 650 * ms)])
    assert (own.start, own.end) == (0, 150 * ms)
    calls = own.tracks[0]
    assert len(calls) == 150 and calls["start"][100] == 100 * ms
    assert pace_of(own).rate == pytest.approx(4000)
    # half of the time without a step
    paused = sliced(replace(record, end=2000 * ms), [(0, 100 * ms), (1000 * ms, 1100 * ms)])
    assert paused.end == 200 * ms and len(paused.tracks[0]) == 100
    assert pace_in(replace(record, end=2000 * ms), [(900 * ms, 1100 * ms)]).rate == 2000
    # a trace that was full after the first second
    assert pace_in(record, [(900 * ms, 1100 * ms), (1200 * ms, 1300 * ms)]).rate == 4000
    cut = sliced(record, [(0, ms // 2), (ms // 2 + 7 * ms, 10 * ms)])
    assert cut.tracks[0]["end"][:2].tolist() == [ms // 2, 2 * ms] and len(cut.tracks[0]) == 3
    assert len(sliced(record, [(-5, 0)]).tracks[0]) == 0


def test_pace_of_a_learner_in_slices() -> None:
    """100 steps and 0.3 s of learning, stopped for two thirds of the time."""
    ms, slices, spans = 1_000_000, [], []
    record = record_of(600, 100, 0.3)
    for i in range(0, record.end, 200 * ms):
        slices.append((3 * i, 3 * i + 200 * ms))
        part = record.tracks[0][(record.tracks[0]["start"] >= i)]
        part = part[part["start"] < i + 200 * ms].copy()
        part["start"] += 2 * i
        part["end"] += 2 * i
        spans.append(part)
    stopped = replace(record, tracks=[np.concatenate(spans), record.tracks[1]], end=3 * record.end)
    pace = pace_of(sliced(stopped, slices))
    assert pace.rate == pytest.approx(1000) and pace.cycle == pytest.approx(0.4)


# -------------------------------------------------------------------------------------- search --


class Machine:
    """Runs settings whose speeds are known, on a machine that is slower from time to time."""

    def __init__(self, rates: Mapping[int | None, float]) -> None:
        self.rates, self.ran = rates, list[Setting]()

    def run(self, setting: Setting) -> Outcome:
        self.ran.append(setting)
        rate = self.rates[setting.num_threads]
        phase = 0.5 if len(self.ran) > 20 else 1.0
        return Outcome(rate * phase, "" if rate else "planted", {}, 0.0)


def search(rates: Mapping[int | None, float], seconds: float = 60) -> tuple[Search, Machine]:
    machine = Machine({None: 100.0, **rates})
    turns = OneByOne(machine.run, time.monotonic() + seconds)
    return Search(turns, [Setting(num_threads=count) for count in rates]), machine


def test_the_fastest_setting_is_found() -> None:
    found, machine = search({count: 80.0 + 10 * count for count in range(1, 9)})
    setting, gain = found.best()
    assert setting.num_threads == 8 and gain.is_worth_it
    assert gain == pytest.approx(Gain(1.6, 1.6, 1.6, 7, 1.2), rel=0.5)
    # half of the settings leave after each round
    counts = [machine.ran.count(Setting(num_threads=count)) for count in range(1, 9)]
    assert counts[0] == 1 and counts[7] >= 6 and sum(counts[:4]) == 4


def test_what_gains_is_combined() -> None:
    """Each change gains little; both together gain most, and only the search makes them one."""

    def run(setting: Setting) -> Outcome:
        rate = 100.0 * 1.2 ** len(setting.changes()) * (0.5 if setting.num_threads == 1 else 1)
        return Outcome(rate, "", {}, 0.0)

    alone = [Setting(num_threads=1), Setting(num_threads=2), Setting(math_threads=1)]
    setting, gain = Search(OneByOne(run, time.monotonic() + 60), alone).best()
    assert setting == Setting(num_threads=2, math_threads=1)
    assert gain.median == pytest.approx(1.44)


def test_the_script_may_be_best_as_it_is() -> None:
    found, _ = search({1: 90.0, 2: 101.0})
    setting, gain = found.best()
    assert setting.num_threads == 2 and not gain.is_worth_it


def test_settings_that_fail_are_dropped() -> None:
    found, machine = search({1: 0.0, 2: 150.0, 3: 120.0})
    assert found.best()[0].num_threads == 2
    assert found.failed == {Setting(num_threads=1): "planted"}
    assert machine.ran.count(Setting(num_threads=1)) == 1
    found, _ = search({1: 0.0})
    assert found.best() == (Setting(), Gain(1, 1, 1, 0))


def test_one_round_is_not_enough() -> None:
    assert Gain(1.5, 1.5, 1.5, 2, 1.0).is_worth_it
    assert not Gain(1.5, 1.5, 1.5, 1, 1.0).is_worth_it
    assert not Gain(1.02, 1.01, 1.6, 5, 1.0).is_worth_it


def test_a_gain_of_which_chance_has_as_much_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard deviations of 0.1 in the logarithm, of 3 rounds and 2 degrees of freedom."""
    monkeypatch.setattr("parallel_pool._tuner.search.MAX_FINAL_ROUNDS", 3)
    rates = iter(np.exp([0.0, 0.2, 0.0, 0.3, 0.0, 0.4]).tolist())

    def run(setting: Setting) -> Outcome:
        return Outcome(next(rates), "", {}, 0.0)

    found = Search(OneByOne(run, time.monotonic() + 60), [Setting(num_threads=1)])
    _, gain = found.best()
    assert gain.rounds == 3 and gain.median == pytest.approx(math.exp(0.3))
    # Student's t, and the standard error
    of_a_median = (math.pi / 2) ** 0.5
    assert gain.noise == pytest.approx(math.exp(1.89 * 0.1 * of_a_median / 3**0.5))
    assert gain.is_worth_it
    assert not gain._replace(median=1.11).is_worth_it


def test_no_run_begins_after_the_deadline() -> None:
    found, machine = search({1: 120.0}, seconds=-1)
    assert found.best() == (Setting(), Gain(1, 1, 1, 0)) and not machine.ran


# ---------------------------------------------------------------------------------------- runs --


@pytest.mark.slow
def test_a_script_that_never_ends_is_measured_and_ended(script: Path) -> None:
    run = Script(script, [], 2.0, 0.05)
    outcome = run.run(Setting(num_threads=1))
    assert outcome.rate > 0 and outcome.error == "" and outcome.memory > 0
    facts = outcome.facts
    assert (facts["num_envs"], facts["unit"], facts["count"]) == (4, "thread", 1)
    assert facts["place"] == "script.py:6" and facts["advice"] == ""


@pytest.mark.slow
def test_arguments_overrides_and_environment_reach_the_script(script: Path) -> None:
    script.write_text(
        "import os\nassert os.environ['OMP_NUM_THREADS'] == '3'\n"
        "assert __name__ == '__main__'\n" + STEPS
    )
    run = Script(script, ["{num_envs:4}"], 0.5, 0.0)
    setting = Setting(num_threads=2, math_threads=3, numbers=(("num_envs", 6),))
    facts = run.run(setting).facts
    assert (facts["num_envs"], facts["count"]) == (6, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raise KeyError('planted')", "KeyError: 'planted'"),
        ("import sys; sys.exit(3)", "the script exits: 3"),
        ("print('nothing')", "it stepped no pool"),
        ("import os; print('last words', flush=True); os._exit(7)", "exit status 7: last words"),
    ],
)
def test_scripts_that_fail_say_why(script: Path, text: str, error: str) -> None:
    script.write_text(text)
    outcome = Script(script, [], 0.1, 0.0).run(Setting())
    assert outcome.rate == 0 and error in outcome.error


@pytest.mark.slow
def test_a_script_that_hangs_is_killed_with_what_it_has_started(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time stands still until it has started something."""
    started = script.with_suffix(".pid")

    def now() -> float:
        return 3.2 if started.exists() and started.read_text() else 0.0

    for module in (tuner_run, tuner_running):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=now))
    script.write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(started)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    outcome = Script(script, [], 0.1, 0.0).run(Setting(), limit=3.0)
    assert outcome.rate == 0 and "no result in 3" in outcome.error
    wait_for(lambda: has_ended(int(started.read_text())))


# ------------------------------------------------------------------------------------- command --


@pytest.mark.slow
def test_the_command(
    script: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # one start of all, and time for it on a busy machine
    monkeypatch.setattr(tuner_search, "MAX_FINAL_ROUNDS", tuner_search.FINAL_ROUNDS)
    assert cli.main(["tune", "--seconds", "0.5", "--limit", "90", str(script), "8"]) == 0
    shown = capfd.readouterr().out
    assert shown.startswith("8 x CartPole-v1, 1 thread: ")
    assert "trace: " in shown
    assert "and the script as it is:" in shown and "one by one" not in shown
    # what it finds depends on the machine
    last = ("Change this, for", "The script is best as it is", "There was time", "No other setting")
    assert any(f"\n{each}" in shown for each in last)


def test_the_command_says_what_to_write(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {**FACTS, "place": "script.py:6", "advice": "do", "cycle": 0.0, "name": "E", "count": 1}

    def run(self: Script, setting: Setting, **_: Any) -> Outcome:
        return Outcome(100.0 if setting == Setting() else 150.0, "", facts, 0.0)

    monkeypatch.setattr(Script, "run", run)
    assert cli.main(["tune", str(script), "{num_envs:16}"]) == 0
    shown = capsys.readouterr().out
    assert "Change this, for 1.50 times the speed (1.50 to 1.50, " in shown
    assert "num_threads=2 (was 1)" in shown or "argument of the script: num_envs=" in shown


def test_the_command_without_time_for_a_second_run(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {**FACTS, "place": "script.py:6", "advice": "do", "cycle": 0.0, "name": "E"}
    monkeypatch.setattr(Script, "run", lambda *_, **__: Outcome(100.0, "", facts, 0.0))
    assert cli.main(["tune", "--limit", "1e-9", str(script)]) == 0
    assert "No other setting was measured" in capsys.readouterr().out
    once = Result(Setting(num_threads=2), Gain(1.5, 1.5, 1.5, 1), facts)
    assert once.choice == Setting()
    monkeypatch.setattr("parallel_pool._tuner.command.tune", lambda *_: once)
    assert cli.main(["tune", str(script)]) == 0
    assert "one round only, in which num_threads=2 was the fastest" in capsys.readouterr().out


def test_runs_are_as_long_as_cycles_need(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner pauses for 5 s, and then steps for 1 s."""
    asked = []

    def run(self: Script, *_: Any, **__: Any) -> Outcome:
        asked.append(self.seconds)
        cycles = int(self.seconds / 6)
        pace = {"cycle": 6.0 * (cycles > 0), "cycles": cycles, "longest": min(self.seconds, 5.0)}
        return Outcome(100.0 if cycles else 0.0, "" if cycles else "planted", pace, 0.0)

    monkeypatch.setattr(Script, "run", run)
    assert measured(script, [], 3.0)[0].seconds == pytest.approx(2.5 * 6)
    assert asked == [3.0, 9.0, 27.0]
    failed = Outcome(0.0, "planted", {}, 0.0)
    monkeypatch.setattr(Script, "run", lambda *_, **__: failed)
    with pytest.raises(FailedScriptError, match="planted"):
        measured(script, [], 1.0)


@pytest.mark.slow
def test_the_command_with_a_script_that_fails(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text("raise OSError('planted')")
    assert cli.main(["tune", str(script)]) == 1
    assert capsys.readouterr().err == f"parallel_pool tune: {script}: OSError: planted\n"


@pytest.mark.slow
def test_ctrl_c_ends_the_script_too(script: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "parallel_pool", "tune", "--seconds", "30", str(script)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(TEST_TIMEOUT) == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_while_the_process_starts_ends_it(
    script: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, error: type
) -> None:
    started = []
    popen = subprocess.Popen

    def signalled(*args: Any, **kwargs: Any) -> Any:
        started.append(popen(*args, **kwargs))
        signal.raise_signal(number)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", signalled)
    with ended_by_sigterm(), pytest.raises(error):
        Script(script, [], 30.0, 0.0).run(Setting())
    assert started[0].returncode == -signal.SIGKILL


def test_longer_cycles_are_measured_for_longer() -> None:
    script = Script(Path("script.py"), ["{num_envs:16}", "{batch_size:8}"], 3.0, 0.0)
    more = Setting(numbers=(("num_envs", 64), ("batch_size", 4)))
    assert script.seconds_of(more) == 3.0
    script.has_cycles = True
    assert script.seconds_of(more) == 6.0 and script.seconds_of(Setting(num_threads=2)) == 3.0
    assert script.seconds_of(Setting(numbers=(("num_envs", 8),))) == 3.0


def test_settings_are_values() -> None:
    assert replace(Setting(), num_threads=1) == Setting(num_threads=1)
    assert len({Setting(), Setting(), Setting(num_threads=1)}) == 2
