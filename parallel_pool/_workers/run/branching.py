"""Branching: how a worker process forks copies of itself, each of which serves a lane of its own.

The fork happens in a turn, so between two calls of the environment and in the only thread. A copy
waits in C, without any memory of its own, for a message from the pool's process, which sends it
before the copy's first turn. Only then may it open its lane. Until then, whatever ends, the copy
finds its connection closed and ends, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from parallel_pool._native import ffi, lib
from parallel_pool._workers.run import generators, global_generators
from parallel_pool._workers.start import bootstrap, child_process, process_fd
from parallel_pool._workers.start.connection import Connection
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._workers.run.env_runner import EnvRunner
    from parallel_pool._workers.run.holdings import Holdings
    from parallel_pool._workers.start.child_process import Ancestry

# seconds for a message that was sent before the turn to be there, and to be taken by the parent
MESSAGE_TIMEOUT = 5.0


@dataclass(frozen=True)
class Birth:
    """What a branch is made of, in its own process.

    Attributes:
        runner: of the worker that was forked.
        holdings: what that had besides its memory.
        env_id: the environment that the branch goes on with.
        lane: that it serves.
        ancestry: to `multiprocessing`.
        fds: the pool's memory, the lane's replies, and its end of a connection to the parent.
        old: the connection that the worker has.
        seed: of its random generators; None: they go on.
    """

    runner: EnvRunner
    holdings: Holdings
    env_id: int
    lane: int
    ancestry: Ancestry
    fds: tuple[int, int, int]
    old: Connection
    seed: int | None = None


class Brancher:
    """Forks the worker process in which it was made."""

    def __init__(self, runner: EnvRunner, connection: Connection, found: Holdings) -> None:
        """
        Args:
            runner: of the environments.
            connection: to the parent.
            found: what the process had before it made them.
        """
        self._runner = runner
        self._connection = connection
        self._holdings = found
        self._pid = os.getpid()
        # process ids of branches that are not reaped
        self._branches: set[int] = set()

    def fork(
        self,
        env_id: int,
        number: int,
        lanes: Sequence[int],
        seeds: Sequence[int | None],
        ended: Sequence[int],
    ) -> Birth | None:
        """Forks a branch for each lane, and tells the parent.

        Args:
            env_id: the environment that branches go on with.
            number: of the parent's message that belongs to the turn.
            lanes: that branches serve.
            seeds: of each; None: its generators go on.
            ended: process ids of earlier branches that the parent has seen end.

        Returns:
            None in the worker; in a branch what it is made of.

        Raises:
            StateError: the process has something that can't be copied.
            OSError: there are too many processes or files, or there is too little memory.
        """
        ancestries, fds = self._receive(number)
        # descriptors: the memory, then replies and connection of each branch
        sockets, kept = fds[2::2], fds
        pids: list[int] = []
        pidfds: list[int] = []
        try:
            self._reap(ended)
            # which serves any number of processes
            helpers = {*self._branches, child_process.tracker_pid()}
            self._check(env_id, self._holdings.find(fds, helpers))
            bootstrap.flush_streams()
            at = self._fork_all(sockets, pids)
            if at is not None:
                own = fds[0], fds[1 + 2 * at], sockets[at]
                kept = [fd for fd in fds if fd not in own]
                there = env_id, lanes[at], ancestries[at], own, self._connection, seeds[at]
                return Birth(self._runner, self._holdings, *there)
            self._check(env_id, self._holdings.find_threads())
            # pools without pidfds have no branches
            pidfds += map(process_fd.create, pids, sockets)
            self._connection.send((number, pids), pidfds, MESSAGE_TIMEOUT)
            return None
        except BaseException:
            if os.getpid() != self._pid:
                os._exit(1)
            self._undo(pids)
            raise
        finally:
            for fd in (*kept, *pidfds):
                os.close(fd)

    def _receive(self, number: int) -> tuple[list[Ancestry], list[int]]:
        """Returns the parent's message for a turn, and its descriptors."""
        while True:
            try:
                (found, ancestries), fds = self._connection.recv(MESSAGE_TIMEOUT)
            except (EOFError, TimeoutError) as error:
                raise StateError(
                    "this worker process has not received what branches need: the one that was"
                    " asked for them has died"
                ) from error
            if found == number:
                return ancestries, fds
            # of a turn that was not sent, or that another worker has failed
            for fd in fds:
                os.close(fd)

    def _check(self, env_id: int, found: list[str]) -> None:
        if found:
            raise StateError(
                f"environment {env_id} can't be branched: its worker process has"
                f" {'; '.join(found)}. A copy would lack threads, and share the rest with the"
                " original: let the environment end them before"
            )

    def _fork_all(self, sockets: Sequence[int], pids: list[int]) -> int | None:
        """Forks a branch for each socket, on which it waits before it runs any Python.

        Args:
            sockets: descriptors.
            pids: gets the process ids of branches.

        Returns:
            None in the worker; in a branch its index.

        Raises:
            OSError: not all could be forked.
        """
        count = len(sockets)
        gates, found = ffi.new("int32_t[]", sockets), ffi.new("int32_t[]", count)
        with bootstrap.blocked(set(signal.valid_signals())), global_generators.kept():
            # what `os.fork` calls; all branches are forked within one pair of these calls
            ctypes.pythonapi.PyOS_BeforeFork()
            forked = lib.pp_worker_fork(gates, count, found)
            failed = ffi.errno
            if forked < 0:
                ctypes.pythonapi.PyOS_AfterFork_Child()
                return -1 - forked
            ctypes.pythonapi.PyOS_AfterFork_Parent()
        pids += list(found[0:forked])
        self._branches.update(pids)
        if forked == count:
            return None
        raise OSError(
            failed,
            f"only {forked} of {count} branches could be forked: {os.strerror(failed)}. They were"
            " ended. Fewer branches, more memory, or a higher limit of processes (ulimit -u) may"
            " help",
        )

    def _reap(self, ended: Sequence[int]) -> None:
        """Reaps branches, whose exit codes the parent has read."""
        for pid in self._branches.intersection(ended):
            # environments may wait for any child
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            self._branches.discard(pid)

    def _undo(self, pids: Sequence[int]) -> None:
        """Ends branches of which the parent does not know."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self._reap(pids)


# ------------------------------------------------------------------------------ in the branch --


def serve(born: Birth) -> NoReturn:
    """Serves the branch's lane until the pool is closed, and ends the process.

    Neither the environment's `close` is called nor exit handlers: what the environment has besides
    its memory is also the original's.
    """
    code = 1
    try:
        following: Birth | None = born
        while following is not None:
            # in a branch of this branch it returns another, so the stack does not grow
            following = _serve_until_forked(following)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        bootstrap.flush_streams()
        os._exit(code)


def _serve_until_forked(born: Birth) -> Birth | None:
    """Serves until the end and returns None; in a process forked from this one, its birth."""
    bootstrap.forget_parent()
    dumps = born.old.dumps
    born.old.close()
    connection = Connection(socket.socket(fileno=born.fds[2]), dumps)
    bootstrap.exit_with_process(connection.maker_pid())
    born.holdings.enter_branch(born.fds[2])
    try:
        connection.recv()
    except EOFError:
        return None
    try:
        runner = _become(born, connection)
    except BaseException as error:
        with contextlib.suppress(Exception):
            connection.send(("failed", f"{type(error).__name__}: {error}"), (), MESSAGE_TIMEOUT)
        raise
    runner.brancher = Brancher(runner, connection, born.holdings)
    runner.run(lambda: None)
    return runner.born


def _become(born: Birth, connection: Connection) -> EnvRunner:
    """Makes this process a worker of its own; returns what steps its environment."""
    bootstrap.name_process(born.ancestry.name)
    child_process.become(born.ancestry, (), connection.fileno())
    # it may be killed at any time, and what was printed should not be lost
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)
    born.holdings.reopen_files()
    runner, env = born.runner.branch(born.env_id, born.lane, *born.fds[:2])
    if born.seed is not None:
        generators.seed_generators(env, born.seed)
        global_generators.seed(born.seed)
    return runner
