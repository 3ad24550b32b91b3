"""Failures: what becomes of workers' deaths and exceptions in the process that made the pool."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parallel_pool.errors import EnvError, WorkerError
from parallel_pool.workers.messages import Failure

if TYPE_CHECKING:
    from typing import NoReturn

# environments whose failures one message tells of
MOST_TOLD = 8


@dataclass(frozen=True)
class Death:
    """How a worker ended.

    Attributes:
        pid: of the process.
        exitcode: as `subprocess` has it, negative for a signal; None if nobody could tell.
        env_id: the environment it was stepping, None for none.
        reason: why the pool killed it, empty if it did not.
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


# why an environment failed: it raised, its worker died, or did what this text says, or (None) there
# was no memory to say so
Account = Failure | Death | str | None


def raise_accounts(
    what: str, accounts: Mapping[int, Account], env_ids: Sequence[int], batch: tuple[Any, ...]
) -> NoReturn:
    """Raises what failed environments come to.

    Args:
        what: happened to the first of them, for the message.
        accounts: of the first ones at least, in order.
        env_ids, batch: all that failed, and all rows.
    """
    first, *others = accounts.items()
    account = first[1]
    rest = _list([(env_id, own) for env_id, own in others if own != account or own is None])
    if isinstance(account, Death):
        raise WorkerError(f"{what}: {account}{rest}", env_ids, batch)
    if isinstance(account, str):
        raise EnvError(f"{what}: {account}{rest}", env_ids, batch)
    if account is None:
        why = f"{what}, and there was no shared memory for its worker process to say why"
        raise MemoryError(why) from EnvError(f"{why}{rest}", env_ids, batch)
    raise_failure(account, what, env_ids, batch, rest)


def _list(accounts: Sequence[tuple[int, Account]]) -> str:
    """Lines about the environments that failed besides the first."""
    lines = []
    for env_id, account in accounts:
        shown: object = account
        if isinstance(account, Failure):
            shown = f"{account.kind}: {account.text}"
        lines.append(f"\nEnvironment {env_id}: {shown or 'no shared memory to say why'}")
    return "".join(lines)


def raise_failure(
    failure: Failure, what: str, env_ids: Sequence[int], batch: tuple[Any, ...], rest: str = ""
) -> NoReturn:
    """Raises the worker's exception, from an `EnvError` that has its traceback; that one if the
    exception could not travel."""
    error = EnvError(
        f"{what}: {failure.kind}: {failure.text}{rest}\n\n"
        f"In the worker process:\n{failure.traceback}",
        env_ids,
        batch,
    )
    own = failure.exception()
    # one that ends a program must not end this one
    if not isinstance(own, Exception):
        raise error
    own.add_note(what)
    raise own from error
