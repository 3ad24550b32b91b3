"""LocalLane: steps the environments of a pool in its own process, in the thread that sends.

A pool with num_workers=0 has one, in place of worker processes and their supervisor. It takes turns
and delivers rows as the worker of an only lane does, through a mapping of its own of the pool's
memory.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.info_copies import copied
from parallel_pool._workers.data.info_dicts import InfoDicts
from parallel_pool._workers.data.info_table import InfoTable
from parallel_pool._workers.data.local_infos import LocalInfos
from parallel_pool._workers.data.messages import FINAL_INFO, INFO, INFOS, Description, Reply
from parallel_pool._workers.run.env_runner import ENDED, EnvRunner
from parallel_pool._workers.run.make_env import Distinct, make_env
from parallel_pool._workers.run.worker import get_spaces
from parallel_pool._workers.start import address_space
from parallel_pool._workers.start.connection import by_reference
from parallel_pool._workers.watch.failures import Death
from parallel_pool.errors import BusyError

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._workers.data.info_records import Info, Single
    from parallel_pool._workers.data.messages import Assignment
    from parallel_pool._workers.watch.supervisor import Activity

# in the pool's memory, in place of a reply that this process keeps; other replies begin otherwise
REPLY_IS_KEPT = b"\1"


class LocalLane(EnvRunner):
    """The environments of a pool without worker processes; has the methods of `Lanes`.

    Attributes:
        deaths, lost, seeds: empty, as no worker can die.
        timer: None, as nothing can end a step that takes too long.
        whole_infos: of the last work, as `Replies.whole_infos` returns them.
    """

    def __init__(
        self,
        handle: CData,
        envs: list[Any],
        env_fns: Sequence[Callable[[], Any]],
        assignment: Assignment,
    ) -> None:
        """Maps the memory of the pool `handle`."""
        memory = lib.pp_pool_memory_fd(handle), lib.pp_pool_reply_fd(handle, 0)
        super().__init__(envs, env_fns, assignment, by_reference, *memory)
        # unmapped with this object, whose arrays refer to it
        self._worker = ffi.gc(self._worker, lib.pp_worker_close)
        self.deaths: dict[int, Death] = {}
        self.lost: dict[int, str] = {}
        self.seeds: dict[int, int] = {}
        self.timer = None
        self.whole_infos: Info | None = None
        self._table: InfoTable | None = None
        # replies that need not be copied to the pool's memory, by environment
        self._replies: dict[int, Reply] = {}
        # one thread at a time works: `_owner`, 0 for none
        self._lock = threading.Lock()
        self._owner = 0
        self._is_closed = False

    def serve(self) -> None:
        """Does what was sent: steps, resets, or a request.

        Raises:
            BusyError: an environment calls its own pool.
            KeyboardInterrupt: Ctrl-C ended a step or a call; turns that were not delivered fail.
        """
        self.check_owner()
        here = threading.get_ident()
        try:
            with self._lock:
                self._owner = here
                self.whole_infos = None
                try:
                    self._give_up_turns()
                    count = lib.pp_worker_take(self._worker, 0)
                    if count >= 0:
                        self.work(count)
                except BaseException as error:
                    self._give_up_request(error)
                    raise
                finally:
                    self._owner = 0
        finally:
            if self._is_closed:
                self._close_envs()

    @property
    def is_working(self) -> bool:
        """Whether a thread is stepping the environments."""
        return self._owner != 0

    def check_owner(self) -> None:
        """Raises BusyError if an environment calls its own pool."""
        if self._owner == threading.get_ident():
            raise BusyError("an environment is using the pool that steps it: use another one")

    def _give_up_turns(self) -> None:
        """Lets all turns fail that were taken and, because of an exception, not delivered."""
        turns = self._turns
        for turn in range(turns.delivered, turns.count):
            error = KeyboardInterrupt("Ctrl-C ended the step of this pool's environments")
            super()._fail_turn(turn, self._env_ids[turn] - self._first, error)
            lib.pp_worker_deliver(self._worker, turn, 1)
        self._current[0] = -1

    def _give_up_request(self, error: BaseException) -> None:
        if lib.pp_worker_request(self._worker, ffi.new("int64_t *")):
            raw = super()._failed_answer(error)
            lib.pp_worker_answer(self._worker, raw, len(raw), self._error)

    def _failed_answer(self, error: BaseException) -> bytes:
        if isinstance(error, KeyboardInterrupt):
            raise error
        return super()._failed_answer(error)

    def _recover(
        self, turn: int, i: int, error: BaseException, arguments: dict[str, Any] | None = None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        super()._recover(turn, i, error, arguments)

    def _fail_turn(self, turn: int, i: int, error: BaseException, phase: int = ENDED) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        super()._fail_turn(turn, i, error, phase)

    # -------------------------------------------------------------------------------- replies --

    def reply_of(self, env_id: int) -> Reply:
        """Returns the reply for which the pool's memory has `REPLY_IS_KEPT`."""
        return self._replies[env_id]

    def _reply_infos(self, infos: Sequence[Single]) -> None:
        found: Any = None
        # what is wrong with the infos of one environment is reported when they are taken singly
        with contextlib.suppress(Exception):
            if len(infos) == len(self._envs):
                # among other replies, infos of each environment would have to be in their place
                found = self._whole_rows(infos) or InfoDicts.of(infos)
            else:
                found = LocalInfos.of(infos, self._info_packer)
        if found is None:
            self._reply_singly(infos)
        else:
            self._keep(infos[0][0] - self._first, {INFOS: found})

    def _whole_rows(self, infos: Sequence[Single]) -> LocalInfos | None:
        """Returns the infos of all environments; None if they are not alike."""
        dicts = [info for _, info in infos]
        layout = self._info_packer.common_layout(dicts)
        if layout is None:
            return None
        if not InfoTable.is_fit(layout):
            return LocalInfos.of(infos, self._info_packer)
        if self._table is None or self._table.layout is not layout:
            self._table = InfoTable(layout, len(infos))
        try:
            self._table.write(dicts)
        except OverflowError:
            return None
        self.whole_infos = whole = self._table.infos()
        env_ids = tuple([env_id for env_id, _ in infos])
        return LocalInfos(env_ids, layout, [whole[key] for key in layout.keys])

    def _reply(self, turn: int, reply: Reply) -> None:
        # observations are copied, as the environment may write to them
        if not reply.keys() <= {INFO, FINAL_INFO}:
            super()._reply(turn, reply)
            return
        self._check_infos(reply)
        self._keep(turn, {key: copied(dict(info)) for key, info in reply.items()})

    def _keep(self, turn: int, reply: Reply) -> None:
        self._replies[self._env_ids[turn]] = reply
        self._reply_bytes(turn, REPLY_IS_KEPT)

    # ------------------------------------------------------------------------ as a supervisor --

    def pid_of(self, lane: int) -> int:
        """Returns the id of this process."""
        return os.getpid()

    def activities(self) -> list[Activity]:
        """Returns what is being stepped; nothing, as the caller never waits for it."""
        return []

    def describe(self, activity: Activity) -> str:
        """Returns words for an activity."""
        return f"environment {activity[1]} (this process)"

    def note_interrupt(self) -> None:
        """Does nothing: there is no worker to end."""

    def close(self, *, grace: float | None = None) -> None:
        """Closes the environments, as soon as the thread that steps them returns."""
        self._is_closed = True
        self._close_envs()

    def close_in_thread(self) -> None:
        """Closes the environments of a pool that was deleted, in this thread."""
        self.close()

    def _close_envs(self) -> None:
        # if the lock is taken, its holder closes the environments when it is done
        if self._owner != threading.get_ident() and self._lock.acquire(blocking=False):
            try:
                close_all(self._envs)
            finally:
                self._lock.release()


def close_all(envs: list[Any]) -> None:
    """Closes environments and removes them from the list."""
    while envs:
        # whatever one of them raises, the others must be closed too
        with contextlib.suppress(Exception):
            envs.pop().close()


def make(env_fns: Sequence[Callable[[], Any]], envs: list[Any]) -> Description:
    """Makes environments and returns what the pool needs to know of them.

    Args:
        env_fns: functions that make them.
        envs: gets them, one by one.

    Raises:
        TypeError: one of them is no environment.
        ValueError: two of them are one.
        Exception: what a function raised.
    """
    distinct = Distinct(0)
    try:
        for function in env_fns:
            env = make_env(function)
            get_spaces(env)
            distinct.add(env)
            envs.append(env)
    except Exception as error:
        error.add_note(f"environment {len(envs)} can't be made")
        raise
    first = envs[0]
    left = address_space.remaining()
    return Description(
        [env.observation_space for env in envs],
        [env.action_space for env in envs],
        dict(getattr(first, "metadata", None) or {}),
        getattr(first, "render_mode", None),
        getattr(first, "spec", None),
        # the other half is for the pool's own mapping
        None if left is None else left // 2,
    )
