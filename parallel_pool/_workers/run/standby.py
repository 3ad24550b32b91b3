"""Standby: the second process of a worker, which prepares resets; see `PreparedRunner`.

The worker forks it before it makes its environment, so the two share nothing that environments
hold. The pool's process knows only the worker. So the two end together: the system kills the second
process when the worker ends, before anybody learns of that end; and when the second process ends
otherwise than asked, the worker ends in the same way at once.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from typing import Any, NoReturn

from parallel_pool._native import lib
from parallel_pool._workers.data.messages import Assignment, Failure, Task
from parallel_pool._workers.run.close_envs import close_envs
from parallel_pool._workers.run.make_env import make_env
from parallel_pool._workers.run.prepared_runner import PreparedRunner
from parallel_pool._workers.start import bootstrap, stray_forks
from parallel_pool._workers.start.connection import Connection

# exit code of a worker whose second process was reaped by its environment
UNKNOWN = 1
# seconds in which a signal must have ended this process
SIGNAL_TIMEOUT = 1.0


class Standby:
    """The second process of this worker."""

    def __init__(self, task: Task, parent: Connection) -> None:
        """Forks it.

        Args:
            task: of the worker.
            parent: the worker's connection to the pool's process.

        Raises:
            OSError: there are too many processes or files.
        """
        here, there = Connection.pair()
        # gets a byte if the process ends as it should
        ended, ends = os.pipe()
        maker = os.getpid()
        self.connection = Connection(here, parent.dumps)

        def body() -> NoReturn:
            here.close()
            parent.close()
            os.close(ended)
            _run(task, Connection(there, parent.dumps), maker, ends)

        pid = bootstrap.fork(body)
        there.close()
        os.close(ends)
        self._thread = threading.Thread(
            target=_follow, args=(pid, ended), name="pp-standby", daemon=True
        )
        self._thread.start()

    def wait_until_made(self) -> Failure | None:
        """Waits until it has made its environment; returns why it could not."""
        (kind, *failure), _ = self._receive()
        return None if kind == "made" else failure[0]

    def assign(self, assignment: Assignment, fds: list[int]) -> None:
        """Gives it the worker's lane, and waits until it stands by.

        Raises:
            RuntimeError: it could not open the pool's memory.
        """
        self.connection.send(("assignment", assignment), fds)
        (kind, *failure), _ = self._receive()
        if kind != "ready":
            raise RuntimeError(f"the process that prepares resets can't start: {failure[0].text}")

    def _receive(self) -> Any:
        try:
            return self.connection.recv(None)
        except EOFError:
            # the thread ends this process
            self._thread.join()
            raise

    def join(self) -> None:
        """Waits for its end, after the pool was closed or the worker has given up."""
        # a process that an environment of this one forked may have this end, too
        self.connection.shut_down()
        self.connection.close()
        self._thread.join()


def _follow(pid: int, ended: int) -> None:
    """Waits for a process, and ends this one in the same way unless that has ended as it should."""
    code = UNKNOWN
    # the environment may wait for any child
    with contextlib.suppress(ChildProcessError):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # what it wrote is there; a process that its environment forked may still have the other end
    os.set_blocking(ended, False)
    is_regular = False
    with contextlib.suppress(BlockingIOError):
        is_regular = os.read(ended, 1) != b""
    os.close(ended)
    if is_regular:
        return
    bootstrap.flush_streams()
    if code < 0:
        os.kill(os.getpid(), -code)
        # another thread may be the one that the signal ends
        time.sleep(SIGNAL_TIMEOUT)
    os._exit(UNKNOWN if code < 0 else code)


def _run(task: Task, other: Connection, maker: int, ends: int) -> NoReturn:
    """Runs the second process of the worker `maker`."""
    code = 1
    try:
        assert task.standby is not None
        if lib.pp_worker_die_with_parent(maker) == 0:
            bootstrap.become(task.standby, (), other)
            _serve(task, other)
            os.write(ends, b"\0")
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        bootstrap.exit_process(code)


def _serve(task: Task, other: Connection) -> None:
    """Makes the environment, and serves the lane in turn with the worker."""
    pid = os.getpid()
    envs: list[Any] = []
    try:
        try:
            envs.append(make_env(task.env_fns[0]))
            stray_forks.exit_if_forked(pid, "its constructor")
            try:
                other.send(("made",))
                (_, assignment), fds = other.recv(None)
            except EOFError:  # the worker has given up the start
                return
            runner = PreparedRunner(envs, task.env_fns, assignment, other, fds, plays=False)
        except BaseException as error:
            stray_forks.exit_if_forked(pid, "its constructor")
            other.send(("failed", Failure.of(error, other.dumps)))
            return
        runner.run(lambda: other.send(("ready",)))
    finally:
        stray_forks.exit_if_forked(pid, "a call")
        close_envs(envs, pid)
