"""Connections between processes: messages, descriptors, deadlines and interrupts."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import os
import pickle
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

from parallel_pool._workers.start import connection
from parallel_pool._workers.start.connection import HEADER, Connection
from tests.support import workers_targets
from tests.support.timeouts import TEST_TIMEOUT
from tests.support.worker_processes import descriptors


@pytest.fixture
def connections() -> Iterator[tuple[Connection, Connection]]:
    ends = Connection.pair()
    with Connection(ends[0]) as here, Connection(ends[1]) as there:
        yield here, there


def test_a_closed_connection_delivers_its_last_message_and_then_fails(
    connections: tuple[Connection, Connection],
) -> None:
    here, there = connections
    here.send("last")
    here.close()
    assert here.fileno() == -1
    assert there.recv(TEST_TIMEOUT) == ("last", [])
    for _ in range(2):
        with pytest.raises(EOFError):
            there.recv(TEST_TIMEOUT)
        with pytest.raises(EOFError):
            there.send("answer")
    with pytest.raises(ConnectionError, match="closed"):
        here.recv(TEST_TIMEOUT)


def test_a_timeout_in_recv_keeps_the_part_of_a_message_that_has_come(
    connections: tuple[Connection, Connection],
) -> None:
    here, there = connections
    with pytest.raises(TimeoutError):
        there.recv(0)
    # the part of a message that has come is kept
    data = pickle.dumps("whole", 5)
    os.write(here.fileno(), HEADER.pack(len(data), 0)[:5])
    with pytest.raises(TimeoutError):
        there.recv(0.01)
    os.write(here.fileno(), HEADER.pack(len(data), 0)[5:] + data[:3])
    with pytest.raises(TimeoutError):
        there.recv(0.01)
    assert not there.poll()
    os.write(here.fileno(), data[3:])
    assert there.recv(TEST_TIMEOUT) == ("whole", [])
    # the other end does not read, so only a part of the message was sent
    with pytest.raises(TimeoutError):
        here.send(bytes(5_000_000), timeout=0.01)
    with pytest.raises(ConnectionError, match="interrupted"):
        here.send("more")


def test_descriptors_are_sent_and_none_leaks(connections: tuple[Connection, Connection]) -> None:
    here, there = connections
    here.send("many", [0] * 250)
    value, fds = there.recv(TEST_TIMEOUT)
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
            there.recv(TEST_TIMEOUT)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert descriptors() == before
    here.send("next")
    assert there.recv(TEST_TIMEOUT) == ("next", [])


def test_a_message_that_cannot_be_unpickled_does_not_affect_the_next(
    connections: tuple[Connection, Connection],
) -> None:
    here, there = connections
    with pytest.raises(TypeError):
        here.send(threading.Lock())
    here.send(workers_targets.Poison(), [0])
    before = descriptors()
    with pytest.raises(RuntimeError, match="cannot be read"):
        there.recv(TEST_TIMEOUT)
    assert descriptors() == before
    here.send(lambda: "by value")
    assert there.recv(TEST_TIMEOUT)[0]() == "by value"


LAST = "return value, fds"


class Interrupt(BaseException):
    """Stands for KeyboardInterrupt, at a line that the test chooses."""


def interrupted(function: Callable[[], Any], count: int) -> str | None:
    """Calls a function and interrupts it before line number `count` that runs in connection.py.

    Returns the text of that line, or None if the function returned before it.
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


def test_an_interrupt_in_recv_loses_no_message() -> None:
    """At any line: the next recv returns the message, or an error says that it was interrupted."""
    for count in itertools.count():
        ends = Connection.pair()
        with Connection(ends[0]) as here, Connection(ends[1]) as there:
            here.send("first", [0])
            here.send("second")
            line = interrupted(partial(there.recv, TEST_TIMEOUT), count)
            if line is None:
                break
            try:
                value, fds = there.recv(TEST_TIMEOUT)
            except ConnectionError as error:
                assert "interrupted" in str(error)
            else:
                # an interrupt at this line is the same as one right after the return
                assert (value, len(fds)) == (("second", 0) if line == LAST else ("first", 1)), line
                for fd in fds:
                    os.close(fd)
    assert count > 20


@pytest.mark.parametrize("first", ["short", "too long " * 500_000])
def test_an_interrupt_in_send_sends_all_or_nothing(first: str) -> None:
    """At any line: all of the message arrives or nothing, and later messages are read correctly."""

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
            received = []
            with contextlib.suppress(TimeoutError):
                while True:
                    received.append(there.recv(0)[0])
            if first == "short":
                assert received in ([], [first], ["second"], [first, "second"]), line
            else:
                assert received in ([], ["second"]), line
            with contextlib.suppress(ConnectionError):
                here.send("third", timeout=0)
                assert there.recv(0)[0] == "third", line
    assert count > 10
