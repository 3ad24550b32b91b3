"""System calls that starting and ending workers needs, and what stands in where one is missing."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from parallel_pool._workers.start import affinity, anonymous_file, child_exit, connection, launch
from parallel_pool._workers.start.connection import Connection
from tests.support.forked import in_child
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

waitid = pytest.mark.parametrize("has_waitid", [True, False], indirect=True)


@pytest.fixture
def has_waitid(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    given: bool = request.param
    if not given:
        monkeypatch.delattr(os, "waitid")
    return given


def refuse(number: int) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return call


# ------------------------------------------------------------------------------ files in memory --


@pytest.mark.parametrize("how", ["missing", errno.ENOSYS, errno.EPERM, "there"])
def test_an_anonymous_file_can_be_made(
    how: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if how == "missing":
        monkeypatch.delattr(os, "memfd_create")
    elif how != "there":
        monkeypatch.setattr(os, "memfd_create", refuse(how))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fd = anonymous_file.create("a name")
    try:
        found = os.fstat(fd)
        assert stat.S_ISREG(found.st_mode) and (found.st_nlink, found.st_size) == (0, 0)
        assert not os.get_inheritable(fd) and not list(tmp_path.iterdir())
        assert os.write(fd, b"text") == 4 and os.pread(fd, 9, 0) == b"text"
    finally:
        os.close(fd)


def test_without_an_anonymous_file_the_error_names_cause_and_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "memfd_create", refuse(errno.EMFILE))
    with pytest.raises(OSError, match="Too many open files"):
        anonymous_file.create("a name")
    monkeypatch.setattr(os, "memfd_create", refuse(errno.ENOSYS))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OSError, match="could be started: no temporary file") as caught:
        launch.start("spawn", "module:function", [1], name="test")
    assert caught.value.strerror == (
        "only 0 of 1 worker processes could be started: no temporary file can be made (No such"
        " file or directory), nor a file in memory (Function not implemented): set TMPDIR to a"
        " folder that this process can write to. They were ended."
    )
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError, match=r"be made \(No such file or directory\): set TMPDIR"):
        anonymous_file.create("a name")


# ------------------------------------------------------------------------------ ends of children --


def child(code: int) -> int:
    """Forks a child that ends in this way, and waits until it has, without reaping it."""
    pid = os.fork()
    if not pid:
        if code < 0:
            # a library of another test may have left a handler
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)
    wait_for(lambda: has_ended(pid))
    return pid


@waitid
@pytest.mark.parametrize("code", [0, 3, -signal.SIGTERM])
def test_the_exit_code_can_be_read_until_the_child_is_reaped(has_waitid: bool, code: int) -> None:
    pid = child(code)
    assert child_exit.peek(pid) == child_exit.peek(pid) == (pid, code)
    assert Path(f"/proc/{pid}").exists() == has_waitid
    child_exit.reap(pid)
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(ChildProcessError):
        child_exit.peek(pid)
    running = os.fork()
    if not running:
        signal.pause()
    assert child_exit.peek(running) is None
    os.kill(running, signal.SIGKILL)
    os.waitpid(running, 0)


@waitid
def test_any_child_that_has_ended_is_found(has_waitid: bool) -> None:
    def look() -> None:
        ended = {child(code): code for code in (0, 5)}
        found = []
        while ended.keys() - found:
            peeked = child_exit.peek(-1)
            assert peeked and peeked == child_exit.peek(-1) and ended[peeked[0]] == peeked[1]
            found.append(peeked[0])
            child_exit.reap(peeked[0])
        with pytest.raises(ChildProcessError):
            child_exit.peek(-1)
        assert len(found) == 2

    # which has no other children
    in_child(look)


class Interrupt(BaseException):
    """Stands for KeyboardInterrupt, at an instruction that the test chooses."""


def interrupted(function: Callable[[], Any], count: int, files: set[str]) -> bool:
    """Calls a function, interrupts it before byte code number `count` in these files.

    Returns:
        Whether it was interrupted.
    """
    left = itertools.count(count, -1)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(left) == 0:
            raise Interrupt
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Interrupt:
        return True
    finally:
        sys.settrace(former)
    return False


@pytest.mark.slow
@waitid
def test_an_interrupt_does_not_lose_an_exit_code(has_waitid: bool) -> None:
    """Between any two instructions: the next call returns the code."""
    files = {launch.__file__, child_exit.__file__}
    for count in itertools.count():
        pid = child(0)
        pidfd = os.pidfd_open(pid)
        worker = launch.ChildWorker(pid, pidfd)
        try:
            was_interrupted = interrupted(worker.exitcode, count, files)
            assert worker.exitcode() == 0, f"lost at instruction {count}"
            # as Worker, which keeps the first answer, would if Ctrl-C came right after the return
            assert worker.exitcode() == 0
        finally:
            os.close(pidfd)
        if not was_interrupted:
            break
    assert count > 30


# --------------------------------------------------------------------------- descriptors, cores --


def test_descriptors_are_kept_from_programs_where_recvmsg_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "CLOEXEC", 0)
    ends = Connection.pair()
    with Connection(ends[0]) as here, Connection(ends[1]) as there:
        here.send("two", [0, 1])
        _, fds = there.recv(TEST_TIMEOUT)
        assert [os.get_inheritable(fd) for fd in fds] == [False, False]
        for fd in fds:
            os.close(fd)


def test_cores_are_left_alone_where_the_system_does_not_restrict_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cores = affinity.allowed_cores()
    assert cores == os.sched_getaffinity(0)
    affinity.restrict(cores)
    # offline, or never there
    affinity.restrict({1000})
    assert os.sched_getaffinity(0) == cores
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "sched_setaffinity")
    assert affinity.allowed_cores() == set()
    affinity.restrict({0})
