"""ReplayBuffer: the last transitions of environments that show stacks of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._engine.arguments import a_type, check_count, quote
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.frames import FrameLog
from parallel_pool._engine.held import Held
from parallel_pool._engine.rollouts import count_batches, last_batch
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

# frames for which there is room beyond one for each transition: a reset stores a whole stack
SLACK = 0.04


# memories of samples that are kept
MAX_OUTPUTS = 3


@public("compat.gymnasium")
@dataclass
class Transitions:
    """Transitions drawn from a `ReplayBuffer`; arrays (count, ...) that are the caller's own.

    Attributes:
        observations: (count, stack, *frame shape) of the space's dtype, before the steps.
        actions: (count, *action shape) of the dtype that was given.
        rewards: float64 (count,).
        next_observations: (count, stack, *frame shape) of the space's dtype, after the steps: of an
            episode that ended, its last one.
        terminations: bool (count,).
        truncations: bool (count,).

    Example:
        >>> envs = parallel_pool.make_vec("Pong-v5", 2, backend="native")
        >>> observations, infos = envs.reset(seed=1)
        >>> buffer = parallel_pool.compat.gymnasium.ReplayBuffer(envs, 1000)
        >>> buffer.collect(lambda observations: np.zeros(2, np.int64), 16)
        >>> buffer.sample(8).observations.shape
        (8, 4, 84, 84)
        >>> envs.close()
    """

    observations: Array
    actions: Array
    rewards: Array
    next_observations: Array
    terminations: Array
    truncations: Array


@public("compat.gymnasium")
class ReplayBuffer(Uncopied):
    """The last transitions of environments whose observations are stacks of frames.

    Each frame is stored once, so a million transitions of Atari games take 7.4 GB. Memory is
    touched as it fills. Steps that only reset their environment (NEXT_STEP) are left out. With more
    resets than one in about 75 steps, each of which stores a whole stack, there are fewer
    transitions than `capacity`, for which memory is fixed. Observations that turn out to be no
    stacks, such as single pictures, are stored whole, in as much memory as they need.

    Attributes:
        envs: the environments.
        capacity: transitions for which there is room.

    Example:
        >>> envs = parallel_pool.make_vec("Pong-v5", 2, backend="native")
        >>> observations, infos = envs.reset(seed=1)
        >>> buffer = parallel_pool.compat.gymnasium.ReplayBuffer(envs, 1000, seed=0)
        >>> actions = envs.action_space.sample()
        >>> buffer.add(observations, actions, envs.step(actions))
        >>> len(buffer)
        2
        >>> envs.close()
    """

    def __init__(self, envs: Any, capacity: int, *, seed: int | None = None) -> None:
        """
        Args:
            envs: `NativeVectorEnv` or `ProcessVectorEnv`.
            capacity: transitions, rounded up to whole steps of all environments.
            seed: of what `sample` draws; None for fresh entropy.

        Raises:
            TypeError: capacity is no integer.
            ValueError: capacity is less than 1; observations are no stacks of frames; or episodes
                do not start again by themselves (DISABLED).
            MemoryError: there is not so much memory.
        """
        space = envs.single_observation_space
        shape = space.shape
        if shape is None or len(shape) < 2 or not hasattr(space, "low"):
            raise ValueError(f"observations {quote(space)} are no arrays (stack, ...) of frames")
        if envs.autoreset_mode is AutoresetMode.DISABLED:
            raise ValueError("autoreset_mode=DISABLED: choose NEXT_STEP or SAME_STEP")
        self.envs = envs
        num_envs = envs.num_envs
        self._rows = max(2, -(-check_count("capacity", capacity, 1) // num_envs))
        self.capacity = self._rows * num_envs
        like, stack = np.empty((num_envs, *shape), space.dtype), shape[0]
        frames = int(self.capacity * (1 + SLACK))
        # for observations that share no frames
        self._whole_room = (frames + 8 * num_envs) * stack
        # the newest transitions are there even if every step ends episodes
        least = min(2 * num_envs * stack * (stack + 1), self._whole_room)
        self._log = FrameLog(like, max(frames + 2 * num_envs * (stack + 1), least))
        # steps whose observations shared no frames with those before, less those that did
        self._unshared = 0
        places = (self._rows, num_envs, stack)
        self._places, self._next_places = np.zeros(places, np.int32), np.zeros(places, np.int32)
        self._actions: Array | None = None
        rows = self._rows, num_envs
        self._rewards = np.zeros(rows)
        self._terminated, self._truncated = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        self._is_real = np.zeros(rows, np.bool_)
        # of the log, before the oldest frame of a row was stored
        self._counts = np.zeros(self._rows, np.int64)
        # the same for the last rows, of which the newest will need older frames
        self._recent = [0] * (stack + 1)
        # rows stored so far, and the first of them whose frames are all there
        self._end = self._first = 0
        # transitions in these rows
        self._num_real = 0
        self._elapsed = engine_indices(envs.pool.columns)["elapsed_step"]
        # the observations that were stored last, and the places of their frames
        self._seen: Any = None
        self._seen_places: Any = None
        self._batches = -1
        # memory of samples
        self._outputs: list[Held] = []
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        """The number of transitions that may be drawn."""
        return self._num_real

    @property
    def nbytes(self) -> int:
        """Bytes of all memory, touched or not."""
        arrays = (self._log.frames, self._places, self._next_places, self._rewards)
        flags = (self._terminated, self._truncated, self._is_real)
        actions = () if self._actions is None else (self._actions,)
        return sum(array.nbytes for array in (*arrays, *flags, *actions))

    def collect(self, policy: Callable[[Any], Any], steps: int) -> None:
        """Steps all environments and adds the transitions.

        It goes on after the transitions that were added last, if nothing was done by hand since,
        else from the present observations.

        Args:
            policy: a function of observations (n, *shape) that returns actions (n, *action shape).
            steps: 1 or more.

        Raises:
            NotResetError: the environments were never reset.
            EnvError: environments failed; the steps before are there.
            Exception: as of `step`, or of the policy.
        """
        check_count("steps", steps, 1)
        seen = self._seen if self._is_present() else self.envs._present_observations()
        for _ in range(steps):
            actions = policy(seen)
            result = self.envs.step(actions)
            self.add(seen, actions, result)
            seen = result[0]

    def _is_present(self) -> bool:
        """Returns whether nothing has happened since the last transitions were added."""
        return self._batches == count_batches(self.envs.pool)

    def add(self, observations: Array, actions: Any, result: Any) -> None:
        """Adds a transition of each environment.

        Args:
            observations: (n, *shape) of the space's dtype, before the step. If they are the array
                that the step before has returned, their frames are there already.
            actions: (n, *action shape), of any dtype, the same each time.
            result: what `step` has just returned.

        Raises:
            TypeError: result is no such tuple.
            ValueError: arrays have other shapes or dtypes.
            StateError: result is not of the last step.
            MemoryError: observations share no frames, and there is not so much memory for whole
                ones.
        """
        if not isinstance(result, tuple) or len(result) != 5:
            raise TypeError(f"result is {a_type(result)}: give what step() has returned")
        following, rewards, terminated, truncated, infos = result
        elapsed = last_batch(self.envs.pool)[self._elapsed]
        if len(elapsed) != self.envs.num_envs:
            raise StateError("the last results are of a part of the environments")
        actions = np.asarray(actions)
        self._check_actions(actions)
        self._make_room()
        row = self._end % self._rows
        if observations is not self._seen:
            self._seen_places, _ = self._put_all(observations)
        if self._end - self._first == self._rows:
            self._drop_row()
        self._places[row] = self._seen_places
        self._counts[row] = self._recent[0]
        finals = self._put_finals(infos.get("final_obs"))
        is_real = elapsed != 0
        num_real = int(is_real.sum())
        self._seen_places, stored = self._put_all(following)
        self._seen = following
        self._note_shared(stored, num_real - len(finals))
        self._next_places[row] = self._seen_places
        for env_id, places in finals:
            self._next_places[row, env_id] = places
        if self._actions is None:
            self._actions = np.zeros((self._rows, *actions.shape), actions.dtype)
        self._actions[row] = actions
        self._rewards[row], self._terminated[row] = rewards, terminated
        self._truncated[row], self._is_real[row] = truncated, is_real
        self._batches = count_batches(self.envs.pool)
        self._end += 1
        self._num_real += num_real
        self._expire()

    def _check_actions(self, actions: Array) -> None:
        """Refuses actions that are not like the first ones."""
        if self._actions is None:
            return
        shape, dtype = self._actions.shape[1:], self._actions.dtype
        fits = actions.dtype == dtype or np.can_cast(actions.dtype, dtype)
        if actions.shape != shape or not fits:
            raise ValueError(f"actions of {actions.dtype} {actions.shape}: give {dtype} {shape}")

    def _put_all(self, stacks: Array) -> tuple[Array, int]:
        """Stores a stack of each environment; returns the places of their frames, and how many
        frames were stored."""
        count = self._log.count
        places = self._log.put(stacks)
        stored = self._log.count - count
        # older frames are needed for as many steps as a stack has frames, or not at all
        is_whole = stored == places.size
        self._recent = [count] * len(self._recent) if is_whole else [*self._recent[1:], count]
        return places, stored

    def _note_shared(self, frames: int, continued: int) -> None:
        """Notes how many frames were stored for what followed a step, in so many environments in
        whose episodes it did."""
        count, stack = len(self._seen_places), self._log.stack
        if stack > 1:
            whole = (frames - count) // (stack - 1)
            self._unshared += 2 * max(0, whole - (count - continued)) - continued

    def _make_room(self) -> None:
        """Takes memory for whole observations if most share no frames with those before."""
        if self._unshared <= 0:
            return
        room = len(self._log.frames)
        if self._log.count > room or room >= self._whole_room:
            return
        try:
            self._log.grow(self._whole_room)
        except MemoryError as error:
            raise MemoryError(
                f"observations share no frames with those before, so all are stored whole: {error},"
                " or stacks of frames as observations"
            ) from None

    def _put_finals(self, final: Array | None) -> list[tuple[int, Array]]:
        """Stores the last observations of the episodes that have ended (SAME_STEP)."""
        ended = [] if final is None else [i for i, one in enumerate(final) if one is not None]
        if final is None or not ended:
            return []
        stacks = np.stack([final[i] for i in ended])
        return list(zip(ended, self._log.put(stacks, np.array(ended)), strict=True))

    def _expire(self) -> None:
        """Drops rows of which a frame was overwritten."""
        oldest = self._log.count - len(self._log.frames)
        while self._first < self._end and self._counts[self._first % self._rows] < oldest:
            self._drop_row()

    def _drop_row(self) -> None:
        self._num_real -= int(self._is_real[self._first % self._rows].sum())
        self._first += 1

    def sample(self, batch_size: int) -> Transitions:
        """Draws transitions, each with the same probability, with replacement.

        Args:
            batch_size: how many.

        Raises:
            TypeError, ValueError: batch_size is no integer, or less than 1.
            StateError: there are none.
        """
        count = check_count("batch_size", batch_size, 1)
        if not self._num_real:
            raise StateError("there are no transitions to draw: collect some first")
        times, env_ids = self._draw(count)
        assert self._actions is not None
        out = self._free_output(count)
        self._log.gather_pairs(self._places[times, env_ids], self._next_places[times, env_ids], out)
        return Transitions(
            observations=out[0],
            actions=self._actions[times, env_ids],
            rewards=self._rewards[times, env_ids],
            next_observations=out[1],
            terminations=self._terminated[times, env_ids],
            truncations=self._truncated[times, env_ids],
        )

    def _free_output(self, count: int) -> Array:
        """Returns memory for the stacks of a sample, of which nobody holds an array.

        The first touch of fresh memory takes longer than the copy.
        """
        shape = (2, count, self._log.stack, *self._log.frames.shape[1:])
        for output in self._outputs:
            if output.owner.shape == shape and output.is_free():
                return output.owner.view()
        made = Held(np.empty(shape, self._log.frames.dtype))
        made.settle()
        self._outputs = [*self._outputs[1 - MAX_OUTPUTS :], made]
        return made.owner.view()

    def _draw(self, count: int) -> tuple[Array, Array]:
        """Returns rows and environments of transitions; draws again in place of resets."""
        times, env_ids = np.empty(0, np.int64), np.empty(0, np.int64)
        while len(times) < count:
            size = count - len(times)
            rows = self._random.integers(self._first, self._end, size) % self._rows
            ids = self._random.integers(0, self.envs.num_envs, size)
            real = self._is_real[rows, ids]
            times = np.concatenate([times, rows[real]])
            env_ids = np.concatenate([env_ids, ids[real]])
        return times, env_ids
