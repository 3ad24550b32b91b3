"""Errors of vector environments: each of them Gymnasium's own kind and ours at once."""

from __future__ import annotations

import multiprocessing

from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
    ResetNeeded,
)

from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError


class NotResetError(StateError, ResetNeeded, AssertionError):
    """A step or a picture of an environment that must be reset first.

    SyncVectorEnv raises ResetNeeded before the first reset, and AssertionError for a step after the
    end of an episode with AutoresetMode.DISABLED: this is both.
    """


class PendingCallError(AlreadyPendingCallError, StateError):
    """A call while the result of another one is waited for; `name` says which."""


class NoPendingCallError(NoAsyncCallError, StateError):
    """A wait for the result of something that was not begun; `name` says what."""


class ClosedVectorEnvError(ClosedEnvironmentError, ClosedError):
    """The vector environment is closed."""


class VectorTimeoutError(PoolTimeoutError, multiprocessing.TimeoutError):
    """No result came in time; nothing is lost, the next wait goes on."""
