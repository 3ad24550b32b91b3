"""The exceptions and warnings of pools.

Wrong values raise `ValueError` and wrong types `TypeError`; every other error is a `PoolError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "BrokenPoolError",
    "BusyError",
    "ClosedError",
    "EnvError",
    "ForkedError",
    "MissingDependencyError",
    "NotResetError",
    "PoolError",
    "PoolTimeoutError",
    "SlowWorkerWarning",
    "SourceError",
    "StateError",
    "UnprovenError",
    "WorkerError",
]


class PoolError(Exception):
    """Base class of all exceptions here.

    Example:
        >>> pool = parallel_pool.Pool("CartPole-v1")
        >>> pool.close()
        >>> try:
        ...     pool.reset()
        ... except parallel_pool.PoolError as error:
        ...     print(f"{type(error).__name__}: {error}")
        ClosedError: the pool is closed: make a new one
    """


class StateError(PoolError, RuntimeError):
    """A call that is not allowed in the pool's present state; the pool is unchanged."""


class ClosedError(StateError):
    """The pool is closed."""


class ForkedError(StateError):
    """The pool belongs to the parent process that this one was forked from."""


class BrokenPoolError(StateError):
    """Code in a worker process has overwritten memory that it shares with the pool; the pool can't
    be used any more: close it and make a new one."""


class NotResetError(StateError):
    """A step or a picture of an environment that must be reset first."""


class BusyError(StateError):
    """Another thread is receiving from the pool."""


class PoolTimeoutError(PoolError, TimeoutError):
    """No result arrived within the timeout; nothing is lost, the next `recv` continues to wait."""


class MissingDependencyError(PoolError, ImportError):
    """A package or file that the environment needs is not installed."""


class SourceError(PoolError, ValueError):
    """A source file does not compile, or defines no environment."""


class UnprovenError(PoolError, NotImplementedError):
    """The environment is refused because it is not proven to equal its reference."""


class EnvError(PoolError, RuntimeError):
    """Environments failed while they were stepped or reset.

    The results of the batch's other environments are in `batch`. A failed environment starts a new
    episode at its next step.

    Attributes:
        env_ids: ids of the environments that failed, a tuple.
        batch: what `recv` would have returned; rows of failed environments are zero.
    """

    def __init__(self, message: str, env_ids: Sequence[int], batch: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.env_ids = tuple(env_ids)
        self.batch = batch

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own passes only args to the class
        return type(self), (*self.args, self.env_ids, self.batch), self.__dict__


class SlowWorkerWarning(RuntimeWarning):
    """Waiting for environments in worker processes takes unusually long."""


class WorkerError(EnvError):
    """A worker process died or could not be started; its environments failed."""
