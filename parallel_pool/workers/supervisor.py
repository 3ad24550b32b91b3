"""Supervisor: the worker processes of one pool, from their first turn to their end or death."""

from __future__ import annotations

import _thread
import atexit
import os
import threading
import time
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parallel_pool import seeds
from parallel_pool._native import ffi, lib, new_error
from parallel_pool.errors import ClosedError, SlowWorkerWarning, WorkerError
from parallel_pool.workers import startup, wait_warnings
from parallel_pool.workers.deadline import Deadline
from parallel_pool.workers.failures import Death
from parallel_pool.workers.messages import SEED_BITS, TRIES, Assignment, Restart
from parallel_pool.workers.startup import BURIAL, Share
from parallel_pool.workers.timer import Timer
from parallel_pool.workers.watch import Watcher

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool.workers.launch import Worker

# seconds before the second of them, each pause twice as long as the one before
PAUSE = 0.1
# seconds for workers to end by themselves; after so many of these it is said who does not, and
# those that are where Ctrl-C has found them are killed
GRACE, NOTICE = 5.0, 1.0
# shares of its limit after which a turn is looked at again, and seconds that are always short and
# long enough for that
LOOKS, SHORTEST, LONGEST = 4, 0.005, 1.0


# a lane, the environment that is stepped there (-1: none), and the turns taken so far
AtWork = tuple[int, int, int]


class Supervisor:
    """The seated workers of a pool. A forked child's does nothing.

    Attributes:
        deaths: by lane; how its last worker died.
        lost: by lane; why it has no worker any more and gets none.
        seeds: by environment; with which those of a restarted worker begin.
        clock: looks after turns that take too long; None without timeout.
    """

    def __init__(
        self,
        handle: CData,
        workers: list[Worker],
        shares: Sequence[Share],
        seatings: Sequence[Assignment],
        *,
        method: str | None,
        restarts: bool,
        repeats: bool,
        timeout: float | None,
        start_timeout: float | None,
        limit: Deadline,
    ) -> None:
        """Gives every worker its seat and waits until all sit.

        Args:
            handle: the pool.
            workers: in order of their lanes, with their environments made.
            shares, seatings: of each.
            method: how they were started.
            restarts: a worker that died is followed by another.
            repeats: what it had in flight repeats what it showed last; else the next one sees to
                it (SAME_STEP, where rows show the next episode).
            timeout: seconds that a step or reset may take.
            start_timeout: seconds that a later worker may take until it sits.
            limit: of these.

        Raises:
            PoolError: a worker can't sit down.
            WorkerError: a worker died, or takes too long.
        """
        self._handle = handle
        self._workers: list[Worker | None] = list(workers)
        self._shares = shares
        self._seatings = seatings
        self._method = method
        self._restarts = restarts
        self._repeats = repeats
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._pid = os.getpid()
        # a signal's handler may close the pool, whatever this thread is about
        self._lock = threading.RLock()
        self._is_closed = False
        # by lane: who makes environments to follow a dead worker, until when, and the threads that
        # see to it
        self._starting: dict[int, Worker] = {}
        self._limits: dict[int, Deadline] = {}
        self._starters: dict[int, threading.Thread] = {}
        # by lane: restarts in a row without a step, turns taken and steps brought (by environment)
        # when the last worker died, and what its successor was told
        self._tries: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._steps: dict[int, list[int]] = {}
        self._told: dict[int, Restart] = {}
        # by lane: environment and turns taken, and for how many seconds these have been the same
        self._seen: dict[int, tuple[int, int, float]] = {}
        self._looked = 0.0
        # by lane: environment and turns taken when Ctrl-C ended the wait for it
        self._interrupted: dict[int, tuple[int, int]] = {}
        # by process id: why this killed it
        self._reasons: dict[int, str] = {}
        self.deaths: dict[int, Death] = {}
        self.lost: dict[int, str] = {}
        self.seeds: dict[int, int] = {}
        self.clock: Timer | None = None
        self._watcher = Watcher()
        try:
            startup.seat(workers, shares, seatings, self._memory, limit)
            with self._lock:
                for lane, worker in enumerate(workers):
                    self._watch(lane, worker)
            if timeout is not None:
                self.clock = Timer(self._look)
            _crews.add(self)
        except BaseException:
            self.close(grace=0.0)
            raise

    def _memory(self, lane: int) -> list[int]:
        return [lib.pp_pool_memory_fd(self._handle), lib.pp_pool_reply_fd(self._handle, lane)]

    def _watch(self, lane: int, worker: Worker) -> None:
        # the thread must not keep a supervisor alive whose pool was dropped
        supervisor = weakref.ref(self)

        def on_death(worker: Worker) -> None:
            there = supervisor()
            if there is not None:
                there._on_death(lane, worker)

        self._watcher.watch(worker, on_death)

    # -------------------------------------------------------------------------------- deaths --

    def _on_death(self, lane: int, worker: Worker) -> None:
        """What follows the death of a worker; in the watcher's thread."""
        with self._lock:
            # who starts one sees to it until it sits
            if self._is_closed or self._starting.get(lane) is worker:
                return
            try:
                if self._bury_locked(lane, worker):
                    self._start_locked(lane)
            except Exception as error:  # no memory, too many threads: the caller must not wait
                self._give_up_locked(lane, error)

    def _bury_locked(self, lane: int, worker: Worker) -> bool:
        """Settles what a dead worker had in flight; says whether another is to come."""
        share = self._shares[lane]
        current = lib.pp_pool_current_env(self._handle, lane)
        turns = lib.pp_pool_taken_turns(self._handle, lane) - self._turns.get(lane, 0)
        told = self._told.get(lane)
        self._tries[lane] = 1 if self._has_stepped(lane, current) else self._tries.get(lane, 0) + 1
        self.deaths[lane] = Death(
            worker.pid,
            worker.exitcode,
            None if current < 0 else current,
            self._reasons.pop(worker.pid, ""),
        )
        self._workers[lane] = None
        worker.close()
        if not self._restarts or self._tries[lane] > TRIES:
            self._give_up_locked(lane)
            return False
        if told is None or turns:
            fresh = [seeds.entropy(SEED_BITS) for _ in share.env_ids]
            told = Restart(fresh, [True] * len(share.env_ids))
            self.seeds.update(zip(share.env_ids, told.seeds, strict=True))
        settled = self._settle(lane, lib.PP_DEATH_REPEAT if self._repeats else lib.PP_DEATH_REQUEUE)
        owed = zip(share.env_ids, told.owed, strict=True)
        # their rows tell of it
        self._told[lane] = replace(told, owed=[own and i not in settled for i, own in owed])
        self._turns[lane] = lib.pp_pool_taken_turns(self._handle, lane)
        return True

    def _has_stepped(self, lane: int, current: int) -> bool:
        """Says whether a worker that just died has brought a step of the environment that it was
        at, or of any if it was at none."""
        env_ids = self._shares[lane].env_ids
        before = self._steps.get(lane, [0] * len(env_ids))
        self._steps[lane] = [lib.pp_pool_delivered_steps(self._handle, i) for i in env_ids]
        if current >= 0:
            at = current - env_ids[0]
            return self._steps[lane][at] != before[at]
        return self._steps[lane] != before

    def _settle(self, lane: int, how: int) -> set[int]:
        """Has C write the rows of those in flight; returns which they were."""
        settled = ffi.new("int32_t[]", len(self._shares[lane].env_ids))
        # closed meanwhile: nobody waits for them
        count = max(0, lib.pp_pool_worker_died(self._handle, lane, how, settled, new_error()))
        return set(settled[0:count])

    def _give_up_locked(self, lane: int, error: BaseException | None = None) -> None:
        """A lane that gets no worker any more: all that it has in flight fails."""
        death = self.deaths[lane]
        if self._restarts:
            why = f": {type(error).__name__}: {error}" if error is not None else ""
            tries = self._tries[lane] - 1
            vain = "no other could be started"
            if tries > 0:
                vain = f"{tries} restart{'s' * (tries > 1)} in a row brought no step"
                why = why and f", the last because of{why[1:]}"
            death = replace(death, reason=f"{death}, and {vain}{why}")
        self.deaths[lane] = death
        self.lost[lane] = str(death)
        self._settle(lane, lib.PP_DEATH_FAIL)

    # ------------------------------------------------------------------------------ restarts --

    def _start_locked(self, lane: int) -> None:
        """Begins to put another worker into the seat of a dead one."""
        thread = threading.Thread(target=self._fill, args=(lane,), name="pp-restart", daemon=True)
        self._starters[lane] = thread
        try:
            thread.start()
        except RuntimeError:
            del self._starters[lane]
            raise

    def _fill(self, lane: int) -> None:
        """Tries until a worker sits, the lane is given up, or all is over."""
        while True:
            self._pause(lane)
            error = self._try(lane)
            with self._lock:
                is_over = error is None or self._is_closed or lane in self.lost
                if not is_over and self._tries[lane] > TRIES:
                    self._give_up_locked(lane, error)
                    is_over = True
                if is_over:
                    # another may have begun, if the worker that sits has died since
                    if self._starters.get(lane) is threading.current_thread():
                        del self._starters[lane]
                    return

    def _pause(self, lane: int) -> None:
        """Gives whatever keeps workers from starting some time to pass."""
        tries = self._tries[lane]
        end = time.monotonic() + (PAUSE * 2.0 ** (tries - 2) if tries > 1 else 0.0)
        while not self._is_closed and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, PAUSE / 4))

    def _try(self, lane: int) -> BaseException | None:
        """Starts a worker and seats it; returns what was in the way."""
        share, limit = self._shares[lane], Deadline(self._start_timeout)
        workers: list[Worker] = []
        try:
            with self._lock:
                # before the look: close ends those that it finds here
                self._limits[lane] = limit
                self._check_open()
            workers = startup.start([share], self._method, limit)
            with self._lock:
                # before the look: close kills those that it finds here
                self._starting[lane] = workers[0]
                self._check_open()
            startup.hear_ready(workers, [share], limit)
            with self._lock:
                self._check_open()
                self._watch(lane, workers[0])
                self._workers[lane] = workers[0]
            assignment = replace(self._seatings[lane], restart=self._told[lane])
            startup.seat(workers, [share], [assignment], self._memory, limit)
            with self._lock:
                # the watcher has left it to this thread so far
                if workers[0].exitcode is None:
                    del self._starting[lane]
                    return None
            raise WorkerError(str(Death(workers[0].pid, workers[0].exitcode)), share.env_ids, ())
        except BaseException as error:
            self._undo(lane, workers, error)
            return error

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the pool is closed")

    def _undo(self, lane: int, workers: list[Worker], error: BaseException) -> None:
        """Ends a worker that could not be seated, and counts it."""
        # dead before anything that it may have taken is settled
        startup.dismiss(workers)
        with self._lock:
            self._starting.pop(lane, None)
            if self._is_closed:
                return
            if workers and self._workers[lane] is workers[0]:
                self._reasons.setdefault(workers[0].pid, str(error))
                self._bury_locked(lane, workers[0])
            else:
                self._tries[lane] += 1

    # ------------------------------------------------------------------------------ patience --

    def _look(self) -> float | None:
        """Kills workers that are at one turn for too long; in the clock's thread.

        Returns:
            Seconds until it must look again, None: nothing is in flight.
        """
        timeout = self._timeout
        assert timeout is not None
        pause = min(max(timeout / LOOKS, SHORTEST), LONGEST)
        with self._lock:
            if self._is_closed or not lib.pp_pool_in_flight(self._handle):
                self._seen.clear()
                return None
            # Time in which this process did not run, stopped by Ctrl-Z or out of turn, is nobody's
            # fault: workers may have been stopped with it.
            now = time.monotonic()
            passed, self._looked = min(now - self._looked, 2 * pause), now
            for lane, worker in enumerate(self._workers):
                if worker is not None and lane not in self._starting:
                    self._look_at(lane, worker, passed, timeout)
        return pause

    def _look_at(self, lane: int, worker: Worker, passed: float, timeout: float) -> None:
        turn = self._turn_of(lane)
        current = turn[0]
        if current < 0 and not lib.pp_pool_waiting_turns(self._handle, lane):
            self._seen.pop(lane, None)
            return
        *seen, age = self._seen.get(lane, (*turn, -passed))
        age = age + passed if tuple(seen) == turn else 0.0
        self._seen[lane] = (*turn, age)
        if age <= timeout:
            return
        del self._seen[lane]
        limit = f"longer than timeout={timeout} s"
        self._reasons[worker.pid] = (
            f"environment {current} took {limit}, and its worker process {worker.pid} was killed"
            if current >= 0
            else f"worker process {worker.pid} took {limit} to take up its turns, and was killed"
        )
        worker.kill()

    # ------------------------------------------------------------------------------- at work --

    def pid_of(self, lane: int) -> int | None:
        """Returns the process id of a lane's worker, None while there is none."""
        worker = self._workers[lane]
        return None if worker is None else worker.pid

    def at_work(self) -> list[AtWork]:
        """Returns what workers are at; `describe` says it in words."""
        found = []
        for lane in range(len(self._workers)):
            current, turns = self._turn_of(lane)
            if current >= 0 or lib.pp_pool_waiting_turns(self._handle, lane):
                found.append((lane, current, turns))
        return found

    def describe(self, at: AtWork) -> str:
        """Says what a worker is at."""
        return self._describe(*at[:2])

    def _turn_of(self, lane: int) -> tuple[int, int]:
        """Which environment a worker is stepping, -1 for none, and how many turns it has taken."""
        current = lib.pp_pool_current_env(self._handle, lane)
        return current, lib.pp_pool_taken_turns(self._handle, lane)

    def _describe(self, lane: int, current: int) -> str:
        pid = self.pid_of(lane)
        process = "the next worker process" if pid is None else f"worker process {pid}"
        if current < 0:
            return f"{process} to take up its turns"
        is_reset = lib.pp_pool_command(self._handle, current) == lib.PP_COMMAND_RESET
        return f"environment {current} in {'reset' if is_reset else 'step'} ({process})"

    def note_interrupt(self) -> None:
        """Notes who is at what when Ctrl-C ends the wait for it."""
        turns = {lane: self._turn_of(lane) for lane in range(len(self._workers))}
        self._interrupted = {lane: turn for lane, turn in turns.items() if turn[0] >= 0}

    # ---------------------------------------------------------------------------------- end --

    def close(self, *, grace: float | None = GRACE) -> None:
        """Ends the workers: those that do not by themselves within the grace are killed, and sooner
        those that have not left the step or reset in which Ctrl-C has found them.

        All of them end, whatever interrupts this.

        Warns:
            SlowWorkerWarning: some do not end at once.
        """
        if os.getpid() != self._pid:
            return
        try:
            lib.pp_pool_close(self._handle)
            with self._lock:
                self._is_closed = True
            if self.clock is not None:
                self.clock.close()
            self._watcher.close()
            grace = 0.0 if grace is None else grace
            end = time.monotonic() + grace
            if grace > NOTICE and not self._join_all(time.monotonic() + NOTICE):
                self._hurry(grace - NOTICE)
            self._join_all(end)
        finally:
            self._end()

    def _join_all(self, end: float) -> bool:
        """Waits until `end` (monotonic clock) for all workers to end; says whether they have."""
        there = [worker for worker in self._workers if worker is not None]
        return all(worker.join(max(0.0, end - time.monotonic())) for worker in there)

    def _hurry(self, left: float) -> None:
        """Kills those whom Ctrl-C has found where they are still; says who else is waited for."""
        killed, awaited = [], []
        for lane, worker in enumerate(self._workers):
            if worker is None or worker.exitcode is not None:
                continue
            turn = self._turn_of(lane)
            if self._interrupted.get(lane) == turn:
                worker.kill()
                killed.append(self._describe(lane, turn[0]))
            elif turn[0] >= 0:
                awaited.append(self._describe(lane, turn[0]))
            else:
                awaited.append(f"worker process {worker.pid}, whose environments close")
        told = []
        if killed:
            told.append(f"killed after {NOTICE:.0f} s: {wait_warnings.named(killed)}")
        if awaited:
            told.append(f"to be killed in {left:.0f} s: {wait_warnings.named(awaited)}")
        if told:
            warnings.warn("closing: " + "; ".join(told), SlowWorkerWarning, stacklevel=2)

    def _end(self) -> None:
        with self._lock:
            self._is_closed = True
            starting, starters = list(self._starting.values()), list(self._starters.values())
            for limit in self._limits.values():
                limit.cancel()
        # what is left of them is the starters' to do
        for worker in starting:
            worker.kill()
        startup.dismiss(worker for worker in self._workers if worker is not None)
        for thread in starters:
            thread.join(BURIAL)
        _crews.discard(self)

    def drop(self) -> None:
        """Closes from a thread of its own, for a pool that nobody holds any more.

        The garbage collector may find that out in any thread, which may hold any lock.
        """
        if os.getpid() != self._pid or self not in _crews:
            return
        lib.pp_pool_close(self._handle)
        try:
            _thread.start_new_thread(self.close, ())
        except RuntimeError:  # there are too many
            self.close(grace=0.0)


_crews: weakref.WeakSet[Supervisor] = weakref.WeakSet()


def _close_all() -> None:
    for supervisor in list(_crews):
        supervisor.close()


# no thread can be started then
atexit.register(_close_all)
