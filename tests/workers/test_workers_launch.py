"""Worker processes by every start method: how they start, what they inherit, how they end."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._workers.start import bootstrap, forkserver, launch, process_fd
from parallel_pool._workers.start.connection import Connection, wait
from parallel_pool._workers.start.launch import METHODS
from parallel_pool._workers.watch.watch import Watcher
from tests.support import workers_targets
from tests.support.forked import in_child
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for
from tests.support.worker_processes import (
    TARGETS,
    Ends,
    Start,
    descriptors,
    methods,
    pickling_methods,
)

# -------------------------------------------------------------------------------------- start --


@pytest.mark.quick(1)
@methods
def test_a_worker_receives_and_answers(start: Start, method: str) -> None:
    workers = start(method, "echo", {"of": "first"}, "of second")
    received = [worker.connection.recv(TEST_TIMEOUT)[0] for worker in workers]
    assert received == [
        ("hello", workers[0].pid, {"of": "first"}),
        ("hello", workers[1].pid, "of second"),
    ]
    assert len({os.getpid(), *(worker.pid for worker in workers)}) == 3
    assert [worker.name for worker in workers] == ["test-0", "test-1"]
    with open(os.devnull) as file:
        workers[1].connection.send(bytes(5_000_000), [file.fileno(), file.fileno()], TEST_TIMEOUT)
    assert workers[1].connection.recv(TEST_TIMEOUT)[0] == (bytes(5_000_000), [os.devnull] * 2)
    for worker in workers:
        assert worker.exitcode is None
        worker.connection.close()
    for worker in workers:
        assert worker.join(TEST_TIMEOUT) and worker.exitcode == 0


# with spawn each takes a second of CPU time
@pytest.mark.slow
@pytest.mark.parametrize(("method", "many"), [("forkserver", 32), ("spawn", 6), ("fork", 32)])
def test_many_workers_start_at_once(start: Start, method: str, many: int) -> None:
    workers = start(method, "echo", *range(many))
    assert [worker.connection.recv(TEST_TIMEOUT)[0] for worker in workers] == [
        ("hello", worker.pid, index) for index, worker in enumerate(workers)
    ]


# ---------------------------------------------------------------------------------------- end --


@pytest.mark.quick(1)
@methods
@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("return", 0),
        ("os._exit", 3),
        ("sys.exit", 4),
        ("SIGKILL", -signal.SIGKILL),
        ("SIGTERM", -signal.SIGTERM),
        ("segfault", -signal.SIGSEGV),
    ],
)
def test_the_exit_code_shows_how_a_worker_ended(
    start: Start, method: str, how: str, code: int
) -> None:
    (worker,) = start(method, "end", how)
    assert worker.connection.recv(TEST_TIMEOUT)[0] == "here"
    assert not worker.join(0) and worker.exitcode is None
    worker.connection.send("go")
    assert worker.join(TEST_TIMEOUT)
    assert worker.exitcode == code
    with pytest.raises(EOFError):
        worker.connection.recv(TEST_TIMEOUT)


@pytest.mark.quick(1)
@methods
def test_kill_signals_only_running_workers(start: Start, method: str) -> None:
    killed, ended = start(method, "end", "sleep", "sleep")
    for worker in (killed, ended):
        assert worker.connection.recv(TEST_TIMEOUT)[0] == "here"
    killed.kill()
    ended.kill(signal.SIGTERM)
    assert killed.join(TEST_TIMEOUT) and ended.join(TEST_TIMEOUT)
    assert (killed.exitcode, ended.exitcode) == (-signal.SIGKILL, -signal.SIGTERM)
    # a worker that has ended gets no signal
    killed.kill()
    killed.close()
    killed.kill()
    assert killed.join() and killed.exitcode == -signal.SIGKILL


@methods
def test_workers_ignore_ctrl_c(start: Start, method: str) -> None:
    (worker,) = start(method, "echo", None)
    worker.connection.recv(TEST_TIMEOUT)
    worker.kill(signal.SIGINT)
    worker.connection.send("still there")
    assert worker.connection.recv(TEST_TIMEOUT)[0][0] == "still there"


# ----------------------------------------------------------------------------------- failures --


@methods
def test_an_exception_of_the_target_arrives(start: Start, method: str) -> None:
    (worker,) = start(method, "fail", "own")
    kind_of_message, error, traceback = worker.connection.recv(TEST_TIMEOUT)[0]
    assert kind_of_message == "failed"
    assert type(error) is workers_targets.OwnError and error.args == ("of my own", 7)
    assert 'raise OwnError("of my own", 7)' in traceback
    assert worker.join(TEST_TIMEOUT) and worker.exitcode == 1


@pytest.mark.quick(1)
@methods
@pytest.mark.parametrize("how", ["unpicklable", "unreadable"])
def test_the_traceback_of_an_exception_that_cannot_be_sent_arrives(
    start: Start, method: str, how: str
) -> None:
    (worker,) = start(method, "fail", how)
    kind_of_message, error, traceback = worker.connection.recv(TEST_TIMEOUT)[0]
    assert (kind_of_message, error) == ("failed", None)
    assert ("OwnError" if how == "unpicklable" else "Unreadable") in traceback
    assert worker.join(TEST_TIMEOUT) and worker.exitcode == 1


@pytest.mark.quick(1)
@methods
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("tests.no_such_module:serve", ModuleNotFoundError),
        (f"{TARGETS}:no_such_function", AttributeError),
    ],
)
def test_a_target_that_cannot_be_imported_is_an_error(method: str, target: str, kind: type) -> None:
    (worker,) = launch.start(method, target, [None], name="test")
    try:
        kind_of_message, error, traceback = worker.connection.recv(TEST_TIMEOUT)[0]
        assert kind_of_message == "failed" and type(error) is kind
        assert "no_such" in str(error) and kind.__name__ in traceback
        assert worker.join(TEST_TIMEOUT) and worker.exitcode == 1
    finally:
        worker.close()


@pickling_methods
def test_an_argument_that_cannot_be_unpickled_is_an_error(start: Start, method: str) -> None:
    (worker,) = start(method, "echo", workers_targets.Poison())
    kind_of_message, error, _ = worker.connection.recv(TEST_TIMEOUT)[0]
    assert kind_of_message == "failed" and type(error) is RuntimeError
    assert str(error) == "this argument cannot be read"
    assert worker.join(TEST_TIMEOUT) and worker.exitcode == 1


@pickling_methods
def test_an_argument_that_cannot_be_pickled_starts_nothing(start: Start, method: str) -> None:
    with pytest.raises(TypeError, match="lock") as caught:
        start(method, "echo", 1, threading.Lock())
    assert "worker 1 of 2" in caught.value.__notes__[0]
    # fork pickles nothing
    (worker,) = start("fork", "evaluate", "'alive'")
    assert worker.connection.recv(TEST_TIMEOUT)[0] == "alive"


def test_an_unknown_start_method_is_refused() -> None:
    choices = "start method .thread.: choose one of 'forkserver', 'spawn'"
    with pytest.raises(ValueError, match=choices):
        launch.start("thread", f"{TARGETS}:echo", [None], name="test")


@pytest.mark.slow
@methods
def test_with_too_few_descriptors_every_started_worker_ends(start: Start, method: str) -> None:
    """The fixture `start` checks that they end. The error gives their number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = descriptors()
    free = [fd for fd in range(soft) if str(fd) not in taken]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[16], hard))
    try:
        with pytest.raises(OSError, match=r"only [1-9] of 40 worker processes") as caught:
            start(method, "echo", *range(40))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.errno == errno.EMFILE


# by start method: the owner and the name of the function that starts a process
STARTERS: dict[str, tuple[Any, str]] = {
    "forkserver": (forkserver.Forkserver, "fork"),
    "spawn": (bootstrap, "run_python"),
    "fork": (bootstrap, "fork"),
}


@pytest.mark.quick(1)
@methods
def test_with_too_many_processes_the_error_counts_those_that_started(
    start: Start, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()
    owner, name = STARTERS[method]
    begin = getattr(owner, name)

    def limited(*args: Any, **options: Any) -> Any:
        if next(calls) == 2:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return begin(*args, **options)

    monkeypatch.setattr(owner, name, limited)
    with pytest.raises(OSError, match="only 2 of 5 worker processes could be started: Resource"):
        start(method, "echo", *range(5))


@pytest.mark.quick(1)
@methods
def test_after_ctrl_c_while_starting_every_worker_ends(
    start: Start, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()
    pair = Connection.pair

    def interrupted() -> Any:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return pair()

    monkeypatch.setattr(Connection, "pair", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(method, "echo", *range(5))


@methods
def test_a_worker_lost_by_ctrl_c_ends(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C comes after the start of a worker and before its record, so it must end itself."""
    owner, name = STARTERS[method]
    begin = getattr(owner, name)
    lost: list[Any] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        lost.append(begin(*args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    started = tmp_path / "started"
    task = f"(open({str(started)!r}, 'w').close(), time.sleep(1e5))"
    with pytest.raises(KeyboardInterrupt):
        launch.start(method, f"{TARGETS}:evaluate", [task], name="lost")
    if method == "forkserver":
        _, pid, pidfd = lost[0]
        wait_for(lambda: has_ended(pid))
        if pidfd is not None:
            os.close(pidfd)
    else:
        wait_for(lambda: has_ended(lost[0]))
        os.waitpid(lost[0], 0)
    assert not started.exists()


# ------------------------------------------------------------------------------- process state --


@pytest.mark.quick(1)
@methods
def test_a_worker_has_the_state_of_its_parent(
    start: Start, method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start(method, "echo", "starts the fork server with the earlier state")
    monkeypatch.setenv("PARALLEL_POOL_TEST", "süß \udcff")
    monkeypatch.delenv("PATH")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "argv", ["program", "--option"])
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        (worker,) = start(method, "evaluate", "process_state()")
        state = worker.connection.recv(TEST_TIMEOUT)[0]
    finally:
        os.sched_setaffinity(0, cores)
    assert state["argv"] == ["program", "--option"]
    # C libraries set variables that os.environ does not have
    assert {name: state["environ"].get(name) for name in os.environ} == dict(os.environ)
    assert "PATH" not in state["environ"]
    assert state["folder"] == str(tmp_path)
    assert state["path"] == sys.path
    assert state["cores"] == {min(cores)}
    assert state["comm"] == ("python" if method == "spawn" else "test-0")
    assert (state["flags"], state["warnings"]) == (sys.flags.optimize, sys.warnoptions)


@pytest.mark.quick(1)
@methods
def test_a_worker_inherits_nothing_else(start: Start, method: str) -> None:
    start(method, "echo", "the next worker must not inherit its connection")
    (worker,) = start(method, "evaluate", "process_state()")
    state = worker.connection.recv(TEST_TIMEOUT)[0]
    assert state["stdin"] == ""
    # a forked worker also has what is open here
    here = [each.partition(":")[0] for each in descriptors().values()]
    own = {kind: state["open"].count(kind) for kind in ("socket", "anon_inode", "/memfd")}
    # the anon_inode is the parent's pidfd, by which the worker detects the parent's end
    if method == "fork":
        # without the connections of the fork server and of both workers, and their two pidfds
        own = {kind: own[kind] - here.count(kind) for kind in own}
        assert own == {"socket": 1 - 3, "anon_inode": 1 - 2, "/memfd": 0}
    else:
        assert own == {"socket": 1, "anon_inode": 1, "/memfd": 0}
    # the worker's own, of Ctrl-C
    assert state["handlers"] == [str(signal.SIGINT)] and state["blocked"] == set()


@methods
def test_a_worker_writes_to_the_streams_of_its_parent(
    start: Start, method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (worker,) = start(
        method, "evaluate", "print('to', 'stdout'), print('to stderr', file=sys.stderr)"
    )
    assert worker.join(TEST_TIMEOUT)
    assert capfd.readouterr() == ("to stdout\n", "to stderr\n")


@methods
def test_another_thread_can_start_workers(start: Start, method: str) -> None:
    with ThreadPoolExecutor(1) as executor:
        (worker,) = executor.submit(start, method, "echo", "thread").result(TEST_TIMEOUT)
    assert worker.connection.recv(TEST_TIMEOUT)[0] == ("hello", worker.pid, "thread")


@pytest.mark.sanitizers
def test_a_forked_child_can_start_workers(start: Start) -> None:
    """It starts its own fork server, and does not keep its parent's workers alive."""
    workers = start("forkserver", "echo", 1, 2)
    before = set(descriptors())
    watcher = Watcher()
    watcher.watch(workers[0], lambda worker: None)
    its_own = set(descriptors()) - before
    assert len(its_own) == 3
    pid = forkserver.current().pid

    def child() -> None:
        assert all(worker.pidfd == worker.connection.fileno() == -1 for worker in workers)
        workers[0].close()
        assert not its_own & set(descriptors())
        assert forkserver.current().pid != pid
        (own,) = launch.start(None, f"{TARGETS}:echo", ["own"], name="own")
        ended = threading.Event()
        watcher.watch(own, lambda worker: ended.set())
        assert own.connection.recv(TEST_TIMEOUT)[0][2] == "own"
        own.connection.close()
        assert ended.wait(TEST_TIMEOUT) and own.exitcode == 0
        own.close()

    in_child(child)
    assert [worker.connection.recv(TEST_TIMEOUT)[0][2] for worker in workers] == [1, 2]
    watcher.close()


@pytest.mark.slow
def test_the_end_of_workers_is_noticed_without_pidfds(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_fd, "HAS_PIDFD", False)
    monkeypatch.setattr(process_fd, "HAS_KQUEUE", False)
    monkeypatch.setattr(process_fd, "ENDED", 0)
    for method in METHODS:
        workers = start(method, "end", "SIGKILL", "sleep", "return")
        ended = Ends()
        watcher = Watcher()
        for worker in workers:
            watcher.watch(worker, ended)
            assert worker.connection.recv(TEST_TIMEOUT)[0] == "here"
            # a message is not the end
            assert not worker.join(0) and worker.exitcode is None
            worker.connection.send("go")
        workers[1].kill(signal.SIGTERM)
        codes = [-signal.SIGKILL, -signal.SIGTERM, 0]
        for worker, code in zip(workers, codes, strict=True):
            assert worker.join(TEST_TIMEOUT) and worker.exitcode == code
        for worker, code in zip(workers, codes, strict=True):
            ended.wait_for(worker, code)
        watcher.close()
        ended.received.clear()


# ------------------------------------------------------------------------------------ programs --

SCRIPT = """
import os, sys, time
from parallel_pool._workers.start import launch
from parallel_pool._workers.watch.watch import Watcher

class Point:
    def __init__(self, x):
        self.x = x

class OwnError(Exception):
    pass

def double(point):
    if point.x < 0:
        raise OwnError(point.x)
    return Point(2 * point.x)

method = sys.argv[1]
tasks = [(double, Point(3)), (double, Point(-1))]
workers = launch.start(method, "tests.support.workers_targets:call", tasks, name="w")
watcher = Watcher()
for worker in workers:
    watcher.watch(worker, lambda worker: None)
doubled = workers[0].connection.recv(60)[0]
failed = workers[1].connection.recv(60)[0]
print(type(doubled) is Point, doubled.x, type(failed[1]) is OwnError, failed[1])
"""


def run(method: str, *command: str, text: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *command, method],
        input=text,
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
@methods
def test_a_program_from_stdin_can_start_workers(method: str) -> None:
    assert run(method, "-", text=SCRIPT) == "True 6 True -1\n"


@pytest.mark.slow
@methods
def test_a_script_without_a_main_guard_can_start_workers(method: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    # a line that workers must not run
    script.write_text(SCRIPT + "print('end')\n")
    assert run(method, str(script)) == "True 6 True -1\nend\n"


@pytest.mark.slow
@methods
def test_neither_output_nor_exit_handlers_are_doubled(method: str) -> None:
    script = """
import atexit, sys
from parallel_pool._workers.start import launch
atexit.register(print, "handler")
print("once", end=" ")
(worker,) = launch.start(sys.argv[1], "tests.support.workers_targets:echo", [1], name="w")
worker.connection.recv(60)
worker.connection.close()
worker.join(60)
print(worker.exitcode)
worker.close()
"""
    assert run(method, "-c", script) == "once 0\nhandler\n"


@pytest.mark.slow
@methods
def test_all_end_with_a_killed_parent(method: str) -> None:
    script = """
import os, sys, time
from parallel_pool._workers.start import forkserver, launch
workers = launch.start(sys.argv[1], "tests.support.workers_targets:echo", range(3), name="w")
for worker in workers:
    worker.connection.recv(60)
print(forkserver.current().pid, *(worker.pid for worker in workers), flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script, method],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert parent.stdout is not None
        pidfds = [os.pidfd_open(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(pidfds) == 4
    finally:
        parent.kill()
        parent.wait()
    for pidfd in pidfds:
        assert wait(pidfd, time.monotonic() + TEST_TIMEOUT)
        os.close(pidfd)
    # no process has it open any more
    assert parent.stdout.read() == ""
    parent.stdout.close()
