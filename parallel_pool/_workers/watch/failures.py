"""Failures: the exceptions that a pool raises when a worker dies or an environment raises."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parallel_pool._workers.data.messages import Failure
from parallel_pool.errors import EnvError, WorkerError

if TYPE_CHECKING:
    from typing import NoReturn

# how many failed environments a message lists
MAX_LISTED = 8
# before the traceback in a message; with num_workers=0 there is no worker
IN_WORKER, IN_ENVIRONMENT = "\n\nIn the worker process:\n", "\n\nIn the environment:\n"


@dataclass(frozen=True)
class Death:
    """How a worker process ended.

    Attributes:
        pid: its process id.
        exitcode: as in `subprocess`, negative for a signal; None if unknown.
        env_id: the environment it was stepping; None for none.
        reason: why the pool killed it; empty if it did not.
    """

    pid: int
    exitcode: int | None
    env_id: int | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return self.reason
        how = f"ended with exit code {self.exitcode}"
        if self.exitcode is None:
            how = "ended"
        elif self.exitcode < 0:
            try:
                how = f"was killed by {signal.Signals(-self.exitcode).name}"
            except ValueError:
                how = f"was killed by signal {-self.exitcode}"
        at = "" if self.env_id is None else f" while it stepped environment {self.env_id}"
        return f"worker process {self.pid} {how}{at}"


# Why an environment failed: it raised (Failure), its worker died (Death), another reason as text,
# or None: there was no shared memory to report the reason.
Cause = Failure | Death | str | None


def raise_failures(
    what: str, causes: Mapping[int, Cause], env_ids: Sequence[int], batch: tuple[Any, ...]
) -> NoReturn:
    """Raises the exception for environments that failed together.

    Args:
        what: what failed, for the message.
        causes: by environment, in order; at least that of the first.
        env_ids: all environments that failed.
        batch: all rows, including those of the other environments.
    """
    first, *others = causes.items()
    cause = first[1]
    more = _describe([(env_id, own) for env_id, own in others if own != cause or own is None])
    if isinstance(cause, Death):
        raise WorkerError(f"{what}: {cause}{more}", env_ids, batch)
    if isinstance(cause, str):
        raise EnvError(f"{what}: {cause}{more}", env_ids, batch)
    if cause is None:
        why = f"{what}, and there was no shared memory for its worker process to report why"
        raise MemoryError(why) from EnvError(f"{why}{more}", env_ids, batch)
    raise_failure(cause, what, env_ids, batch, more)


def _describe(causes: Sequence[tuple[int, Cause]]) -> str:
    """Returns a line for each environment that failed besides the first."""
    lines = []
    for env_id, cause in causes:
        reason: object = cause
        if isinstance(cause, Failure):
            reason = f"{cause.kind}: {cause.text}"
        lines.append(f"\nEnvironment {env_id}: {reason or 'no shared memory to report why'}")
    return "".join(lines)


def raise_failure(
    failure: Failure, what: str, env_ids: Sequence[int], batch: tuple[Any, ...], more: str = ""
) -> NoReturn:
    """Raises the worker's exception, caused by an `EnvError` with its traceback.

    Raises the `EnvError` itself if the exception could not be pickled.
    """
    where = IN_ENVIRONMENT if failure.pid == os.getpid() else IN_WORKER
    error = EnvError(
        f"{what}: {failure.kind}: {failure.text}{more}{where}{failure.traceback}", env_ids, batch
    )
    own = failure.exception()
    # SystemExit and the like, which end a program, must not end this one
    if not isinstance(own, Exception):
        raise error
    own.add_note(what)
    raise own from error


def without_traceback(message: str) -> str:
    """Returns what a message of `raise_failure` says before the traceback."""
    for where in (IN_WORKER, IN_ENVIRONMENT):
        message = message.partition(where)[0]
    return message
