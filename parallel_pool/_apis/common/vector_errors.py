"""Errors of vector environments: each class derives from Gymnasium's error and from ours."""

from __future__ import annotations

import multiprocessing

from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
    ResetNeeded,
)

from parallel_pool import errors
from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError


class NotResetError(errors.NotResetError, ResetNeeded, AssertionError):
    """step() or render() of an environment that must be reset first, for programs of Gymnasium.

    SyncVectorEnv raises ResetNeeded before the first reset, and AssertionError for a step after the
    end of an episode with AutoresetMode.DISABLED: this class is both.
    """


class PendingCallError(AlreadyPendingCallError, StateError):
    """A call while another call is pending; `name` names the pending one."""


class NoPendingCallError(NoAsyncCallError, StateError):
    """A wait for a call that was not started; `name` names it."""


class ClosedVectorEnvError(ClosedEnvironmentError, ClosedError):
    """The vector environment is closed."""


class VectorTimeoutError(PoolTimeoutError, multiprocessing.TimeoutError):
    """No result arrived within the timeout; nothing is lost, the next wait continues."""
