"""Orphans: processes that environments have started end when their worker dies."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.start.launch import METHODS
from tests.faults.failing_envs import Counting, kill
from tests.support.programs import Program
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for
from tests.support.worker_processes import methods

pytestmark = pytest.mark.usefixtures("alarm")

Start = Callable[..., Program]

SLEEPS = ["sleep", "1000"]
# ends only by SIGKILL; prints when it is ready
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while true; do sleep 1; done"]
TIDY = ["sh", "-c", 'trap "touch $0; kill %1; exit" TERM; sleep 1000 & echo ready; wait']


class Starting(Counting):
    """Starts a program, like an environment whose game is a process of its own."""

    def __init__(self, *command: str) -> None:
        super().__init__()
        # not this process's stderr, which the test may read
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if command[0] == "sh":
            assert self.process.stdout is not None
            assert self.process.stdout.readline() == b"ready\n"

    @property
    def pid(self) -> int:
        return self.process.pid


def starting(command: list[str], **options: Any) -> ProcessPool:
    return ProcessPool([lambda: Starting(*command)] * 4, num_workers=2, **options)


def kill_second(pool: ProcessPool) -> list[int]:
    """Kills the second worker, checks that only its orphans end; returns all programs' ids."""
    pids = pool.get_attr("pid")
    kill(pool, 1)
    wait_for(lambda: all(map(has_ended, pids[2:])))
    # the programs of the other worker go on
    assert not any(map(has_ended, pids[:2]))
    return pids


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_orphans_end_with_a_worker_that_is_killed(method: str) -> None:
    with starting(SLEEPS, start_method=method) as pool:
        pids = kill_second(pool)
    for pid in pids[:2]:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["forkserver", "fork"])
def test_orphans_that_ignore_sigterm_are_killed(method: str) -> None:
    with starting(STUBBORN, start_method=method) as pool:
        pids = kill_second(pool)
        kill(pool, 0)
    wait_for(lambda: all(map(has_ended, pids)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["forkserver", "fork"])
def test_orphans_may_clean_up(method: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with starting([*TIDY, str(trace)], start_method=method) as pool:
        pids = pool.get_attr("pid")
        kill(pool, 1)
        wait_for(trace.exists)
        wait_for(lambda: all(map(has_ended, pids[2:])))
        kill(pool, 0)


def test_a_worker_that_exits_normally_keeps_its_child_processes() -> None:
    with starting(SLEEPS, start_method="fork") as pool:
        pids = pool.get_attr("pid")
        pool.close(timeout=TEST_TIMEOUT / 2)
    assert not any(map(has_ended, pids))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


STARTS = """
import subprocess

class Starting(Env):
    def __init__(self):
        super().__init__()
        null = subprocess.DEVNULL
        subprocess.Popen(["sh", "-c", WHAT], stdout=null, stderr=null)

WHAT = sys.argv[2]
pool = ProcessPool([Starting] * 2, num_workers=2, start_method=sys.argv[1])
# one that is becoming another program has no environment yet
while len(others()) < 4:
    time.sleep(0.005)
print(len(others()), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_orphans_end_with_the_parent(program: Start, method: str) -> None:
    """`Program.end` fails if one of its processes is left."""
    script = STARTS + "os.kill(os.getpid(), signal.SIGKILL)"
    done = program(script, method, "exec sleep 1000").end()
    assert (done.code, done.out, done.err) == (-9, "4\n", "")


@pytest.mark.slow
def test_orphans_that_ignore_sigterm_end_with_the_parent(program: Start) -> None:
    script = STARTS + "os.kill(os.getpid(), signal.SIGKILL)"
    what = "trap '' TERM; while true; do sleep 1; done"
    assert program(script, "forkserver", what).end().code == -9


@pytest.mark.slow
def test_orphans_that_ignore_sigterm_end_with_a_program_that_exits(program: Start) -> None:
    """At exit Python does not join the threads that wait for orphans, which end nevertheless."""
    script = STARTS + "for pid in pool.worker_pids: os.kill(pid, signal.SIGKILL)"
    what = "trap '' TERM; while true; do sleep 1; done"
    for method in ("fork", "spawn"):
        assert program(script, method, what).end().code == 0


@pytest.mark.quick(1)
@methods
def test_a_worker_leads_a_group_in_its_parents_session(method: str) -> None:
    with ProcessPool([Counting], num_workers=1, start_method=method) as pool:
        [(leads, session)] = pool.apply(lambda env: (os.getpgid(0) == os.getpid(), os.getsid(0)))
    assert leads
    assert session == os.getsid(0)
