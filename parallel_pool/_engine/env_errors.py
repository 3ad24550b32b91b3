"""Which EnvError an exception of a pool's call stands for."""

from __future__ import annotations

from parallel_pool.errors import EnvError


def env_error_of(error: BaseException) -> EnvError | None:
    """Returns the EnvError that an exception is, or is caused by; None if there is none.

    The exception of an environment in Python is raised unchanged, caused by an EnvError.
    """
    failure = error if isinstance(error, EnvError) else error.__cause__
    return failure if isinstance(failure, EnvError) else None
