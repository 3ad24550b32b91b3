"""Exceptions: their attributes, and what they derive from."""

from __future__ import annotations

from typing import Any, assert_type

import parallel_pool
import parallel_pool.errors as errors
from parallel_pool.compat.gymnasium import NotResetError, PendingCallError

pool = parallel_pool.Pool("CartPole-v1")
try:
    pool.step([0])
except errors.PoolTimeoutError as late:
    timeout: TimeoutError = late
except errors.WorkerError as lost:
    env_error: errors.EnvError = lost
except errors.EnvError as failed:
    assert_type(failed.env_ids, tuple[int, ...])
    assert_type(failed.batch, tuple[Any, ...])
except (errors.ClosedError, errors.ForkedError, errors.BusyError) as refused:
    state: errors.StateError = refused
    runtime: RuntimeError = refused
except parallel_pool.PoolError as other:
    base: Exception = other

value: ValueError = errors.SourceError()
not_reset: errors.NotResetError = NotResetError()
pending: errors.StateError = PendingCallError("a step is pending", "step")
