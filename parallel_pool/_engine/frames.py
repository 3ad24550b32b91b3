"""Frames: observations that are stacks of frames, with each frame stored once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import usable_memory
from parallel_pool._lazy import public
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parallel_pool._engine.buffers import Array

INT32_MAX = 2**31 - 1


class FrameLog:
    """The last frames of environments, in a ring buffer that all of them share; or all frames.

    Memory is touched only as it fills.

    Attributes:
        stack: frames of an observation.
        frames: (capacity, *frame shape).
        count: frames stored so far, those included that were overwritten since.
    """

    def __init__(self, observations: Array, capacity: int, *, overwrites: bool = True) -> None:
        """
        Args:
            observations: of one step, (n, stack, *frame shape), as they will be.
            capacity: frames for which there is room.
            overwrites: whether new frames take the place of the oldest in a full log.

        Raises:
            MemoryError: there is not so much memory.
        """
        num_envs, self.stack, *shape = observations.shape
        self._overwrites = overwrites
        self.frames = np.zeros((0, *shape), observations.dtype)
        self._last = np.full((num_envs, self.stack), -1, np.int32)
        self._log = ffi.new("pp_frames *")
        self._log.frame_bytes = observations[:1, :1].nbytes
        self.grow(max(capacity, 4 * num_envs * self.stack))
        self._log.last = ffi.cast("int32_t *", ffi.from_buffer(self._last))
        self._log.stack = self.stack

    @property
    def count(self) -> int:
        return int(self._log.count)

    def grow(self, capacity: int) -> None:
        """Takes memory for more frames; those that are there keep their places.

        Args:
            capacity: frames for which there shall be room: no fewer than now. None may have been
                overwritten yet.

        Raises:
            MemoryError: there is not so much memory.
        """
        size = capacity * self._log.frame_bytes
        if size > usable_memory() or capacity > INT32_MAX:
            raise MemoryError(
                f"no memory for {capacity} frames, {size / 1e9:.3g} GB: choose a smaller capacity"
            )
        frames = np.zeros((capacity, *self.frames.shape[1:]), self.frames.dtype)
        frames[: self.count] = self.frames[: self.count]
        self.frames = frames
        self._log.memory = ffi.cast("void *", ffi.from_buffer(frames))
        self._log.capacity = capacity

    def clear(self) -> None:
        """Forgets all frames."""
        self._log.count = 0
        self._last[:] = -1

    def put(self, stacks: Array, env_ids: Array | None = None) -> Array:
        """Stores stacks of frames; returns the places of their frames, int32 (count, stack).

        Args:
            stacks: (count, stack, *frame shape) of the log's dtype.
            env_ids: their environments, (count,), each once; None for all in order.

        Raises:
            ValueError: they have another shape or dtype.
            MemoryError: the log is full, and does not overwrite. It has to be cleared.
        """
        wanted = (self.stack, *self.frames.shape[1:])
        if stacks.shape[1:] != wanted or stacks.dtype != self.frames.dtype:
            raise ValueError(f"stacks of {stacks.dtype} {stacks.shape[1:]}: give {wanted}")
        count = len(self._last) if env_ids is None else len(env_ids)
        if len(stacks) != count:
            raise ValueError(f"{len(stacks)} stacks: give {count}")
        stacks = np.ascontiguousarray(stacks)
        ids = None if env_ids is None else np.ascontiguousarray(env_ids, np.int32)
        places = np.empty((count, self.stack), np.int32)
        lib.pp_frames_put(
            self._log,
            ffi.from_buffer(stacks),
            ffi.NULL if ids is None else ffi.from_buffer("int32_t[]", ids),
            count,
            ffi.from_buffer("int32_t[]", places),
        )
        if not self._overwrites and self._log.count > self._log.capacity:
            raise MemoryError(
                f"no memory for more than {self._log.capacity} frames: choose fewer steps"
            )
        return places

    def gather(self, places: Array, out: Array | None = None) -> Array:
        """Returns the frames at places (..., stack): (..., stack, *frame shape).

        Args:
            places: int32, as `put` returned them.
            out: an array of that shape and the log's dtype, C-contiguous, to write to.

        Raises:
            IndexError: a place is outside of the log.
            ValueError: out has another form.
        """
        places = self._checked(places)
        shape = (*places.shape, *self.frames.shape[1:])
        if out is None:
            out = np.empty(shape, self.frames.dtype)
        elif out.shape != shape or out.dtype != self.frames.dtype or not out.flags.c_contiguous:
            raise ValueError(f"out of {out.dtype} {out.shape}: give {self.frames.dtype} {shape}")
        self._gather(places, out)
        return out

    def gather_pairs(self, places: Array, following: Array, out: Array) -> None:
        """Does what `gather` does for both, which share frames, in less time.

        Args:
            places: int32 (count, stack), as `put` returned them.
            following: int32 (count, stack), of what each environment has shown next.
            out: (2, count, stack, *frame shape) of the log's dtype, C-contiguous, to write to.

        Raises:
            IndexError: a place is outside of the log.
            ValueError: out has another form.
        """
        places, following = self._checked(places), self._checked(following)
        shape = (2, *places.shape, *self.frames.shape[1:])
        if out.shape != shape or out.dtype != self.frames.dtype or places.shape != following.shape:
            raise ValueError(f"out of {out.dtype} {out.shape}: give {self.frames.dtype} {shape}")
        self._gather(places, out[0], following, out[1])

    def _checked(self, places: Array) -> Array:
        """Returns places, all of which are in the log, as C takes them."""
        places = np.ascontiguousarray(places, np.int32)
        if places.shape[-1:] != (self.stack,):
            raise ValueError(f"places of shape {places.shape}: give (..., {self.stack})")
        if places.size and (places.min() < 0 or places.max() >= len(self.frames)):
            raise IndexError(f"a place is not one of 0 to {len(self.frames) - 1}")
        return places

    def _gather(
        self,
        places: Array,
        out: Array,
        following: Array | None = None,
        next_out: Array | None = None,
    ) -> None:
        is_pair = following is not None and next_out is not None
        lib.pp_frames_gather(
            self._log,
            ffi.from_buffer("int32_t[]", places),
            ffi.from_buffer("int32_t[]", following) if is_pair else ffi.NULL,
            places.size // self.stack,
            ffi.from_buffer(out, require_writable=True),
            ffi.from_buffer(next_out, require_writable=True) if is_pair else ffi.NULL,
        )


@public("compat.gymnasium")
class Stacks:
    """Observations of many steps, each a stack of frames, with each frame stored once.

    It stands for an array (steps, n, stack, *frame shape): indexing with an integer, or with arrays
    of steps and environments, returns arrays; indexing with a slice of steps returns `Stacks`.

    Attributes:
        frames: the frames, (count, *frame shape) of the space's dtype.
        places: int32 (steps, n, stack), into frames.

    Example:
        >>> envs = parallel_pool.make_vec("Pong-v5", 2, backend="native")
        >>> observations, infos = envs.reset(seed=1)
        >>> rollout = envs.rollout(16, frames=True).collect(lambda seen: np.zeros(2, np.int64))
        >>> rollout.observations.shape, rollout.observations[[3, 5], [0, 1]].shape
        ((16, 2, 4, 84, 84), (2, 4, 84, 84))
        >>> envs.close()
    """

    def __init__(self, log: FrameLog, places: Array) -> None:
        self._log = log
        # a view, whose base shows the owner of the log that somebody holds this
        self.frames = log.frames[: log.count]
        self.places = places

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array that this stands for: (steps, n, stack, *frame shape)."""
        return (*self.places.shape, *self.frames.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array that this stands for."""
        kind: np.dtype[Any] = self.frames.dtype
        return kind

    @property
    def nbytes(self) -> int:
        """Bytes of the frames and places."""
        return self.frames.nbytes + self.places.nbytes

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Stacks(self._log, self.places[index])
        return self._log.gather(self.places[index])

    def gather(self, rows: Sequence[int] | Array, out: Array | None = None) -> Array:
        """Returns observations (count, stack, *frame shape) of the space's dtype.

        Args:
            rows: integers (count,), step * n + environment: indices of the array reshaped to
                (steps * n, ...).
            out: an array (count, stack, *frame shape) of the space's dtype, C-contiguous, to write
                to; None for a new one.

        Raises:
            IndexError: there is no such row.
            ValueError: out has another form.
        """
        return self._log.gather(self.places.reshape(-1, self.places.shape[2])[rows], out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("stacks of frames are no array without a copy")
        array = self._log.gather(self.places)
        return array if dtype is None else array.astype(dtype)
