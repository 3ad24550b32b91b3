"""Starting worker processes: every method, every end, and nothing left behind."""

from __future__ import annotations

import contextlib
import errno
import gc
import itertools
import linecache
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from parallel_pool.workers import bootstrap, connection, forkserver, launch, watch
from parallel_pool.workers.connection import HEADER, Connection, wait
from parallel_pool.workers.launch import METHODS, Worker
from parallel_pool.workers.watch import Watcher
from tests import workers_targets
from tests.patience import PATIENCE, has_ended, wait_for

TARGETS = "tests.workers_targets"

# which imports everything anew for each worker: make check leaves it out
SPAWN = pytest.param("spawn", marks=pytest.mark.slow)
methods = pytest.mark.parametrize(
    "method", [SPAWN if name == "spawn" else name for name in METHODS]
)
pickling_methods = pytest.mark.parametrize("method", ["forkserver", SPAWN])

Start = Callable[..., list[Worker]]


def children(state: str = "") -> set[int]:
    """Process ids of this process's children: dead ones that nobody has waited for included; or
    those in a state."""
    found = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                its_state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state in its_state:
            found.add(int(name))
    return found


def kinds() -> Counter[str]:
    """How many of a kind are open: sockets of forkservers come and go."""
    return Counter(re.sub(r":\[\d+\]", "", place) for place in descriptors().values())


class Ends:
    """A callback for a watcher that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Worker, int | None]] = []

    def __call__(self, worker: Worker) -> None:
        self.told.append((worker, worker.exitcode))

    def wait_for(self, worker: Worker, code: int) -> None:
        wait_for(lambda: (worker, code) in self.told)


def descriptors() -> dict[str, str]:
    """What this process has open, by number."""
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
    return found


@pytest.fixture
def start() -> Iterator[Start]:
    """`launch.start` of a function among the targets; workers end with the test, and leave nothing.

    Forkservers outlive a test, so they do not count.
    """
    forkserver.current()
    # what other tests have left to the garbage collector must not go meanwhile
    gc.collect()
    before = kinds(), children() - forkserver._unreaped
    started = []

    def begin(method: str | None, function: str, *arguments: Any) -> list[Worker]:
        workers = launch.start(method, f"{TARGETS}:{function}", arguments, name="test")
        started.extend(workers)
        return workers

    yield begin
    while started:
        started.pop().close()
    forkserver.current()
    assert (kinds(), children() - forkserver._unreaped) == before


# ---------------------------------------------------------------------------------- beginning --


@methods
def test_a_worker_hears_and_answers(start: Start, method: str) -> None:
    workers = start(method, "echo", {"of": "first"}, "of second")
    heard = [worker.connection.recv(PATIENCE)[0] for worker in workers]
    assert heard == [
        ("hello", workers[0].pid, {"of": "first"}),
        ("hello", workers[1].pid, "of second"),
    ]
    assert len({os.getpid(), *(worker.pid for worker in workers)}) == 3
    assert [worker.name for worker in workers] == ["test-0", "test-1"]
    with open(os.devnull) as file:
        workers[1].connection.send(bytes(5_000_000), [file.fileno(), file.fileno()], PATIENCE)
    assert workers[1].connection.recv(PATIENCE)[0] == (bytes(5_000_000), [os.devnull] * 2)
    for worker in workers:
        assert worker.exitcode is None
        worker.connection.close()
    for worker in workers:
        assert worker.join(PATIENCE) and worker.exitcode == 0


# those of spawn take a second of a core each
@pytest.mark.parametrize(("method", "many"), [("forkserver", 32), ("spawn", 6), ("fork", 32)])
def test_many_at_once(start: Start, method: str, many: int) -> None:
    workers = start(method, "echo", *range(many))
    assert [worker.connection.recv(PATIENCE)[0] for worker in workers] == [
        ("hello", worker.pid, index) for index, worker in enumerate(workers)
    ]


# ------------------------------------------------------------------------------------- ending --


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
def test_exit_code(start: Start, method: str, how: str, code: int) -> None:
    (worker,) = start(method, "end", how)
    assert worker.connection.recv(PATIENCE)[0] == "here"
    assert not worker.join(0) and worker.exitcode is None
    worker.connection.send("go")
    assert worker.join(PATIENCE)
    assert worker.exitcode == code
    with pytest.raises(EOFError):
        worker.connection.recv(PATIENCE)


@methods
def test_kill(start: Start, method: str) -> None:
    killed, ended = start(method, "end", "sleep", "sleep")
    for worker in (killed, ended):
        assert worker.connection.recv(PATIENCE)[0] == "here"
    killed.kill()
    ended.kill(signal.SIGTERM)
    assert killed.join(PATIENCE) and ended.join(PATIENCE)
    assert (killed.exitcode, ended.exitcode) == (-signal.SIGKILL, -signal.SIGTERM)
    # of one that has ended, nothing happens
    killed.kill()
    killed.close()
    killed.kill()
    assert killed.join() and killed.exitcode == -signal.SIGKILL


@methods
def test_ctrl_c_is_ignored(start: Start, method: str) -> None:
    (worker,) = start(method, "echo", None)
    worker.connection.recv(PATIENCE)
    worker.kill(signal.SIGINT)
    worker.connection.send("still there")
    assert worker.connection.recv(PATIENCE)[0][0] == "still there"


# ------------------------------------------------------------------------------------ failing --


@methods
def test_what_the_target_raises_arrives(start: Start, method: str) -> None:
    (worker,) = start(method, "fail", "own")
    told, error, traceback = worker.connection.recv(PATIENCE)[0]
    assert told == "failed"
    assert type(error) is workers_targets.OwnError and error.args == ("of my own", 7)
    assert 'raise OwnError("of my own", 7)' in traceback
    assert worker.join(PATIENCE) and worker.exitcode == 1


@methods
@pytest.mark.parametrize("how", ["unpicklable", "untold"])
def test_what_cannot_travel_leaves_its_traceback(start: Start, method: str, how: str) -> None:
    (worker,) = start(method, "fail", how)
    told, error, traceback = worker.connection.recv(PATIENCE)[0]
    assert (told, error) == ("failed", None)
    assert ("OwnError" if how == "unpicklable" else "Untold") in traceback
    assert worker.join(PATIENCE) and worker.exitcode == 1


@methods
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("tests.no_such_module:serve", ModuleNotFoundError),
        (f"{TARGETS}:no_such_function", AttributeError),
    ],
)
def test_target_that_cannot_be_imported(method: str, target: str, kind: type) -> None:
    (worker,) = launch.start(method, target, [None], name="test")
    try:
        told, error, traceback = worker.connection.recv(PATIENCE)[0]
        assert told == "failed" and type(error) is kind
        assert "no_such" in str(error) and kind.__name__ in traceback
        assert worker.join(PATIENCE) and worker.exitcode == 1
    finally:
        worker.close()


@pickling_methods
def test_argument_that_cannot_be_read(start: Start, method: str) -> None:
    (worker,) = start(method, "echo", workers_targets.Poison())
    told, error, _ = worker.connection.recv(PATIENCE)[0]
    assert told == "failed" and type(error) is RuntimeError
    assert str(error) == "this argument cannot be read"
    assert worker.join(PATIENCE) and worker.exitcode == 1


@pickling_methods
def test_argument_that_cannot_be_pickled_starts_nothing(start: Start, method: str) -> None:
    with pytest.raises(TypeError, match="lock") as caught:
        start(method, "echo", 1, threading.Lock())
    assert "worker 1 of 2" in caught.value.__notes__[0]
    # nothing is pickled under fork
    (worker,) = start("fork", "evaluate", "'alive'")
    assert worker.connection.recv(PATIENCE)[0] == "alive"


def test_no_such_method() -> None:
    choices = "start method .thread.: choose one of 'forkserver', 'spawn'"
    with pytest.raises(ValueError, match=choices):
        launch.start("thread", f"{TARGETS}:echo", [None], name="test")


@methods
def test_too_few_descriptors(start: Start, method: str) -> None:
    """Those that could be started are ended, and the error says how many they were."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = descriptors()
    free = [fd for fd in range(soft) if str(fd) not in taken]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[16], hard))
    try:
        with pytest.raises(OSError, match=r"[1-9] of 40 worker processes") as caught:
            start(method, "echo", *range(40))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.errno == errno.EMFILE


# where a process begins
STARTERS: dict[str, tuple[Any, str]] = {
    "forkserver": (forkserver.Forkserver, "fork"),
    "spawn": (bootstrap, "run_python"),
    "fork": (bootstrap, "fork"),
}


@methods
def test_too_many_processes(start: Start, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()
    place, name = STARTERS[method]
    begin = getattr(place, name)

    def limited(*args: Any, **options: Any) -> Any:
        if next(calls) == 2:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return begin(*args, **options)

    monkeypatch.setattr(place, name, limited)
    with pytest.raises(OSError, match="2 of 5 worker processes could be started, then: Resource"):
        start(method, "echo", *range(5))


@methods
def test_ctrl_c_while_starting(start: Start, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_process_that_ctrl_c_lost_ends(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It comes between a start and its entry in the books: nobody could end such a worker."""
    place, name = STARTERS[method]
    begin = getattr(place, name)
    lost: list[Any] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        lost.append(begin(*args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(place, name, interrupted)
    begun = tmp_path / "begun"
    task = f"(open({str(begun)!r}, 'w').close(), time.sleep(1e5))"
    with pytest.raises(KeyboardInterrupt):
        launch.start(method, f"{TARGETS}:evaluate", [task], name="lost")
    if method == "forkserver":
        _, pid, pidfd = lost[0]
        wait_for(lambda: has_ended(pid))
        os.close(pidfd)
    else:
        wait_for(lambda: has_ended(lost[0]))
        os.waitpid(lost[0], 0)
    assert not begun.exists()


# ------------------------------------------------------------------------------- surroundings --


@methods
def test_a_worker_lives_where_its_creator_does(
    start: Start, method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start(method, "echo", "so that the forkserver has seen the world as it was")
    monkeypatch.setenv("PARALLEL_POOL_TEST", "süß \udcff")
    monkeypatch.delenv("PATH")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "argv", ["program", "--option"])
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        (worker,) = start(method, "evaluate", "surroundings()")
        told = worker.connection.recv(PATIENCE)[0]
    finally:
        os.sched_setaffinity(0, cores)
    assert told["argv"] == ["program", "--option"]
    # C libraries set some that Python does not know of
    assert {name: told["environ"].get(name) for name in os.environ} == dict(os.environ)
    assert "PATH" not in told["environ"]
    assert told["folder"] == str(tmp_path)
    assert told["path"] == sys.path
    assert told["cores"] == {min(cores)}
    assert told["comm"] == ("python" if method == "spawn" else "test-0")
    assert (told["flags"], told["warnings"]) == (sys.flags.optimize, sys.warnoptions)


@methods
def test_a_worker_inherits_nothing_else(start: Start, method: str) -> None:
    start(method, "echo", "whose connection the next one must not have")
    (worker,) = start(method, "evaluate", "surroundings()")
    told = worker.connection.recv(PATIENCE)[0]
    assert told["stdin"] == ""
    # a fork has what was open here before, too
    before = [place.partition(":")[0] for place in descriptors().values()]
    own = {kind: told["open"].count(kind) for kind in ("socket", "anon_inode", "/memfd")}
    # an anon_inode is the creator's pidfd
    if method == "fork":
        # less the forkserver's connection and its connection and pidfd, and those of the worker
        # before
        own = {kind: own[kind] - before.count(kind) for kind in own}
        assert own == {"socket": 1 - 3, "anon_inode": 1 - 2, "/memfd": 0}
    else:
        assert own == {"socket": 1, "anon_inode": 1, "/memfd": 0}
    assert told["handlers"] == [] and told["blocked"] == set()


@methods
def test_a_worker_writes_where_its_creator_does(
    start: Start, method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (worker,) = start(
        method, "evaluate", "print('to', 'stdout'), print('to stderr', file=sys.stderr)"
    )
    assert worker.join(PATIENCE)
    assert capfd.readouterr() == ("to stdout\n", "to stderr\n")


@methods
def test_start_from_another_thread(start: Start, method: str) -> None:
    with ThreadPoolExecutor(1) as executor:
        (worker,) = executor.submit(start, method, "echo", "thread").result(PATIENCE)
    assert worker.connection.recv(PATIENCE)[0] == ("hello", worker.pid, "thread")


def test_workers_of_a_forkserver_draw_different_numbers(start: Start) -> None:
    source = "__import__('numpy').random.random(), __import__('random').random()"
    workers = start("forkserver", "evaluate", *[source] * 4)
    drawn = [number for worker in workers for number in worker.connection.recv(PATIENCE)[0]]
    assert len(set(drawn)) == 8


def test_start_from_a_fork(start: Start) -> None:
    """A forked child has a forkserver of its own, and does not keep its parent's workers alive."""
    workers = start("forkserver", "echo", 1, 2)
    watcher = Watcher()
    watcher.watch(workers[0], lambda worker: None)
    pid, read, write = forkserver.current().pid, *os.pipe()
    forked = os.fork()
    if not forked:
        report = b"nothing"
        try:
            assert all(worker.pidfd == worker.connection.fileno() == -1 for worker in workers)
            workers[0].close()
            assert "eventpoll" not in str(descriptors())
            assert forkserver.current().pid != pid
            (own,) = launch.start(None, f"{TARGETS}:echo", ["own"], name="own")
            ended = threading.Event()
            watcher.watch(own, lambda worker: ended.set())
            assert own.connection.recv(PATIENCE)[0][2] == "own"
            own.connection.close()
            assert ended.wait(PATIENCE) and own.exitcode == 0
            own.close()
            report = b"fine"
        except BaseException:
            report = traceback.format_exc().encode()
        finally:
            os.write(write, report)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read().decode() == "fine"
    os.waitpid(forked, 0)
    assert [worker.connection.recv(PATIENCE)[0][2] for worker in workers] == [1, 2]
    watcher.close()


# ----------------------------------------------------------------------------------- forkserver --


def test_a_dead_forkserver_is_replaced(start: Start) -> None:
    former = forkserver.current()
    (worker,) = start("forkserver", "echo", 1)
    os.kill(former.pid, signal.SIGKILL)
    assert worker.connection.recv(PATIENCE)[0][2] == 1
    os.waitid(os.P_PID, former.pid, os.WEXITED | os.WNOWAIT)
    # its children live, only how they end is not known any more
    worker.connection.send("alive")
    assert worker.connection.recv(PATIENCE)[0][0] == "alive"
    worker.kill()
    assert worker.join(PATIENCE) and worker.exitcode == 255
    (other,) = start("forkserver", "echo", 2)
    assert other.connection.recv(PATIENCE)[0][2] == 2
    assert forkserver.current().pid != former.pid


def test_libraries_are_loaded_under_the_variables_of_the_day(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = forkserver.current()
    (worker,) = start("forkserver", "echo", 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (other,) = start("forkserver", "echo", 2)
    assert forkserver.current() is not former
    monkeypatch.undo()
    # the former one lives for its child's sake
    for one in (worker, other):
        one.connection.recv(PATIENCE)
        one.connection.close()
        assert one.join(PATIENCE) and one.exitcode == 0


def test_without_pidfds(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "HAS_PIDFD", False)
    monkeypatch.setattr(launch, "ENDED", 0)
    monkeypatch.setattr(watch, "ENDED", 0)
    for method in METHODS:
        workers = start(method, "end", "SIGKILL", "sleep", "return")
        ended = Ends()
        watcher = Watcher()
        for worker in workers:
            watcher.watch(worker, ended)
            assert worker.connection.recv(PATIENCE)[0] == "here"
            # a message is no end
            assert not worker.join(0) and worker.exitcode is None
            worker.connection.send("go")
        workers[1].kill(signal.SIGTERM)
        codes = [-signal.SIGKILL, -signal.SIGTERM, 0]
        for worker, code in zip(workers, codes, strict=True):
            assert worker.join(PATIENCE) and worker.exitcode == code
        for worker, code in zip(workers, codes, strict=True):
            ended.wait_for(worker, code)
        watcher.close()
        ended.told.clear()


# ------------------------------------------------------------------------------------ watching --


@methods
def test_watcher_tells_of_each_end_once(start: Start, method: str) -> None:
    ended, ways = Ends(), ["return", "os._exit", "SIGKILL", "segfault"]
    watcher = Watcher()
    workers = start(method, "end", *ways)
    for worker in workers:
        watcher.watch(worker, ended)
    for worker, code in zip(workers, (0, 3, -signal.SIGKILL, -signal.SIGSEGV), strict=True):
        worker.connection.send("go")
        ended.wait_for(worker, code)
    # one that has ended before
    watcher.watch(workers[0], ended)
    wait_for(lambda: len(ended.told) == 5)
    watcher.close()
    assert [worker for worker, _ in ended.told] == [*workers, workers[0]]
    ended.told.clear()


def test_an_idle_watcher_sleeps(start: Start) -> None:
    watcher = Watcher()
    (worker,) = start("fork", "echo", None)
    watcher.watch(worker, Ends())
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "pp-watcher"]

    def switches() -> list[str]:
        with open(f"/proc/self/task/{thread.native_id}/status") as file:
            return [line for line in file if "ctxt_switches" in line]

    # until it has gone to sleep
    wait_for(lambda: switches() == (time.sleep(0.1), switches())[1])
    before = switches()
    time.sleep(1)
    assert switches() == before
    watcher.close()
    wait_for(lambda: not thread.is_alive())


def test_a_callback_may_fail_or_close(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = []
    monkeypatch.setattr(threading, "excepthook", lambda args: failures.append(args.exc_type))
    watcher = Watcher()
    first, second, third = start("fork", "echo", 1, 2, 3)
    ended = Ends()

    def fail(worker: Worker) -> None:
        raise LookupError

    def close(worker: Worker) -> None:
        watcher.close()
        worker.close()
        ended(worker)

    watcher.watch(first, fail)
    watcher.watch(second, close)
    watcher.watch(third, ended)
    first.kill()
    wait_for(lambda: failures == [LookupError])
    second.kill()
    wait_for(lambda: len(ended.told) == 1)
    third.kill()
    assert third.join(PATIENCE)
    with pytest.raises(ValueError, match="closed"):
        watcher.watch(third, ended)
    watcher.close()
    assert [worker for worker, _ in ended.told] == [second]
    ended.told.clear()


def test_close_does_not_wait_for_a_callback_that_waits_for_it(start: Start) -> None:
    watcher = Watcher()
    (worker,) = start("fork", "echo", 1)
    is_in, is_closed = threading.Event(), threading.Event()

    def wait(worker: Worker) -> None:
        is_in.set()
        assert is_closed.wait(PATIENCE)

    watcher.watch(worker, wait)
    worker.kill()
    assert is_in.wait(PATIENCE)
    watcher.close()
    is_closed.set()
    wait_for(lambda: "pp-watcher" not in [thread.name for thread in threading.enumerate()])


def test_a_dropped_watcher_ends_its_thread(start: Start) -> None:
    class Pool:
        def __init__(self, worker: Worker) -> None:
            self.watcher = Watcher()
            self.watcher.watch(worker, self.bury)

        def bury(self, worker: Worker) -> None:
            raise AssertionError

    (worker,) = start("fork", "echo", 1)
    pool = Pool(worker)
    there = weakref.ref(pool)
    del pool
    assert there() is None
    wait_for(lambda: "pp-watcher" not in [thread.name for thread in threading.enumerate()])
    worker.kill()


def test_an_unwatched_worker_ends_in_silence(start: Start) -> None:
    watcher, ended = Watcher(), Ends()
    first, second = start("fork", "echo", 1, 2)
    for worker in (first, second):
        watcher.watch(worker, ended)
    watcher.unwatch(first)
    first.close()
    second.kill()
    ended.wait_for(second, -signal.SIGKILL)
    assert len(ended.told) == 1
    watcher.close()
    ended.told.clear()


# ------------------------------------------------------------------------------------ programs --

SCRIPT = """
import os, sys, time
from parallel_pool.workers import launch
from parallel_pool.workers.watch import Watcher

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
workers = launch.start(method, "tests.workers_targets:call", tasks, name="w")
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
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@methods
def test_program_from_stdin(method: str) -> None:
    assert run(method, "-", text=SCRIPT) == "True 6 True -1\n"


@methods
def test_script_without_a_guard(method: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    # what the worker must not run again
    script.write_text(SCRIPT + "print('end')\n")
    assert run(method, str(script)) == "True 6 True -1\nend\n"


@methods
def test_neither_output_nor_exit_handlers_are_doubled(method: str) -> None:
    script = """
import atexit, sys
from parallel_pool.workers import launch
atexit.register(print, "handler")
print("once", end=" ")
(worker,) = launch.start(sys.argv[1], "tests.workers_targets:echo", [1], name="w")
worker.connection.recv(60)
worker.connection.close()
worker.join(60)
print(worker.exitcode)
worker.close()
"""
    assert run(method, "-c", script) == "once 0\nhandler\n"


@methods
def test_all_end_with_a_killed_creator(method: str) -> None:
    script = """
import os, sys, time
from parallel_pool.workers import forkserver, launch
workers = launch.start(sys.argv[1], "tests.workers_targets:echo", range(3), name="w")
for worker in workers:
    worker.connection.recv(60)
print(forkserver.current().pid, *(worker.pid for worker in workers), flush=True)
time.sleep(600)
"""
    creator = subprocess.Popen(
        [sys.executable, "-c", script, method],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert creator.stdout is not None
        pidfds = [os.pidfd_open(int(pid)) for pid in creator.stdout.readline().split()]
        assert len(pidfds) == 4
    finally:
        creator.kill()
        creator.wait()
    for pidfd in pidfds:
        assert wait(pidfd, time.monotonic() + PATIENCE)
        os.close(pidfd)
    # and nobody else has it open
    assert creator.stdout.read() == ""
    creator.stdout.close()


# ----------------------------------------------------------------------------------- connection --


@pytest.fixture
def connections() -> Iterator[tuple[Connection, Connection]]:
    ends = Connection.pair()
    with Connection(ends[0]) as here, Connection(ends[1]) as there:
        yield here, there


def test_wire_ends(connections: tuple[Connection, Connection]) -> None:
    here, there = connections
    here.send("last")
    here.close()
    assert here.fileno() == -1
    assert there.recv(PATIENCE) == ("last", [])
    for _ in range(2):
        with pytest.raises(EOFError):
            there.recv(PATIENCE)
        with pytest.raises(EOFError):
            there.send("answer")
    with pytest.raises(ConnectionError, match="closed"):
        here.recv(PATIENCE)


def test_wire_is_late(connections: tuple[Connection, Connection]) -> None:
    here, there = connections
    with pytest.raises(TimeoutError):
        there.recv(0)
    # half a message is kept
    data = pickle.dumps("whole", 5)
    os.write(here.fileno(), HEADER.pack(len(data), 0)[:5])
    with pytest.raises(TimeoutError):
        there.recv(0.01)
    os.write(here.fileno(), HEADER.pack(len(data), 0)[5:] + data[:3])
    with pytest.raises(TimeoutError):
        there.recv(0.01)
    assert not there.poll()
    os.write(here.fileno(), data[3:])
    assert there.recv(PATIENCE) == ("whole", [])
    # nobody reads: what was half sent can't be taken back
    with pytest.raises(TimeoutError):
        here.send(bytes(5_000_000), timeout=0.01)
    with pytest.raises(ConnectionError, match="interrupted"):
        here.send("more")


def test_wire_carries_descriptors(connections: tuple[Connection, Connection]) -> None:
    here, there = connections
    here.send("many", [0] * 250)
    value, fds = there.recv(PATIENCE)
    assert (value, len(fds)) == ("many", 250)
    assert not any(os.get_inheritable(fd) for fd in fds)
    for fd in fds:
        os.close(fd)
    with pytest.raises(ValueError, match="251 descriptors"):
        here.send("more", [0] * 251)
    before = descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [fd for fd in range(soft) if str(fd) not in before]
    here.send("too many", [0] * 20)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[10], hard))
    try:
        with pytest.raises(OSError, match="of 20 descriptors"):
            there.recv(PATIENCE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert descriptors() == before
    here.send("next")
    assert there.recv(PATIENCE) == ("next", [])


def test_wire_survives_what_cannot_be_read(connections: tuple[Connection, Connection]) -> None:
    here, there = connections
    with pytest.raises(TypeError):
        here.send(threading.Lock())
    here.send(workers_targets.Poison(), [0])
    before = descriptors()
    with pytest.raises(RuntimeError, match="cannot be read"):
        there.recv(PATIENCE)
    assert descriptors() == before
    here.send(lambda: "by value")
    assert there.recv(PATIENCE)[0]() == "by value"


LAST = "return value, fds"


class Interrupt(BaseException):
    """What Ctrl-C raises, here at a line of our choice."""


def interrupted(function: Callable[[], Any], count: int) -> str | None:
    """Calls a function and interrupts it before the count-th line in connection.py.

    Returns that line, None if the function came to an end before.
    """
    left = itertools.count(count, -1)
    line = ""

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal line
        if frame.f_code.co_filename != connection.__file__:
            return None
        if event == "line" and next(left) == 0:
            line = linecache.getline(connection.__file__, frame.f_lineno).strip()
            raise Interrupt
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Interrupt:
        return line
    finally:
        sys.settrace(former)
    return None


def test_who_is_forked_for_an_interrupted_start_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    forkserver.current()
    recv = Connection.recv

    def interrupted(self: Connection, timeout: float | None = None) -> Any:
        monkeypatch.undo()
        heard, fds = recv(self, timeout)
        for fd in fds:
            os.close(fd)
        pids.append(heard[2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "recv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        launch.start("forkserver", f"{TARGETS}:evaluate", ["time.sleep(1e5)"], name="sleeper")
    assert len(pids) == 1
    wait_for(lambda: has_ended(pids[0]))


def test_a_wire_interrupted_in_recv_is_whole_or_broken() -> None:
    """At whatever line: the message comes again, or the connection says that it can't be used."""
    for count in itertools.count():
        ends = Connection.pair()
        with Connection(ends[0]) as here, Connection(ends[1]) as there:
            here.send("first", [0])
            here.send("second")
            line = interrupted(partial(there.recv, PATIENCE), count)
            if line is None:
                break
            try:
                value, fds = there.recv(PATIENCE)
            except ConnectionError as error:
                assert "interrupted" in str(error)
            else:
                # no interrupt can be told from one that comes when recv has returned
                assert (value, len(fds)) == (("second", 0) if line == LAST else ("first", 1)), line
                for fd in fds:
                    os.close(fd)
    assert count > 20


@pytest.mark.parametrize("first", ["short", "too long " * 500_000])
def test_a_wire_interrupted_in_send_is_whole_or_broken(first: str) -> None:
    """At whatever line: all of the message is there, or nothing, and nothing is misread."""

    def send(connection: Connection) -> None:
        with contextlib.suppress(TimeoutError):
            connection.send(first, timeout=0)

    for count in itertools.count():
        ends = Connection.pair()
        with Connection(ends[0]) as here, Connection(ends[1]) as there:
            line = interrupted(partial(send, here), count)
            if line is None:
                break
            with contextlib.suppress(ConnectionError, TimeoutError):
                here.send("second", timeout=0)
            came = []
            with contextlib.suppress(TimeoutError):
                while True:
                    came.append(there.recv(0)[0])
            if first == "short":
                assert came in ([], [first], ["second"], [first, "second"]), line
            else:
                assert came in ([], ["second"]), line
            with contextlib.suppress(ConnectionError):
                here.send("third", timeout=0)
                assert there.recv(0)[0] == "third", line
    assert count > 10
