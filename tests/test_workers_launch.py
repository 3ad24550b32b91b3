"""Starting worker processes: every method, every end, and nothing left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from parallel_pool.workers import launch, zygote
from parallel_pool.workers.launch import METHODS, Worker
from tests import workers_targets

# seconds after which something counts as hanging
PATIENCE = 60.0

TARGETS = "tests.workers_targets"

methods = pytest.mark.parametrize("method", METHODS)
pickling_methods = pytest.mark.parametrize("method", ["forkserver", "spawn"])

Start = Callable[..., list[Worker]]


def children() -> set[int]:
    """Process ids of this process's children, dead ones that nobody has waited for included."""
    found = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid():
            found.add(int(name))
    return found


def descriptors() -> dict[str, str]:
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

    The zygote is there before, for it outlives a test.
    """
    zygote.current()
    before = descriptors(), children()
    started = []

    def begin(method: str | None, function: str, *arguments: Any) -> list[Worker]:
        workers = launch.start(method, f"{TARGETS}:{function}", arguments, name="test")
        started.extend(workers)
        return workers

    yield begin
    for worker in started:
        worker.close()
    assert (descriptors(), children()) == before


# ---------------------------------------------------------------------------------- beginning --


@methods
def test_a_worker_hears_and_answers(start: Start, method: str) -> None:
    workers = start(method, "echo", {"of": "first"}, "of second")
    heard = [worker.wire.recv(PATIENCE)[0] for worker in workers]
    assert heard == [
        ("hello", workers[0].pid, {"of": "first"}),
        ("hello", workers[1].pid, "of second"),
    ]
    assert len({os.getpid(), *(worker.pid for worker in workers)}) == 3
    assert [worker.name for worker in workers] == ["test-0", "test-1"]
    with open(os.devnull) as file:
        workers[1].wire.send(bytes(5_000_000), [file.fileno(), file.fileno()], PATIENCE)
    assert workers[1].wire.recv(PATIENCE)[0] == (bytes(5_000_000), [os.devnull] * 2)
    for worker in workers:
        assert worker.exitcode is None
        worker.wire.close()
    for worker in workers:
        assert worker.join(PATIENCE) and worker.exitcode == 0


@methods
def test_many_at_once(start: Start, method: str) -> None:
    workers = start(method, "echo", *range(32))
    assert [worker.wire.recv(PATIENCE)[0] for worker in workers] == [
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
    assert worker.wire.recv(PATIENCE)[0] == "here"
    assert not worker.join(0) and worker.exitcode is None
    worker.wire.send("go")
    assert worker.join(PATIENCE)
    assert worker.exitcode == code
    with pytest.raises(EOFError):
        worker.wire.recv(PATIENCE)


@methods
def test_kill(start: Start, method: str) -> None:
    killed, ended = start(method, "end", "sleep", "sleep")
    for worker in (killed, ended):
        assert worker.wire.recv(PATIENCE)[0] == "here"
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
    worker.wire.recv(PATIENCE)
    worker.kill(signal.SIGINT)
    worker.wire.send("still there")
    assert worker.wire.recv(PATIENCE)[0][0] == "still there"


# ------------------------------------------------------------------------------------ failing --


@methods
def test_what_the_target_raises_arrives(start: Start, method: str) -> None:
    (worker,) = start(method, "fail", "own")
    told, error, traceback = worker.wire.recv(PATIENCE)[0]
    assert told == "failed"
    assert type(error) is workers_targets.OwnError and error.args == ("of my own", 7)
    assert 'raise OwnError("of my own", 7)' in traceback
    assert worker.join(PATIENCE) and worker.exitcode == 1


@methods
@pytest.mark.parametrize("how", ["unpicklable", "untold"])
def test_what_cannot_travel_leaves_its_traceback(start: Start, method: str, how: str) -> None:
    (worker,) = start(method, "fail", how)
    told, error, traceback = worker.wire.recv(PATIENCE)[0]
    assert (told, error) == ("failed", None)
    assert ("OwnError" if how == "unpicklable" else "Untold") in traceback
    assert worker.join(PATIENCE) and worker.exitcode == 1
