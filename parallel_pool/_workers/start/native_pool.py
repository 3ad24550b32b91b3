"""Native pool: makes the C pool behind a `ProcessPool`, and the assignments of its workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool._workers.data.messages import Assignment
from parallel_pool._workers.start import address_space

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._workers.data.messages import Description
    from parallel_pool._workers.data.spaces import Leaf

# dtype of records and columns in C
UINT8 = lib.PP_UINT8


def create(
    *,
    leaves: Sequence[Leaf],
    record_bytes: int,
    num_envs: int,
    num_workers: int,
    batch_size: int,
    autoreset: int,
    reward_dtype: int,
    saves_rows: bool,
    limits: CData,
) -> tuple[CData, list[CData]]:
    """Makes the pool in C, with one column of bytes for each leaf.

    Args:
        leaves: of an observation; none if observations travel as objects.
        record_bytes: size of an action's record.
        num_envs, num_workers, batch_size: of the pool.
        autoreset, reward_dtype: constants of C.
        saves_rows: the pool saves last observations, for restarted workers to repeat.
        limits: `address_space_limits`.

    Returns:
        The pool, and the names of its columns, which C refers to as long as the pool lives.
    """
    config = ffi.new("pp_config *")
    config.num_players = 1
    names = []
    for i, leaf in enumerate(leaves):
        names.append(ffi.new("char[]", (".".join(map(str, leaf.path)) or "obs").encode()))
        _describe_bytes(config.fields[i], names[-1], leaf.nbytes)
    config.num_fields = len(names)
    names.append(ffi.new("char[]", b"action"))
    _describe_bytes(config.action, names[-1], record_bytes)
    options = ffi.new("pp_pool_options *")
    options.num_envs = num_envs
    options.batch_size = batch_size
    options.thread_affinity_offset = -1
    options.autoreset = autoreset
    options.max_episode_steps = -1
    options.reward_dtype = reward_dtype
    out, error = ffi.new("pp_pool **"), new_error()
    status = lib.pp_pool_create_processes(
        config, options, num_workers, saves_rows, limits, out, error
    )
    if status < 0:
        raise_error(status, error)
    return ffi.gc(out[0], lib.pp_pool_destroy), names


def _describe_bytes(field: CData, name: CData, size: int) -> None:
    """Makes a field a row of `size` bytes."""
    field.name = name
    field.dtype = UINT8
    field.space = lib.PP_BOX
    field.ndim = 1
    field.shape[0] = size
    field.high = 255


def address_space_limits(descriptions: Sequence[Description]) -> CData:
    """Returns how much address space the pool may use in this process and in each worker.

    That is half of what this process may still map, and half of the least that a worker may.
    """
    limits = ffi.new("pp_address_space *")
    here = address_space.remaining()
    there = [each.address_space for each in descriptions if each.address_space is not None]
    limits.parent = 0 if here is None else max(1, here // 2)
    limits.worker = max(1, min(there) // 2) if there else 0
    return limits


def assignments(handle: CData, common: Assignment, num_workers: int) -> list[Assignment]:
    """Returns the assignment of each worker.

    Args:
        handle: the pool.
        common: what all have in common; the other attributes are read from the pool.
        num_workers: number of lanes.
    """
    raw = ffi.new("int32_t *")
    columns = lib.pp_pool_columns(handle, raw)
    places = [
        (columns[i].is_final, (columns[i].offset, columns[i].row_bytes))
        for i in range(raw[0])
        if columns[i].field >= 0
    ]
    one = replace(
        common,
        reserve=lib.pp_pool_reserve(handle),
        size=lib.pp_batch_size(handle),
        fields=[place for is_final, place in places if not is_final],
        finals=[place for is_final, place in places if is_final],
    )
    return [replace(one, lane=lane) for lane in range(num_workers)]
