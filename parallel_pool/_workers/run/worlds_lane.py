"""WorldsLane: steps environments that are stepped together, in the thread that sends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.messages import FAILURE, Failure
from parallel_pool._workers.data.spaces import fixed_leaves
from parallel_pool._workers.run.env_runner import ENDED, RUNNING, deliver, mark
from parallel_pool._workers.run.local_lane import LocalLane
from parallel_pool._workers.watch.failures import MAX_LISTED

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array
    from parallel_pool._workers.data.messages import Assignment
    from parallel_pool._workers.run.worlds import Worlds

    Infos = dict[str, Array]

# the kind of a failure that has no exception
NO_EXCEPTION = "failed"


@dataclass(frozen=True)
class Resets:
    """Payload of the first of the resets that were sent together.

    Attributes:
        count: of the resets.
        seeds: one for each; None for none.
        mask: bool (count,): those with False are no resets, and repeat the last row; None: all are.
    """

    count: int
    seeds: list[int | None] | None
    mask: Array | None


class WorldsLane(LocalLane):
    """The environments of a `WorldsPool`.

    Where a `LocalLane` calls each environment, this one does all of them with a few operations on
    whole arrays.

    Attributes:
        is_begun: whether all environments were reset.
        infos: of the last turns, arrays (n, ...).
        final_infos: with SAME_STEP, those of the steps that ended episodes in the last turns.
        info_rows: bool (n,), the environments that `infos` are of.
    """

    def __init__(
        self, handle: CData, envs: list[Any], worlds: Worlds, assignment: Assignment
    ) -> None:
        """Maps the memory of the pool `handle`; envs: an object for each environment."""
        super().__init__(handle, envs, (), assignment)
        self._worlds = worlds
        count = len(envs)
        (leaf,) = fixed_leaves(self._assignment.action_space)
        size = ffi.new("int64_t *")
        records = ffi.buffer(lib.pp_worker_actions(self._worker, size), leaf.nbytes * count)
        self._records: Array = np.frombuffer(memoryview(records), leaf.dtype)
        self._records = self._records.reshape(count, *leaf.shape)
        # it is the pool's memory, and tasks get it
        self._records.flags.writeable = False
        # the memory of `_rewards` and others
        arrays = (self._rewards, self._terminated, self._truncated, self._kinds, self._failed)
        self._reward_row, self._terminated_row, self._truncated_row, self._kind_row, self._fail = (
            np.asarray(each) for each in arrays
        )
        self._phases: Any = np.full(count, ENDED, np.int8)
        self._all: Array = np.arange(count)
        # which were reset
        self._begun: Array = np.zeros(count, np.bool_)
        self.is_begun = False
        self.infos: Infos = {}
        self.final_infos: Infos = {}
        self.info_rows: Array = np.zeros(count, np.bool_)

    def _cache_steps(self) -> None:
        self._steps = []

    @property
    def ended(self) -> Array:
        """Which environments have to begin an episode, a new bool array (n,)."""
        ended: Array = self._phases != RUNNING
        return ended

    # --------------------------------------------------------------------------------- turns --

    def work(self, count: int) -> None:
        """Does the turns that were taken; answers a request if there are none."""
        if not count:
            self._answer_request()
            return
        self.infos, self.final_infos = {}, {}
        try:
            if self._turns.is_plain_step:
                self._step_all(count)
            else:
                self._take_turns(count)
        except Exception as error:
            # what a user's function raises concerns all environments
            self._fail_all(count, Failure.of(error, self._dumps))
        mark(self._worker, 0, count)
        deliver(self._worker, 0, count)

    def _step_all(self, count: int) -> None:
        """Steps all environments whose episode goes on; the others begin one."""
        waiting = self.ended
        step = self._worlds.step(self._records, ~waiting)
        ended = step.terminated | step.truncated
        ended &= ~waiting
        failed = dict(step.failed)
        np.copyto(self._reward_row, step.rewards)
        np.copyto(self._terminated_row, step.terminated & ~waiting, casting="unsafe")
        np.copyto(self._truncated_row, step.truncated & ~waiting, casting="unsafe")
        self._phases[ended] = ENDED
        begins = waiting
        arrays, finals = self._block(self._blocks[0])
        if self._same_step:
            if ended.any():
                self.final_infos = self._worlds.infos()
                for final, leaf in zip(finals, self._worlds.observe(), strict=True):
                    final[ended] = leaf[ended]
            self._kind_row[ended] = lib.PP_TURN_END
            begins = ended | waiting
        failed |= self._begin(np.flatnonzero(begins))
        self._reward_row[waiting] = 0.0
        self._kind_row[waiting] = lib.PP_TURN_RESET
        for array, leaf in zip(arrays, self._worlds.observe(), strict=True):
            np.copyto(array, leaf)
        self.infos = self._worlds.infos()
        self.info_rows = np.ones(count, np.bool_)
        for env_id, text in failed.items():
            self._fail_one(env_id, env_id, text)

    def _begin(
        self, env_ids: Array, seeds: Sequence[int | None] | None = None
    ) -> Mapping[int, str]:
        """Begins episodes; returns why environments failed."""
        if not env_ids.size:
            return {}
        # if it raises, their next step does it again
        self._phases[env_ids] = ENDED
        failed = self._worlds.reset(env_ids, seeds or [None] * env_ids.size)
        self._phases[env_ids] = RUNNING
        return failed

    def _take_turns(self, count: int) -> None:
        """Does resets of some environments; the rows of others repeat their observation."""
        turns, seeds = self._resets(count)
        env_ids = np.asarray(self._env_ids)[:count].astype(np.int64)
        order = np.argsort(env_ids[turns])
        named = env_ids[turns][order]
        failed = self._begin(named, [seeds[turn] for turn in order.tolist()])
        self._begun[named] = True
        self.is_begun = bool(self._begun.all())
        arrays, _ = self._block(self._blocks[0])
        rows = np.asarray(self._rows)[:count]
        for array, leaf in zip(arrays, self._worlds.observe(), strict=True):
            array[rows] = leaf[env_ids]
        self.infos = self._worlds.infos()
        self.info_rows = np.zeros(len(self._envs), np.bool_)
        self.info_rows[named] = True
        self._reward_row[:count] = 0.0
        self._kind_row[:count] = lib.PP_TURN_REPEAT
        self._kind_row[turns] = lib.PP_TURN_RESET
        for turn in range(count) if failed else ():
            if env_ids[turn] in failed:
                self._fail_one(turn, int(env_ids[turn]), failed[int(env_ids[turn])])

    def _resets(self, count: int) -> tuple[Array, list[int | None]]:
        """Returns the turns that are resets, and a seed for each of them.

        Raises:
            TypeError: others are none, which a `WorldsPool` does not send.
        """
        turns: list[int] = []
        seeds: list[int | None] = []
        first = 0
        while first < count:
            given = self._payload(first)
            if not isinstance(given, Resets):
                raise TypeError("these environments are stepped together: send all their actions")
            named = (
                range(given.count) if given.mask is None else np.flatnonzero(given.mask).tolist()
            )
            turns += [first + i for i in named]
            seeds += [None if given.seeds is None else given.seeds[i] for i in named]
            first += given.count
        return np.array(turns, np.int64), seeds

    # ------------------------------------------------------------------------------- failures --

    def _fail_one(self, turn: int, env_id: int, text: str) -> None:
        """Marks a turn as failed, for a reason that is no exception."""
        self._phases[env_id] = ENDED
        self._reply_with(turn, Failure(NO_EXCEPTION, text, "", pid=os.getpid()))

    def _fail_all(self, count: int, failure: Failure) -> None:
        """Marks all turns as failed; the first ones have the reason."""
        self._phases[np.asarray(self._env_ids)[:count]] = ENDED
        self._terminated_row[:count] = self._truncated_row[:count] = 0
        for turn in range(min(count, MAX_LISTED)):
            self._reply_with(turn, failure)
        self._fail[:count] = 1

    def _reply_with(self, turn: int, failure: Failure) -> None:
        self._terminated_row[turn] = self._truncated_row[turn] = 0
        self._reply(turn, {FAILURE: failure})
        self._fail[turn] = 1

    # ------------------------------------------------------------------------------ snapshots --

    def get_states(self, env_ids: Sequence[int]) -> list[bytes]:
        """Returns a snapshot of each of these environments."""
        with self._lock:
            return [
                bytes([self._phases[env_id]]) + self._worlds.get_state(env_id) for env_id in env_ids
            ]

    def set_states(self, env_ids: Sequence[int], states: Sequence[bytes]) -> None:
        """Restores snapshots; if one of them is wrong nothing changes."""
        with self._lock:
            for state in states:
                if not state or state[0] not in (RUNNING, ENDED):
                    raise ValueError("a state is damaged: give what get_state has returned")
                self._worlds.check_state(state[1:])
            self._worlds.set_states(env_ids, [state[1:] for state in states])
            self._phases[list(env_ids)] = [state[0] for state in states]
            self._begun[list(env_ids)] = True
            self.is_begun = bool(self._begun.all())
