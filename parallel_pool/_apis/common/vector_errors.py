"""Errors of vector environments: each class derives from Gymnasium's error and from ours."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
    ResetNeeded,
)

from parallel_pool import errors
from parallel_pool._engine.arguments import quote
from parallel_pool._lazy import public
from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool


@public("compat.gymnasium")
class NotResetError(errors.NotResetError, ResetNeeded, AssertionError):
    """step() or render() of an environment that must be reset first, for programs of Gymnasium.

    SyncVectorEnv raises ResetNeeded before the first reset, and AssertionError for a step after the
    end of an episode with AutoresetMode.DISABLED: this class is both.
    """


@public("compat.gymnasium")
class PendingCallError(AlreadyPendingCallError, StateError):
    """A call while another call is pending; `name` names the pending one."""


class NoPendingCallError(NoAsyncCallError, StateError):
    """A wait for a call that was not started; `name` names it."""


class ClosedVectorEnvError(ClosedEnvironmentError, ClosedError):
    """The vector environment is closed."""


class VectorTimeoutError(PoolTimeoutError, multiprocessing.TimeoutError):
    """No result arrived within the timeout; nothing is lost, the next wait continues."""


def check_call(name: str) -> None:
    """Refuses the names that `call` can't be given; raises ValueError."""
    if name in ("reset", "step", "close"):
        raise ValueError(f"call({quote(name)}): call {name} directly instead")


def explain_step(error: StateError, pool: BasePool, ended_cure: str | None) -> None:
    """Raises a clearer error for a step that a pool refused, if there is one.

    Args:
        error: the pool's; of a subclass (ForkedError, BusyError) it already says what is wrong.
        pool: the pool.
        ended_cure: the cure if episodes are over and the caller resets; None: they are not, or the
            pool resets.
    """
    if type(error) is not StateError:
        return
    if pool.in_flight:
        raise PendingCallError(
            f"step() after an interrupted step, whose results of {pool.in_flight} environments were"
            " not received: call reset(), which drops them and begins new episodes",
            "step",
        ) from None
    if ended_cure is not None:
        raise NotResetError(f"{error}: {ended_cure}") from None
