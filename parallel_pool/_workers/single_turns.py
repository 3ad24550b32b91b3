"""Single turns: sends to one environment of a pool of worker processes, and ends its worker."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.actions import described
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._native import ffi, lib, raise_error
from parallel_pool._workers.data.action_records import IN_PAYLOAD
from parallel_pool._workers.data.messages import TurnCall
from parallel_pool._workers.watch import failures
from parallel_pool._workers.watch.supervisor import Supervisor

if TYPE_CHECKING:
    from parallel_pool._workers.process_pool import ProcessPool
    from parallel_pool._workers.watch.failures import Death

# types that name nothing of a program, so that they need no pickling by value
PLAIN = {bool, bytes, float, int, str, type(None)}


def send_step(pool: ProcessPool, env_id: int, action: Any) -> None:
    """Queues an action for one environment, which gets a copy of the same type.

    Raises:
        TypeError: the action can't be pickled.
        StateError: the environment is in flight already, or its worker is dead.
    """
    leaves = pool._packer.leaves if pool._packer is not None else ()
    if len(leaves) == 1 and not leaves[0].path:
        dtype, shape = leaves[0].dtype, leaves[0].shape
        kind = type(action)
        if kind is np.ndarray and shape and action.dtype == dtype and action.shape == shape:
            _send_turn(pool, env_id, b"", np.ascontiguousarray(action))
            return
        if kind is dtype.type and not shape:
            _send_turn(pool, env_id, b"", np.array([action], dtype))
            return
    _send_turn(pool, env_id, _payload(pool, action), IN_PAYLOAD)


def send_reset(pool: ProcessPool, env_id: int, arguments: Mapping[str, Any] | TurnCall) -> None:
    """Queues a reset of one environment with these arguments, or a call in its place.

    Raises:
        TypeError: an argument can't be pickled.
        StateError: the environment is in flight already, or its worker is dead.
    """
    _send_turn(pool, env_id, _payload(pool, arguments) if arguments else b"", None)


def _payload(pool: ProcessPool, value: Any) -> bytes:
    try:
        return pickle.dumps(value, 5) if type(value) in PLAIN else pool._dumps(value)
    except Exception as error:
        raise TypeError(
            f"{described(value)} can't be sent to a worker process: {type(error).__name__}: {error}"
        ) from error


def _send_turn(pool: ProcessPool, env_id: int, payload: bytes, records: Any) -> None:
    """Queues a step of one environment with its record, or a reset if `records` is None."""
    if pool._supervisor.lost:
        pool._check_workers([env_id])
    handle, ids, error = pool._handle, ffi.new("int32_t[1]", (env_id,)), error_slot.raw
    if payload or records is None:
        check(lib.pp_pool_set_payload(handle, env_id, payload, len(payload), error))
    if records is None:
        null = ffi.NULL
        status = lib.pp_pool_send_reset(handle, ids, 1, null, null, null, error)
    else:
        data, code = pool._reader.read(records, 1)
        status = lib.pp_pool_send(handle, ids, 1, data, code, error)
    if status < 0:
        raise_error(status, error)


def failure_of(pool: ProcessPool, env_id: int) -> Exception:
    """Returns the exception of an environment that has failed in the last batch.

    Call this before sending again.
    """
    python = pool._shares[pool._lane_of(env_id)].interpreter
    where = "" if python is None else f" in {python}"
    what = f"{pool._name}: environment {env_id} failed{where}"
    try:
        failures.raise_failures(what, {env_id: pool._cause(env_id)}, (env_id,), ())
    except Exception as error:
        return error


def kill_worker(pool: ProcessPool, env_id: int, reason: str) -> bool:
    """Kills the worker of an environment; returns whether it has one at the moment.

    Args:
        pool: the pool, with worker processes.
        env_id: the environment.
        reason: what its death says.
    """
    supervisor = pool._supervisor
    return isinstance(supervisor, Supervisor) and supervisor.kill(pool._lane_of(env_id), reason)


def death_of(pool: ProcessPool, env_id: int) -> Death | None:
    """Returns how the last worker of an environment died that has died."""
    deaths = pool._supervisor.deaths
    # it is asked for at each step: without a call of C, at which another thread may go on
    return deaths.get(pool._lane_of(env_id)) if deaths else None


def loss_of(pool: ProcessPool, env_id: int) -> str | None:
    """Returns why an environment gets no worker any more; None if it has one or gets one."""
    return pool._supervisor.lost.get(pool._lane_of(env_id))
