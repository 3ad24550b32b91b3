"""LaneMemory: a worker's access to the turns, rows, replies and payloads in shared memory."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.actions import described
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool._workers.data import messages
from parallel_pool._workers.data.action_records import ActionUnpacker
from parallel_pool._workers.data.info_copies import check_depth
from parallel_pool._workers.data.info_records import InfoPacker
from parallel_pool._workers.data.messages import (
    ANSWER,
    FAILURE,
    FINAL_INFO,
    FINAL_OBSERVATION,
    INFO,
    OBSERVATION,
    Assignment,
    Reply,
)
from parallel_pool._workers.data.spaces import Writer

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array
    from parallel_pool._workers.data.spaces import Indexed
    from parallel_pool._workers.start.connection import Dumps

# most blocks whose arrays are kept, and most sets of rows whose views are kept
MAX_BLOCKS = 64

# names of a reply's parts, for messages
NAMES = {
    INFO: "info",
    FINAL_INFO: "info",
    OBSERVATION: "observation",
    FINAL_OBSERVATION: "observation",
    FAILURE: "failure",
    ANSWER: "result",
}


class LaneMemory:
    """What a worker process maps to serve its lane: base class of `EnvRunner`."""

    def __init__(self, assignment: Assignment, dumps: Dumps, memory: int, reply_fd: int) -> None:
        """Opens the pool's memory.

        Args:
            assignment: the lane and how its rows and actions lie in memory.
            dumps: pickles for the parent process.
            memory, reply_fd: descriptors of the pool's memory and of the lane's reply file.
        """
        self._assignment = assignment
        self._dumps = dumps
        self._error = new_error()
        out = ffi.new("pp_worker **")
        status = lib.pp_worker_open(
            memory, assignment.reserve, reply_fd, assignment.lane, out, self._error
        )
        if status < 0:
            raise_error(status, self._error)
        self._worker = worker = out[0]
        self._first: int = lib.pp_worker_first_env(worker)
        count: int = lib.pp_worker_num_envs(worker)
        self._turns = turns = lib.pp_worker_turns(worker)
        self._env_ids = _view(turns.env_ids, count, 4, "i")
        self._commands = _view(turns.command, count, 4, "i")
        self._rows = _view(turns.rows, count, 4, "i")
        self._blocks = _view(turns.blocks, count, 8, "q")
        self._rewards: Any = _view(turns.rewards, count, 8, "d")
        self._terminated = _view(turns.terminated, count, 1, "B")
        self._truncated = _view(turns.truncated, count, 1, "B")
        self._kinds = _view(turns.kinds, count, 1, "B")
        self._failed = _view(turns.failed, count, 1, "B")
        self._current = _view(lib.pp_worker_current_env(worker), 1, 4, "i")
        self._arrays: dict[int, tuple[list[Array], list[Array]]] = {}
        self._row_views: dict[tuple[int, int], list[Array]] = {}

        self._is_ordered = bool(lib.pp_worker_is_ordered(worker))
        self._writer = (
            Writer(assignment.observation_space)
            if assignment.observation_space is not None
            else None
        )
        self._leaves = self._writer.leaves if self._writer else ()
        if not self._is_ordered:
            self._arrays[lib.PP_STAGED] = self._staged_arrays(False), self._staged_arrays(True)
        self._actions = None if assignment.action_space is None else self._bind_actions(count)
        self._info_packer = InfoPacker()

    def _bind_actions(self, count: int) -> Indexed:
        size = ffi.new("int64_t *")
        records = lib.pp_worker_actions(self._worker, size)
        buffer = memoryview(ffi.buffer(records, size[0] * count))
        return ActionUnpacker(self._assignment.action_space).bind(buffer, count)

    def _staged_arrays(self, is_final: bool) -> list[Array]:
        """Returns the leaves' arrays in which the turns of an unordered pool have their rows."""
        count: int = lib.pp_worker_num_envs(self._worker)
        found = []
        for at, leaf in enumerate(self._leaves):
            address = lib.pp_worker_staged(self._worker, at, is_final)
            if address:
                raw = memoryview(ffi.buffer(address, leaf.nbytes * count))
                found.append(
                    np.frombuffer(raw, np.uint8).view(leaf.dtype).reshape(count, *leaf.shape)
                )
        return found

    def _block(self, offset: int) -> tuple[list[Array], list[Array]]:
        """Returns the leaves' arrays in a block, and those of final observations."""
        known = self._arrays.get(offset)
        if known is not None:
            return known
        assignment = self._assignment
        raw = ffi.buffer(lib.pp_worker_block(self._worker, offset), assignment.size)
        memory = np.frombuffer(memoryview(raw), np.uint8)

        def arrays(fields: list[tuple[int, int]]) -> list[Array]:
            return [
                memory[at : at + size * assignment.rows]
                .view(leaf.dtype)
                .reshape(assignment.rows, *leaf.shape)
                for (at, size), leaf in zip(fields, self._leaves, strict=bool(fields))
            ]

        if len(self._arrays) >= MAX_BLOCKS:
            self._arrays.clear()
        made = self._arrays[offset] = arrays(assignment.fields), arrays(assignment.finals)
        return made

    def _own_rows(self, offset: int, row: int, count: int) -> list[Array]:
        """Returns a view of each of these rows; [] unless the space is one array.

        Only views of the lane's own rows are kept: those of all rows of all blocks would take much
        memory in each worker.
        """
        assert self._writer is not None
        if self._writer.plain[0] is None:
            return []
        known = self._row_views.get((offset, row))
        if known is not None:
            return known
        if len(self._row_views) >= MAX_BLOCKS:
            self._row_views.clear()
        array = self._block(offset)[0][0]
        made = self._row_views[offset, row] = list(array[row : row + count])
        return made

    def _row_of(self, turn: int) -> tuple[list[Array], int]:
        """Returns the arrays in which a turn has its row, and the row's index."""
        return self._block(self._blocks[turn])[0], self._rows[turn]

    def _reply(self, turn: int, reply: Reply) -> None:
        data = None
        if len(reply) == 1 and INFO in reply:
            data = self._info_packer.pack_one(self._env_ids[turn], reply[INFO])
        if data is None:
            self._check_infos(reply)
        self._reply_bytes(turn, self._pickle(reply, NAMES) if data is None else data)

    def _check_infos(self, reply: Reply) -> None:
        """Raises TypeError if infos are no dict, and ValueError if they are too deep."""
        for key in (INFO, FINAL_INFO):
            if key in reply:
                if not isinstance(reply[key], Mapping):
                    raise TypeError(f"step returned {described(reply[key])} as info: give a dict")
                check_depth(reply[key])

    def _reply_bytes(self, turn: int, data: bytes) -> None:
        status = lib.pp_worker_reply(self._worker, turn, data, len(data), self._error)
        if status < 0:
            raise_error(status, self._error)

    def _pickle(self, value: Any, names: Mapping[int, str]) -> bytes:
        """Pickles a reply or an answer; an error names the part that can't be pickled."""
        try:
            return self._dumps(value)
        except Exception:
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                messages.check_picklable(part, names.get(key, ""), self._dumps)
            raise

    def _payload(self, turn: int) -> Any:
        size = ffi.new("int64_t *")
        data = lib.pp_worker_payload(self._worker, turn, size)
        return pickle.loads(ffi.buffer(data, size[0])) if data else None


def _view(pointer: CData, count: int, size: int, code: Any) -> memoryview:
    """Returns `count` numbers of C as a memoryview, which Python reads and writes fastest."""
    numbers: memoryview = memoryview(ffi.buffer(pointer, count * size)).cast("B").cast(code)
    return numbers
