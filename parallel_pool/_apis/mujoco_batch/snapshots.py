"""Snapshots: the whole state of one world as bytes, and back.

A snapshot is the length of a header, the header (which names what follows, and the model), the
generator as eight uint64, the seed's presence, and the rows of all arrays one after another.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._families import mujoco_batch
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parallel_pool._apis.mujoco_batch.task_worlds import TaskWorlds
    from parallel_pool._engine.buffers import Array

LENGTH = struct.Struct("<I")
# state and increment, two halves of each; whether half a number is left, and that half
GENERATOR = struct.Struct("<QQQQII")
HALF = 2**64
DAMAGED = "a state is damaged, or of another task, model or version of MuJoCo: give what"


class Snapshots:
    """Reads and writes the states of single worlds."""

    def __init__(self, worlds: TaskWorlds) -> None:
        """
        Args:
            worlds: the worlds, whose batch and task exist.
        """
        self._worlds = worlds
        model = worlds.batch.model
        self._digest = mujoco_batch.digest(model)
        self._cursors = mujoco_batch.cursors(model)

    def _arrays(self) -> Iterator[tuple[str, Array]]:
        """Yields all arrays (n, ...) whose rows are a world's state, and their names."""
        worlds = self._worlds
        yield "state", worlds.batch.state
        yield "elapsed", worlds.elapsed
        for name, array in worlds.own.items():
            yield f"own {name}", array
        for name, array in worlds.varied().items():
            yield f"model {name}", array
        for name, array in mujoco_batch.outputs(worlds.batch).items():
            yield f"output {name}", array

    def _header(self) -> bytes:
        fields = [(name, array.dtype.str, array.shape[1:]) for name, array in self._arrays()]
        text = json.dumps([self._digest, self._worlds.name, fields]).encode()
        return LENGTH.pack(len(text)) + text

    def read(self, env_id: int) -> bytes:
        """Returns a snapshot; raises StateError if the batch keeps more than rows."""
        if self._worlds.batch.persistent:
            raise StateError(
                "worlds with persistent=True have an MjData each, of which there are no snapshots:"
                " leave persistent out"
            )
        rows = [array[env_id].tobytes() for _, array in self._arrays()]
        generator = self._worlds.generators[env_id]
        return b"".join([self._header(), _packed(generator), *rows])

    def check(self, state: bytes) -> None:
        """Raises ValueError unless the bytes are a snapshot of such a world."""
        header = self._header()
        sizes = [array[0].nbytes for _, array in self._arrays()]
        if state[: len(header)] != header:
            raise ValueError(f"{self._difference(state)} get_state of such a pool has returned")
        if len(state) != len(header) + GENERATOR.size + sum(sizes):
            raise ValueError(f"{DAMAGED} get_state of such a pool has returned")
        begin = len(header) + GENERATOR.size
        row = np.frombuffer(state[begin : begin + sizes[0]], self._worlds.batch.state.dtype)
        for place, length in self._cursors:
            # MuJoCo uses it as an index, without a test
            if row[place] not in range(length):
                raise ValueError(f"{DAMAGED} get_state of such a pool has returned")
        elapsed = state[begin + sizes[0] : begin + sum(sizes[:2])]
        if np.frombuffer(elapsed, np.int64)[0] < 0:
            raise ValueError(f"{DAMAGED} get_state of such a pool has returned")

    def _difference(self, state: bytes) -> str:
        """Returns the beginning of a message about a header."""
        try:
            (size,) = LENGTH.unpack(state[: LENGTH.size])
            text = state[LENGTH.size : LENGTH.size + size]
            _, _, fields = json.loads(text)
            theirs = {name for name, *_ in fields}
        except (ValueError, TypeError, struct.error):
            return DAMAGED
        ours = {name for name, _ in self._arrays()}
        lacking, more = sorted(ours - theirs), sorted(theirs - ours)
        if lacking or more:
            what = f"lacks {', '.join(lacking)}" if lacking else f"has {', '.join(more)}"
            return f"a state {what}, unlike these worlds: bind the same fields, and give what"
        return DAMAGED

    def write(self, env_id: int, state: bytes) -> None:
        """Restores a snapshot that was checked."""
        at = len(self._header())
        generator = GENERATOR.unpack(state[at : at + GENERATOR.size])
        self._worlds.generators[env_id] = _unpacked(generator)
        at += GENERATOR.size
        for _, array in self._arrays():
            row = array[env_id]
            size = row.nbytes
            array[env_id] = np.frombuffer(state[at : at + size], array.dtype).reshape(row.shape)
            at += size


def _packed(generator: Any) -> bytes:
    if generator is None:
        return bytes(GENERATOR.size)
    found = generator.bit_generator.state
    own = found["state"]
    halves = [half for key in ("state", "inc") for half in divmod(own[key], HALF)]
    return GENERATOR.pack(*halves, found["has_uint32"], found["uinteger"])


def _unpacked(numbers: tuple[int, ...]) -> Any:
    if not any(numbers):
        return None
    state, increment = (numbers[i] * HALF + numbers[i + 1] for i in (0, 2))
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": increment},
        "has_uint32": int(bool(numbers[4])),
        "uinteger": numbers[5],
    }
    return np.random.Generator(bits)
