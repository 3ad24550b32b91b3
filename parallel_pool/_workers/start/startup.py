"""Startup: starts worker processes and waits until they are ready to step their environments."""

from __future__ import annotations

import contextlib
import functools
import math
import select
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import env_names
from parallel_pool._workers.data import spaces
from parallel_pool._workers.data.messages import Failure, Task
from parallel_pool._workers.start import (
    bootstrap,
    child_process,
    forkserver,
    gymnasium_registry,
    launch,
    process_fd,
)
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool._workers.start.interpreter import Interpreter
from parallel_pool._workers.start.launch import KILL_TIMEOUT
from parallel_pool._workers.watch import failures, wait_warnings
from parallel_pool._workers.watch.failures import Death
from parallel_pool.errors import PoolError, WorkerError

if TYPE_CHECKING:
    from typing import NoReturn

    from parallel_pool._workers.data.messages import Assignment, Description
    from parallel_pool._workers.start.launch import Worker

T = TypeVar("T")

TARGET = "parallel_pool._workers.run.worker:serve"


@dataclass(frozen=True)
class Share:
    """The environments of one worker.

    Attributes:
        lane: its number.
        first: id of its first environment.
        env_fns: functions that make its environments.
        interpreter: that runs it; None for this process's own.
        may_branch: it may be asked to fork branches.
        has_standby: it has a second process, which prepares resets.
    """

    lane: int
    first: int
    env_fns: Sequence[Callable[[], Any]]
    interpreter: Interpreter | None = None
    may_branch: bool = False
    has_standby: bool = False

    @property
    def env_ids(self) -> range:
        return range(self.first, self.first + len(self.env_fns))

    def __str__(self) -> str:
        where = "" if self.interpreter is None else f" in {self.interpreter}"
        return env_names(self.env_ids) + where


class Launcher:
    """Starts the workers of one pool, the first ones and those that replace them.

    All of them know the environments that were registered with Gymnasium when the first started.
    """

    def __init__(self, method: str | None) -> None:
        """Args:
        method: a start method of `launch.start`.
        """
        self._method = method

    @functools.cached_property
    def _specs(self) -> list[bytes]:
        # Pickling the registry takes 2.6 ms of the processor's time with 1,278 environments, more
        # than a third of what the pool's process spends to replace a worker.
        return [] if self._method == "fork" else gymnasium_registry.gather()

    def start(self, shares: Sequence[Share], deadline: Deadline | None = None) -> list[Worker]:
        """Starts a worker for each share; `wait_until_made` waits for them.

        Raises:
            WorkerError: the deadline has passed.
            OSError, ValueError: as `launch.start`.
        """
        deadline = deadline or Deadline(None)
        names = [f"parallel_pool-{share.lane}" for share in shares]
        tasks = [self._task(share, name) for share, name in zip(shares, names, strict=True)]
        interpreters = [share.interpreter for share in shares]
        try:
            return launch.start(
                self._method,
                TARGET,
                tasks,
                name=names,
                deadline=deadline,
                interpreters=interpreters,
            )
        except TimeoutError as error:
            seconds = forkserver.FORK_TIMEOUT if deadline.seconds is None else deadline.seconds
            raise WorkerError(
                f"{', '.join(map(str, shares))} not made within start_timeout={seconds} s: the fork"
                " server did not answer, and was killed: make a new pool, which starts another, or"
                " choose start_method='spawn'",
                [env_id for share in shares for env_id in share.env_ids],
                (),
            ) from error

    def _task(self, share: Share, name: str) -> Task:
        # another interpreter may have another Gymnasium, and modules of its own
        own = share.interpreter is None
        specs, origins = (self._specs, registry.origins()) if own else ([], [])
        standby = child_process.ancestry(f"{name}-standby") if share.has_standby else None
        fns = list(share.env_fns)
        return Task(fns, specs, origins, share.first, share.may_branch, standby)


def wait_until_made(
    workers: Sequence[Worker], shares: Sequence[Share], deadline: Deadline
) -> list[Description]:
    """Waits until workers have made their environments; returns what they report of them.

    Raises:
        Exception: what making one raised, of its own type, with the worker's traceback.
        WorkerError: a worker died before that, or could not start, or the deadline has passed.
    """
    return _receive_from_all(workers, shares, deadline, _read_description, "made")


def assign(
    workers: Sequence[Worker],
    shares: Sequence[Share],
    assignments: Sequence[Assignment],
    memory: Callable[[int], list[int]],
    deadline: Deadline,
) -> None:
    """Assigns every worker to its lane, and waits until all are ready.

    Args:
        workers, shares, assignments: of some lanes, in the same order.
        memory: returns the descriptors that the worker of a lane needs.
        deadline: for all of them.

    Raises:
        PoolError: a worker could not open the pool's memory.
        WorkerError: a worker died before it was ready, or the deadline has passed.
    """
    for worker, assignment in zip(workers, assignments, strict=True):
        # a worker that has ended, or that does not read, is reported below
        with contextlib.suppress(EOFError, TimeoutError):
            worker.connection.send(
                ("assignment", assignment), memory(assignment.lane), deadline.remaining()
            )
    _receive_from_all(workers, shares, deadline, _read_ready, "ready to step")


def kill_all(workers: Iterable[Worker]) -> None:
    """Kills workers and closes their descriptors."""
    workers = list(workers)
    # Ctrl-C is delivered only after the last of them was killed
    with bootstrap.blocked({signal.SIGINT}):
        for worker in workers:
            worker.kill()
    for worker in workers:
        worker.join(KILL_TIMEOUT)
        worker.close()


# ----------------------------------------------------------------------------------- messages --


def _read_description(message: Any, share: Share) -> Description:
    if message[0] == "failed" and isinstance(message[1], Failure):
        where = "" if share.interpreter is None else f" in {share.interpreter}"
        what = f"environment {share.first + message[2]} can't be made{where}"
        failures.raise_failure(message[1], what, (share.first + message[2],), ())
    if message[0] == "failed":
        # from `bootstrap.run`: the target could not be imported, or its argument not unpickled
        why = f"the worker process of {share} can't start: {message[2]}"
        raise WorkerError(why, share.env_ids, ()) from message[1]
    description: Description = message[1]
    if share.interpreter is not None:
        for space in (*description.observation_spaces, *description.action_spaces):
            spaces.complete(space)
    return description


def _read_ready(message: Any, share: Share) -> None:
    if message[0] != "ready":
        raise PoolError(f"the worker process of {share} can't start: {message[1]}\n{message[2]}")


def _receive_from_all(
    workers: Sequence[Worker],
    shares: Sequence[Share],
    deadline: Deadline,
    read: Callable[[Any, Share], T],
    goal: str,
) -> list[T]:
    """Waits for a message from each worker; raises the first failure, whichever worker has it."""
    received: dict[int, T] = {}
    poll = select.poll()
    # the pidfd too: a worker may end while a process that it started has its end of the connection
    owner = {}
    for i, worker in enumerate(workers):
        owner[worker.connection.fileno()] = owner[worker.pidfd] = i
        poll.register(worker.connection.fileno(), select.POLLIN)
        poll.register(worker.pidfd, process_fd.ENDED)
    slow = wait_warnings.WaitWarnings()
    max_pause = wait_warnings.MAX_GAP / 2

    def describe(i: Any) -> str:
        return f"{shares[i]} to be {goal} (worker process {workers[i].pid})"

    try:
        while len(received) < len(workers):
            remaining = deadline.remaining()
            pause = max_pause if remaining is None else min(remaining, max_pause)
            events = poll.poll(math.ceil(pause * 1000))
            for i in sorted({owner[fd] for fd, _ in events}):
                if i in received:
                    _raise_dead(workers[i], shares[i], "stepped")
                message = _receive(workers[i], shares[i], goal)
                if message is not None:
                    received[i] = read(message, shares[i])
                    poll.unregister(workers[i].connection.fileno())
            if not events and remaining == 0.0:
                _raise_late(workers, shares, received, deadline, goal)
            slow.update([i for i in range(len(workers)) if i not in received], describe)
    except BaseException as error:
        if not isinstance(error, Exception):
            waiting = [str(share) for i, share in enumerate(shares) if i not in received]
            error.add_note(f"while waiting for {', '.join(waiting)} to be {goal}")
        raise
    return [received[i] for i in range(len(workers))]


def _receive(worker: Worker, share: Share, goal: str) -> Any:
    """Returns a worker's message; None if none has arrived."""
    try:
        message, _ = worker.connection.recv(0.0)
    except TimeoutError:
        if worker.exitcode is None:
            return None
    except EOFError:
        worker.join(KILL_TIMEOUT)
    else:
        return message
    _raise_dead(worker, share, goal)


def _raise_dead(worker: Worker, share: Share, goal: str) -> NoReturn:
    death = Death(worker.pid, worker.exitcode)
    raise WorkerError(f"{death} before {share} could be {goal}", share.env_ids, ())


def _raise_late(
    workers: Sequence[Worker],
    shares: Sequence[Share],
    received: dict[int, Any],
    deadline: Deadline,
    goal: str,
) -> NoReturn:
    late = [i for i in range(len(workers)) if i not in received]
    named = ", ".join(f"{shares[i]} (worker process {workers[i].pid})" for i in late)
    raise WorkerError(
        f"{named} not {goal} within start_timeout={deadline.seconds} s: choose a longer"
        " start_timeout, or math.inf for no limit",
        [env_id for i in late for env_id in shares[i].env_ids],
        (),
    )
