"""`python -m parallel_pool tune`: settings that play side by side, and those that can't."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._tuner import turns
from parallel_pool._tuner.guard import Guard
from parallel_pool._tuner.run import Outcome, Script
from parallel_pool._tuner.running import EndedError, Running
from parallel_pool._tuner.session import kill, members
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.turns import OneByOne, Round, SideBySide
from parallel_pool._workers.start.forkserver import state_of
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

ROOT = Path(__file__).resolve().parents[2]
BASE, ONE, TWO = Setting(), Setting(math_threads=1), Setting(math_threads=2)

# steps for ever, once a second script of its lines has run
STEPS = """
import os, sys
import numpy as np
import parallel_pool
{before}
envs = parallel_pool.make_vec("CartPole-v1", 4, backend={backend!r})
envs.reset(seed=0)
open(sys.argv[1] + str(os.getpid()), "w").close()
while True:
    envs.step(np.zeros(4, int))
"""


class Tuned:
    """A script, and what is said of it."""

    def __init__(self, folder: Path) -> None:
        self.path, self.mark = folder / "script.py", folder / "ran-"
        self.said: list[str] = []
        self.alone: list[Setting] = []

    def write(self, before: str = "", backend: str = "native") -> Script:
        self.path.write_text(STEPS.format(before=before, backend=backend))
        return Script(self.path, [str(self.mark)], 0.5, 0.0)

    def turns(self, script: Script) -> SideBySide:
        def run(setting: Setting) -> Outcome:
            self.alone.append(setting)
            return script.run(setting)

        deadline = time.monotonic() + TEST_TIMEOUT
        one_by_one = OneByOne(run, deadline)
        return SideBySide(script, deadline, 1, one_by_one, self.said.append)

    def pids(self) -> list[int]:
        """Returns the processes that have stepped."""
        found = self.mark.parent.glob(f"{self.mark.name}*")
        return [int(path.name.removeprefix(self.mark.name)) for path in found]


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tuned:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Tuned(tmp_path)


def states(pid: int) -> set[str]:
    """Returns what the processes of a session do."""
    return {state_of(member.pid) for member in members(pid)} - {"", "Z", "X"}


# ---------------------------------------------------------------------------------- one by one --


def test_one_by_one_compares_with_the_script_before_and_after() -> None:
    rates = iter([100.0, 150.0, 0.0, 120.0, 200.0])
    ran = []

    def run(setting: Setting) -> Outcome:
        ran.append(setting)
        rate = next(rates)
        return Outcome(rate, "" if rate else "planted", {}, 0.0)

    three = [Setting(num_threads=count) for count in (1, 2, 3)]
    found = OneByOne(run, time.monotonic() + 60).play(three)
    assert found == Round({three[0]: 1.0, three[2]: 0.8}, {three[1]: "planted"})
    assert ran == [BASE, *three, BASE]


# -------------------------------------------------------------------------------- side by side --


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "process"])
def test_all_but_one_are_stopped(
    tuned: Tuned, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    """With their worker processes."""
    order: list[int] = []
    let = Running.let

    def watched(self: Running, seconds: float) -> None:
        if seconds:
            order.append(self.pid)
            others = [pid for pid in tuned.pids() if pid != self.pid and not has_ended(pid)]
            # a process that is stopped may have to wait for a core before it is
            wait_for(lambda: all(states(pid) == {"T"} for pid in others))
            assert "T" not in states(self.pid)
            groups = {member.group for member in members(self.pid)}
            assert len(groups) > 1 if backend == "process" else groups == {self.pid}
        let(self, seconds)

    monkeypatch.setattr(Running, "let", watched)
    script = tuned.write(backend=backend)
    with closing(tuned.turns(script)) as own:
        first = own.play([ONE, TWO])
        again = own.play([ONE])
    assert first is not None and first.is_whole and not first.failed and not tuned.alone
    assert first.gains.keys() == {ONE, TWO} and min(first.gains.values()) > 0
    assert again is not None and again.gains.keys() == {ONE}
    # 0.5 s of each are three turns, in one order and then in the other
    base, one, two = order[:3]
    assert (
        order == [base, one, two, two, one, base, base, one, two, *[base, one, one, base] * 2][:15]
    )
    # each started once
    assert len(tuned.pids()) == 3
    wait_for(lambda: all(map(has_ended, tuned.pids())))
    assert not any(map(states, tuned.pids()))


@pytest.mark.slow
def test_what_takes_a_lock_plays_one_by_one(tuned: Tuned, tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")
    script = tuned.write(
        f"import fcntl\nheld = open({lock!r}, 'w')\n"
        "fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    )
    with closing(tuned.turns(script)) as own:
        found = own.play([ONE])
        assert own.play([ONE]) is not None
    assert found is not None and found.gains.keys() == {ONE} and not found.failed
    assert tuned.said == [f"  one by one from here on: {ONE} starts only alone"]
    # once to know that it can, and twice beside the script as it is
    assert tuned.alone == [ONE, BASE, ONE, BASE, ONE]


@pytest.mark.slow
def test_what_fails_alone_too_leaves_the_others_side_by_side(tuned: Tuned) -> None:
    script = tuned.write("assert os.environ.get('OMP_NUM_THREADS') != '2', 'planted'")
    with closing(tuned.turns(script)) as own:
        found = own.play([ONE, TWO])
    assert found is not None and found.gains.keys() == {ONE}
    assert found.failed == {TWO: "AssertionError: planted"}
    assert tuned.alone == [TWO]


@pytest.mark.slow
def test_what_ends_by_itself_plays_one_by_one(tuned: Tuned) -> None:
    script = tuned.write()
    # a run ends with the script
    script.seconds = TEST_TIMEOUT / 4
    text = tuned.path.read_text()
    tuned.path.write_text(text.replace("while True:", "for _ in range(10_000):"))
    with closing(tuned.turns(script)) as own:
        found = own.play([ONE])
    assert found is not None and found.gains.keys() == {ONE}
    assert tuned.alone[-2:] == [BASE, ONE]


@pytest.mark.slow
def test_a_pool_that_keeps_its_workers_fails_beside_others(tuned: Tuned) -> None:
    script = tuned.write()
    text = tuned.path.read_text()
    make = (
        "import gymnasium\n"
        "make = [lambda: gymnasium.make('CartPole-v1')] * 4\n"
        "envs = parallel_pool.PoolVectorEnv(make, episode_seeds=True, prepare_resets=True)\n"
    )
    lines = [make if line.startswith("envs = ") else f"{line}\n" for line in text.splitlines()]
    tuned.path.write_text("".join(lines))
    with closing(tuned.turns(script)) as own:
        found = own.play([Setting(num_workers=1)])
    assert found == Round({}, {Setting(num_workers=1): "the pool keeps 4 workers"})
    assert not tuned.alone


def test_without_memory_for_two_they_play_one_by_one(
    tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "usable_memory", lambda: 1000)
    one_by_one = OneByOne(lambda setting: Outcome(100.0, "", {}, 0.0), time.monotonic() + 60)
    own = SideBySide(tuned.write(), time.monotonic() + 60, 501, one_by_one, tuned.said.append)
    assert own.play([ONE]) == Round({ONE: 1.0}, {})
    assert len(tuned.said) == 1 and "half of the memory" in tuned.said[0]
    unknown = SideBySide(tuned.write(), time.monotonic() + 60, 0, one_by_one, tuned.said.append)
    assert not unknown.is_possible and unknown.play([ONE]) == Round({ONE: 1.0}, {})


@pytest.mark.slow
def test_a_round_is_of_those_for_which_there_is_time(
    tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tuned.write()
    long = {Setting(num_threads=1)}
    monkeypatch.setattr(script, "seconds_of", lambda setting: 1e6 if setting in long else 0.5)
    with closing(tuned.turns(script)) as own:
        found = own.play([ONE, TWO, *long])
        assert found is not None and found.gains.keys() == {ONE, TWO} and not found.is_whole
        long.add(ONE)
        assert own.play([ONE]) is None
    assert len(tuned.pids()) == 3 and not tuned.alone


@pytest.mark.slow
def test_a_dead_guard_ends_no_search(tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    guards = []

    class Killed(Guard):
        def __init__(self) -> None:
            super().__init__()
            guards.append(self._process)

    monkeypatch.setattr(turns, "Guard", Killed)
    with closing(tuned.turns(tuned.write())) as own:
        assert own.play([ONE]) is not None and not tuned.alone
        guards[0].kill()
        guards[0].wait()
        found = own.play([ONE])
    assert found is not None and found.gains.keys() == {ONE} and tuned.alone == [BASE, ONE]
    assert tuned.said[2] == "  one by one from here on: the process that guards them was killed"
    wait_for(lambda: all(map(has_ended, tuned.pids())))


@pytest.mark.slow
def test_renewed_settings_start_again(tuned: Tuned) -> None:
    with closing(tuned.turns(tuned.write())) as own:
        assert own.play([ONE]) is not None
        own.renew()
        wait_for(lambda: all(map(has_ended, tuned.pids())))
        assert own.play([ONE]) is not None
    assert len(tuned.pids()) == 4 and not tuned.alone


# ------------------------------------------------------------------------------------- running --


@pytest.fixture
def running(tuned: Tuned) -> Iterator[Callable[..., Running]]:
    started = []

    def start(*lines: str) -> Running:
        tuned.write(*lines)
        started.append(Running(tuned.path, [str(tuned.mark)], BASE))
        return started[-1]

    yield start
    for each in started:
        each.close()
        # twice does nothing
        each.close()


@pytest.mark.slow
def test_memory_is_that_of_all_its_processes(running: Callable[..., Running]) -> None:
    deadline = time.monotonic() + TEST_TIMEOUT
    alone = running()
    alone.warm_up(0.0, deadline)
    more = running(
        "import subprocess\n"
        'text = \'x = bytearray(b"x" * (200 << 20)); print(1, flush=True); import time;'
        " time.sleep(600)'\n"
        "other = subprocess.Popen([sys.executable, '-c', text], stdout=subprocess.PIPE)\n"
        "other.stdout.readline()\n"
    )
    more.warm_up(0.0, deadline)
    assert more.look() - alone.look() > 150 << 20


@pytest.mark.slow
def test_only_slices_count(running: Callable[..., Running]) -> None:
    own = running()
    deadline = time.monotonic() + TEST_TIMEOUT
    own.warm_up(0.0, deadline)
    own.begin(deadline)
    slices = []
    for _ in range(4):
        start = time.monotonic_ns()
        own.let(0.1)
        slices.append((start, time.monotonic_ns()))
        # runs on, which is not to count
        own.let(0.1)
    found = own.end(slices, deadline)
    assert found["rate"] > 0 and not found["error"]
    # nothing has run in slices before it began
    own.begin(deadline)
    own.let(0.05)
    assert own.end(slices, deadline)["rate"] == 0


@pytest.mark.slow
def test_a_process_that_answers_nothing_has_ended(running: Callable[..., Running]) -> None:
    own = running()
    own.warm_up(0.0, time.monotonic() + TEST_TIMEOUT)
    own.stop()
    wait_for(lambda: states(own.pid) == {"T"})
    with pytest.raises(EndedError):
        own.begin(time.monotonic() + 0.1)
    own.close()
    assert own.status == -signal.SIGKILL


# --------------------------------------------------------------------------------------- guard --


def test_the_guard_kills_sessions_that_are_left() -> None:
    sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]
    with (
        subprocess.Popen(sleeps, start_new_session=True) as kept,
        subprocess.Popen(sleeps, start_new_session=True) as ended,
    ):
        guard = Guard()
        guard.add(kept.pid)
        guard.add(ended.pid)
        os.kill(ended.pid, signal.SIGSTOP)
        guard.remove(kept.pid)
        guard.close()
        assert ended.wait(TEST_TIMEOUT) == -signal.SIGKILL
        assert kept.poll() is None
        kept.kill()


TUNES = """
import sys, time
from pathlib import Path
from parallel_pool._tuner.run import Script
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.turns import OneByOne, SideBySide
script = Script(Path(sys.argv[1]), [sys.argv[2]], 600.0, 0.0)
deadline = time.monotonic() + 10_000
turns = SideBySide(script, deadline, 1, OneByOne(script.run, deadline), print)
turns.play([Setting(math_threads=1)])
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_stopped_scripts_end_with_the_tuner(tuned: Tuned, number: int) -> None:
    """With their worker processes."""
    tuned.write(backend="process")
    command = [sys.executable, "-c", TUNES, str(tuned.path), str(tuned.mark)]
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **streams) as process:
        try:
            wait_for(lambda: len(tuned.pids()) == 2)
            wait_for(lambda: {"T"} in map(states, tuned.pids()))
        except AssertionError:
            process.kill()
            raise
        process.send_signal(number)
        process.wait(TEST_TIMEOUT)
    try:
        wait_for(lambda: not any(map(states, tuned.pids())))
    except AssertionError:
        for pid in tuned.pids():
            kill(pid)
        raise
