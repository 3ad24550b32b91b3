"""What can go wrong with a pool, as exceptions.

Wrong values are plain `ValueError`s and wrong types `TypeError`s; everything else is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class PoolError(Exception):
    """Anything a pool raises that is not a `ValueError` or a `TypeError`."""


class StateError(PoolError, RuntimeError):
    """A right call at the wrong moment; the pool is as it was before."""


class ClosedError(StateError):
    """The pool is closed."""


class ForkedError(StateError):
    """The pool belongs to the process that this one was forked from."""


class BrokenPoolError(StateError):
    """Code in a worker process has written over what the pool shares with it, and nothing can come
    of the pool any more: close it and make a new one."""


class BusyError(StateError):
    """Another thread is receiving from the pool."""


class PoolTimeoutError(PoolError, TimeoutError):
    """No result came in time; nothing is lost, the next `recv` goes on waiting."""


class MissingDependencyError(PoolError, ImportError):
    """A package or file that this environment needs is not installed."""


class UnprovenError(PoolError, NotImplementedError):
    """An environment that is not known to equal its reference, and is refused for that."""


class EnvError(PoolError, RuntimeError):
    """Environments failed while they were stepped or reset.

    The other environments of the batch are fine: their results are in `batch`. A failed
    environment starts a new episode at its next step.

    Attributes:
        env_ids: the environments that failed.
        batch: what `recv` would have returned; rows of failed environments are zero.
    """

    def __init__(self, message: str, env_ids: Sequence[int], batch: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.env_ids = tuple(env_ids)
        self.batch = batch

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception calls the class with args alone
        return type(self), (*self.args, self.env_ids, self.batch), self.__dict__


class SlowWorkerWarning(RuntimeWarning):
    """Environments in worker processes are waited for, and have been for long."""


class WorkerError(EnvError):
    """A worker process died, or could not be started, and its environments with it."""
