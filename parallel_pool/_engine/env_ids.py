"""The ids of environments that a call names: reads and checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import a_type, quote, whole
from parallel_pool._engine.buffers import Array
from parallel_pool._native import ffi

if TYPE_CHECKING:
    from typing import NoReturn

    from parallel_pool._core import CData

# looked up once, because `step` is called often
INT32 = np.dtype(np.int32)
INT32S = ffi.typeof("int32_t[]")
from_buffer = ffi.from_buffer
ndarray = np.ndarray


def read_ids(env_ids: Any, num_envs: int) -> tuple[int, CData]:
    """Returns the number of env_ids (None: all), and the ids for C.

    Raises:
        TypeError, ValueError: they are not ids of num_envs environments.
    """
    if env_ids is None:
        return num_envs, ffi.NULL
    if type(env_ids) is ndarray and env_ids.dtype is INT32 and env_ids.ndim == 1 and len(env_ids):
        # the env_id of results is like this; contextlib.suppress costs ten times as much
        try:
            return len(env_ids), from_buffer(INT32S, env_ids)
        except ValueError:  # not contiguous
            pass
    ids = np.atleast_1d(_as_array(env_ids))
    if ids.dtype is not INT32 or not ids.flags.c_contiguous or ids.ndim != 1:
        if ids.dtype.kind in "OSU":
            _refuse_ids(env_ids, num_envs)
        if ids.dtype.kind not in "iu" and ids.size:
            raise TypeError(f"env_ids have dtype {ids.dtype}: give integers")
        if ids.ndim != 1:
            raise ValueError(f"env_ids have shape {ids.shape}: give one axis")
        if ids.size and not (ids.min() >= 0 and ids.max() < num_envs):
            wrong = ids[(ids < 0) | (ids >= num_envs)][0]
            raise ValueError(f"env_id {wrong}: choose 0 to {num_envs - 1}")
        ids = np.ascontiguousarray(ids, INT32)
    if not ids.size:
        raise ValueError("no environment is named: name 1 or more")
    return len(ids), from_buffer(INT32S, ids)


def _refuse_ids(env_ids: Any, num_envs: int) -> NoReturn:
    """Raises the error for ids that NumPy does not read as numbers."""
    if isinstance(env_ids, (list, tuple, int)):
        for env_id in env_ids if isinstance(env_ids, (list, tuple)) else [env_ids]:
            one_id(env_id, num_envs)
    raise TypeError(
        f"env_ids={quote(env_ids)} is {a_type(env_ids)}: give an integer, or a list of integers"
    )


def one_id(env_id: Any, num_envs: int) -> int:
    """Returns the id of one environment; raises TypeError or ValueError."""
    number = whole("env_id", env_id)
    if not 0 <= number < num_envs:
        raise ValueError(f"env_id {quote(number)}: choose 0 to {num_envs - 1}")
    return number


def id_list(env_ids: Any, num_envs: int) -> list[int]:
    """Returns env_ids (None: all) as a list; raises TypeError or ValueError."""
    if env_ids is None:
        return list(range(num_envs))
    count, ids = read_ids(env_ids, num_envs)
    named = list(ffi.unpack(ids, count))
    # `read_ids` leaves the range of int32 arrays to C, which does not check them here
    for env_id in named:
        if not 0 <= env_id < num_envs:
            raise ValueError(f"env_id {env_id}: choose 0 to {num_envs - 1}")
    return named


def _as_array(env_ids: Any) -> Array:
    """Returns env_ids as an array; raises ValueError if NumPy can't make one."""
    if isinstance(env_ids, np.ma.MaskedArray) and env_ids.mask.any():
        raise ValueError(
            f"env_ids={quote(env_ids)} has masked ids: give env_ids.compressed(), without them"
        )
    try:
        return np.asarray(env_ids)
    except ValueError:
        raise ValueError(
            f"env_ids={quote(env_ids)} can't be made an array: give a list of integers"
        ) from None
