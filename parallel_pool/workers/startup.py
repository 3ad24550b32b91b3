"""Muster: from functions to worker processes that have made their environments and their seat."""

from __future__ import annotations

import contextlib
import math
import select
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from parallel_pool.errors import PoolError, WorkerError
from parallel_pool.workers import (
    bootstrap,
    failures,
    forkserver,
    gymnasium_registry,
    launch,
    wait_warnings,
)
from parallel_pool.workers.deadline import Deadline
from parallel_pool.workers.failures import Death
from parallel_pool.workers.messages import Failure, Task

if TYPE_CHECKING:
    from typing import NoReturn

    from parallel_pool.workers.launch import Worker
    from parallel_pool.workers.messages import Assignment, Description

T = TypeVar("T")

TARGET = "parallel_pool.workers.worker:serve"
# seconds for killed workers to be gone
BURIAL = 5.0


@dataclass(frozen=True)
class Share:
    """What one worker has to do.

    Attributes:
        lane: its number.
        first: id of its first environment.
        env_fns: functions that make its environments.
    """

    lane: int
    first: int
    env_fns: Sequence[Callable[[], Any]]

    @property
    def env_ids(self) -> range:
        return range(self.first, self.first + len(self.env_fns))

    def __str__(self) -> str:
        ids = self.env_ids
        if len(ids) == 1:
            return f"environment {ids[0]}"
        return f"environments {ids[0]} to {ids[-1]}"


def start(
    shares: Sequence[Share], method: str | None, limit: Deadline | None = None
) -> list[Worker]:
    """Starts a worker for each share; `hear_ready` waits for them.

    Raises:
        WorkerError: time is up.
        OSError, ValueError: as `launch.start`.
    """
    limit = limit or Deadline(None)
    names = [f"parallel_pool-{share.lane}" for share in shares]
    specs = [] if method == "fork" else gymnasium_registry.gather()
    tasks = [Task(list(share.env_fns), specs) for share in shares]
    try:
        return launch.start(method, TARGET, tasks, name=names, limit=limit)
    except TimeoutError as error:
        seconds = forkserver.PATIENCE if limit.seconds is None else limit.seconds
        raise WorkerError(
            f"{', '.join(map(str, shares))} not made within start_timeout={seconds} s: the process"
            " that forks their worker processes did not answer, and was ended: make a new pool,"
            " which starts another, or choose start_method='spawn'",
            [env_id for share in shares for env_id in share.env_ids],
            (),
        ) from error


def hear_ready(
    workers: Sequence[Worker], shares: Sequence[Share], limit: Deadline
) -> list[Description]:
    """Waits for workers to have made their environments.

    Raises:
        Exception: what making one raised, of its own type, with the worker's traceback.
        WorkerError: a worker died before that, or could not begin, or time is up.
    """
    return _hear(workers, shares, limit, _read_ready, "made")


def seat(
    workers: Sequence[Worker],
    shares: Sequence[Share],
    seatings: Sequence[Assignment],
    memory: Callable[[int], list[int]],
    limit: Deadline,
) -> None:
    """Gives every worker its seat, and waits until all sit.

    Args:
        workers, shares, seatings: of some lanes, in the same order.
        memory: the descriptors that a lane needs.
        limit: of time.

    Raises:
        PoolError: one can't sit down, and says why.
        WorkerError: one died before that, or time is up.
    """
    for worker, assignment in zip(workers, seatings, strict=True):
        # who is gone or does not read is found below
        with contextlib.suppress(EOFError, TimeoutError):
            worker.connection.send(("seat", assignment), memory(assignment.lane), limit.left())
    _hear(workers, shares, limit, _read_seated, "ready to step")


def dismiss(workers: Iterable[Worker]) -> None:
    """Kills workers and lets go of them."""
    workers = list(workers)
    # Ctrl-C comes after the last of them is dead
    with bootstrap.blocked({signal.SIGINT}):
        for worker in workers:
            worker.kill()
    for worker in workers:
        worker.join(BURIAL)
        worker.close()


# ------------------------------------------------------------------------------------- hearing --


def _read_ready(told: Any, share: Share) -> Description:
    if told[0] == "failed" and isinstance(told[1], Failure):
        what = f"environment {share.first + told[2]} can't be made"
        failures.raise_failure(told[1], what, (share.first + told[2],), ())
    if told[0] == "failed":
        # nothing of ours has run yet
        why = f"the worker process of {share} can't begin: {told[2]}"
        raise WorkerError(why, share.env_ids, ()) from told[1]
    described: Description = told[1]
    return described


def _read_seated(told: Any, share: Share) -> None:
    if told[0] != "seated":
        raise PoolError(f"the worker process of {share} can't begin: {told[1]}\n{told[2]}")


def _hear(
    workers: Sequence[Worker],
    shares: Sequence[Share],
    limit: Deadline,
    read: Callable[[Any, Share], T],
    aim: str,
) -> list[T]:
    """Waits for a message of each worker, and raises the first failure there is, whoever's."""
    heard: dict[int, T] = {}
    poll = select.poll()
    # a process may end and leave its end of the connection to one that it has started
    owner = {}
    for i, worker in enumerate(workers):
        owner[worker.connection.fileno()] = owner[worker.pidfd] = i
        poll.register(worker.connection.fileno(), select.POLLIN)
        poll.register(worker.pidfd, launch.ENDED)
    slow = wait_warnings.Notices()

    def describe(i: Any) -> str:
        return f"{shares[i]} to be {aim} (worker process {workers[i].pid})"

    try:
        while len(heard) < len(workers):
            left = limit.left()
            pause = wait_warnings.LOOK / 2 if left is None else min(left, wait_warnings.LOOK / 2)
            ready = poll.poll(math.ceil(pause * 1000))
            for i in sorted({owner[fd] for fd, _ in ready}):
                if i in heard:
                    _raise_dead(workers[i], shares[i], "stepped")
                told = _listen(workers[i], shares[i], aim)
                if told is not None:
                    heard[i] = read(told, shares[i])
                    poll.unregister(workers[i].connection.fileno())
            if not ready and left == 0.0:
                _raise_late(workers, shares, heard, limit, aim)
            slow.look([i for i in range(len(workers)) if i not in heard], describe)
    except BaseException as error:
        if not isinstance(error, Exception):
            waiting = [str(share) for i, share in enumerate(shares) if i not in heard]
            error.add_note(f"while waiting for {', '.join(waiting)} to be {aim}")
        raise
    return [heard[i] for i in range(len(workers))]


def _listen(worker: Worker, share: Share, aim: str) -> Any:
    """Returns what a worker has told, None for nothing so far."""
    try:
        told, _ = worker.connection.recv(0.0)
    except TimeoutError:
        if worker.exitcode is None:
            return None
    except EOFError:
        worker.join(BURIAL)
    else:
        return told
    _raise_dead(worker, share, aim)


def _raise_dead(worker: Worker, share: Share, aim: str) -> NoReturn:
    death = Death(worker.pid, worker.exitcode)
    raise WorkerError(f"{death} before {share} could be {aim}", share.env_ids, ())


def _raise_late(
    workers: Sequence[Worker],
    shares: Sequence[Share],
    heard: dict[int, Any],
    limit: Deadline,
    aim: str,
) -> NoReturn:
    late = [i for i in range(len(workers)) if i not in heard]
    named = ", ".join(f"{shares[i]} (worker process {workers[i].pid})" for i in late)
    raise WorkerError(
        f"{named} not {aim} within start_timeout={limit.seconds} s: choose a longer one, or inf "
        "to wait for ever",
        [env_id for i in late for env_id in shares[i].env_ids],
        (),
    )
