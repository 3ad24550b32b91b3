"""Branches: has workers of a pool fork, and gives their copies the pool's spare lanes."""

from __future__ import annotations

import contextlib
import itertools
import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import lib
from parallel_pool._workers import single_turns
from parallel_pool._workers.data.messages import BRANCH, TurnCall
from parallel_pool._workers.start import child_process, orphans
from parallel_pool._workers.start.connection import MAX_FDS, Connection
from parallel_pool._workers.start.launch import BranchWorker, Worker
from parallel_pool._workers.watch.supervisor import Supervisor
from parallel_pool.errors import PoolError, StateError, WorkerError

if TYPE_CHECKING:
    from parallel_pool._workers.process_pool import ProcessPool

# most branches of one order: each needs two descriptors in one message
MAX_ORDER = (MAX_FDS - 1) // 2
# seconds until a message must be in the buffer of a connection
SEND_TIMEOUT = 1.0
# of a worker that is killed, as it takes no messages any more
TORN = "an exception such as Ctrl-C ended a message to its worker process"
# seconds until a thread has noticed that a worker is ready which has done turns already
READY_TIMEOUT = 1.0


@dataclass
class Order:
    """Branches that a worker was asked to fork.

    Attributes:
        number: of the order.
        env_id: the environment.
        worker: that forks.
        env_ids: of the branches, which are also the numbers of their lanes.
        connections: to each of them; emptied when they are adopted or not needed any more.
    """

    number: int
    env_id: int
    worker: Worker
    env_ids: Sequence[int]
    connections: list[Connection]

    def discard(self) -> None:
        """Ends branches that were not adopted: they find their connections closed."""
        while self.connections:
            self.connections.pop().close()


class Branches:
    """The branches of a pool's environments, each of which has a worker of its own.

    One thread at a time may use one environment; `adopt` is for the thread that receives.
    """

    def __init__(self, pool: ProcessPool) -> None:
        assert isinstance(pool._supervisor, Supervisor)
        self._pool = pool
        self._supervisor = pool._supervisor
        self._numbers = itertools.count()
        # by worker: process ids of its branches that have ended, and that it is to reap
        self._ended = weakref.WeakKeyDictionary[Worker, list[int]]()
        # by lane
        self._handles: dict[int, BranchWorker] = {}
        # lanes of branches that have not been sent anything yet
        self._asleep: set[int] = set()

    def prepare(self, env_id: int, env_ids: Sequence[int], needs_episode: bool) -> Order:
        """Sends the worker of an environment what branches need besides the turn; see `send`.

        Args:
            env_id: the environment.
            env_ids: of the branches, in spare lanes without workers.
            needs_episode: an episode was begun, so that there is a worker.

        Raises:
            ValueError: there are too many for one message.
            StateError: the environment has no worker at the moment.
            OSError: there are too many files.
            PoolError: the worker does not take messages.
        """
        if len(env_ids) > MAX_ORDER:
            raise ValueError(
                f"{len(env_ids)} branches at once: choose at most {MAX_ORDER}, and ask again"
            )
        patience = READY_TIMEOUT if needs_episode else 0.0
        worker = self._supervisor.worker_of(env_id, timeout=patience)
        if worker is None:
            raise StateError(
                f"environment {env_id} can't be branched: its worker process has died or is being"
                " replaced: reset it first"
            )
        order = Order(next(self._numbers), env_id, worker, env_ids, [])
        try:
            self._announce(order)
        except BaseException:
            order.discard()
            if worker.connection.is_torn:
                self._supervisor.kill(env_id, TORN)
            raise
        return order

    def send(self, order: Order, seeds: Sequence[int | None], needs_episode: bool) -> None:
        """Queues the turn in which the worker forks.

        Args:
            order: which was prepared.
            seeds: of each branch; None: its generators go on.
            needs_episode: the turn fails if the worker has died with the episode.

        Raises:
            StateError: the environment is in flight.
        """
        ended = self._ended.setdefault(order.worker, [])
        told = ended[:]
        arguments = order.number, list(order.env_ids), list(seeds), told
        try:
            call = TurnCall(BRANCH, arguments, needs_episode)
            single_turns.send_reset(self._pool, order.env_id, call)
        except BaseException:
            order.discard()
            raise
        # the watcher's thread may have appended others
        del ended[: len(told)]

    def _announce(self, order: Order) -> None:
        """Sends the worker what its branches need besides the turn."""
        dumps, handle = order.worker.connection.dumps, self._pool._handle
        with contextlib.ExitStack() as stack:
            fds = [lib.pp_pool_memory_fd(handle)]
            for lane in order.env_ids:
                here, there = Connection.pair()
                stack.enter_context(there)
                order.connections.append(Connection(here, dumps))
                fds += [lib.pp_pool_reply_fd(handle, lane), there.fileno()]
            ancestries = [child_process.ancestry(_name(lane)) for lane in order.env_ids]
            _send(order.worker, (order.number, ancestries), fds)

    def adopt(self, order: Order) -> None:
        """Makes the branches that a worker has forked the workers of their lanes.

        Call it when the row of the turn has arrived. An order that was discarded has no effect.

        Raises:
            WorkerError: the worker's message is lost.
            ClosedError: the pool is closed.
            OSError: there are too many files or threads.
        """
        pids, pidfds = self._receive(order)
        connections, order.connections = order.connections, []
        if not connections:
            for pidfd in pidfds:
                os.close(pidfd)
            return
        ended = self._ended.setdefault(order.worker, [])
        workers = []
        for lane, pid, pidfd, own in zip(order.env_ids, pids, pidfds, connections, strict=True):
            handle = self._handles[lane] = BranchWorker(pid, pidfd, order.worker.pid, ended)
            workers.append(Worker(_name(lane), pid, pidfd, own, handle))
        try:
            for lane, worker in zip(order.env_ids, workers, strict=True):
                self._supervisor.adopt(lane, worker, order.env_id)
            self._asleep.update(order.env_ids)
        except BaseException:
            for lane, worker in zip(order.env_ids, workers, strict=True):
                self._supervisor.end(lane)
                worker.kill()
            raise

    def _receive(self, order: Order) -> tuple[list[int], list[int]]:
        """Returns process ids and pidfds of the branches."""
        while True:
            try:
                (number, pids), pidfds = order.worker.connection.recv(0.0)
            except (EOFError, OSError) as error:
                order.discard()
                raise WorkerError(
                    f"environment {order.env_id} was not branched: worker process"
                    f" {order.worker.pid} has not said which processes it has forked: {error}",
                    (order.env_id,),
                    (),
                ) from error
            if number == order.number:
                return pids, pidfds
            # of a turn that has failed after it had sent this
            for pidfd in pidfds:
                os.close(pidfd)

    def wake(self, env_id: int) -> None:
        """Has a branch open its lane, before the first turn is sent there. Until then it waits, as
        running takes memory of its own.

        Raises:
            PoolError: it does not take messages.
        """
        if env_id not in self._asleep:
            return
        self._asleep.discard(env_id)
        worker = self._supervisor.worker_of(env_id)
        if worker is None:
            return
        try:
            _send(worker, "start")
        except PoolError:
            raise
        except BaseException:
            # it may wait for the message, or have got it
            self._supervisor.kill(env_id, TORN)
            raise

    def end(self, env_id: int, is_idle: bool) -> None:
        """Ends a branch.

        Args:
            env_id: of the branch.
            is_idle: nothing of it is in flight.
        """
        worker = self._supervisor.worker_of(env_id)
        self._asleep.discard(env_id)
        if worker is not None and is_idle:
            self._handles[env_id].leaves_nothing = not orphans.has_children(worker.pid)
        self._supervisor.end(env_id)

    def is_vacant(self, env_id: int) -> bool:
        """Returns whether the lane of a branch has no process any more."""
        return self._supervisor.worker_of(env_id) is None

    def report_vacant(self, callback: Callable[[int], None]) -> None:
        """Has a method, which is referred to weakly, called with a lane that becomes vacant."""
        method = weakref.WeakMethod(callback)

        def report(lane: int) -> None:
            there = method()
            if there is not None:
                there(lane)

        self._supervisor.on_vacant = report


def _send(worker: Worker, message: Any, fds: Sequence[int] = ()) -> None:
    """Sends a worker a message; if it has died, its turn or the watcher will say so."""
    try:
        worker.connection.send(message, fds, SEND_TIMEOUT)
    except EOFError:
        pass
    except (ConnectionError, TimeoutError) as error:
        if worker.connection.fileno() < 0:
            # the watcher has closed it
            return
        raise PoolError(f"worker process {worker.pid} does not take messages: {error}") from error


def _name(lane: int) -> str:
    return f"parallel_pool-{lane}"
