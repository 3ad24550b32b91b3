"""Supervisor: watches the worker processes of one pool, restarts dead ones and ends them all."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parallel_pool._engine import seeds
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._native import ffi, lib, new_error
from parallel_pool._workers.data.messages import MAX_RESTARTS, SEED_BITS, Assignment, Restart
from parallel_pool._workers.start import startup
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool._workers.start.launch import KILL_TIMEOUT
from parallel_pool._workers.start.startup import Launcher, Share
from parallel_pool._workers.watch import wait_warnings
from parallel_pool._workers.watch.failures import Death
from parallel_pool._workers.watch.timer import Timer
from parallel_pool._workers.watch.watch import Watcher
from parallel_pool.errors import ClosedError, SlowWorkerWarning, WorkerError

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._workers.start.launch import Worker

# seconds before the second restart in a row; each further pause is twice as long
RESTART_PAUSE = 0.1
# seconds that workers have to end by themselves when the pool closes
GRACE = 5.0
# seconds of GRACE after which a warning names the workers that still run, and those still in the
# step that Ctrl-C interrupted are killed
WARN_AFTER = 1.0
# how often turns are checked within one timeout; fewest and most seconds between two checks
CHECKS_PER_TIMEOUT, MIN_PAUSE, MAX_PAUSE = 4, 0.005, 1.0


# a lane, the environment that its worker is stepping (-1: none), and the turns taken so far
Activity = tuple[int, int, int]


class Supervisor:
    """The worker processes that serve a pool. In a forked child it does nothing.

    The lanes after those of its workers are spare: `adopt` gives them workers that others have
    forked, which are not replaced when they die.

    Attributes:
        deaths: by lane, how its last worker died.
        lost: by lane, why it has no worker any more and gets none.
        seeds: by environment, the seed with which it starts after a restart of its worker.
        timer: checks for turns that take too long; None without a timeout.
        on_vacant: called in the watcher's thread with a spare lane that has no worker any more.
    """

    on_vacant: Callable[[int], None] = staticmethod(lambda lane: None)

    def __init__(
        self,
        handle: CData,
        workers: list[Worker],
        shares: list[Share],
        assignments: Sequence[Assignment],
        *,
        launcher: Launcher,
        on_death: int,
        timeout: float | None,
        start_timeout: float | None,
        deadline: Deadline,
    ) -> None:
        """Assigns every worker to its lane and waits until all are ready.

        Args:
            handle: the pool.
            workers: in order of their lanes, with their environments made.
            shares: of each, and of each spare lane.
            assignments: of each.
            launcher: that started them, and starts those that replace them.
            on_death: a pp_on_death; with all but PP_DEATH_FAIL another worker replaces one that
                died.
            timeout: seconds that a step or reset may take.
            start_timeout: seconds until a later worker must be ready.
            deadline: for these workers.

        Raises:
            PoolError: a worker could not open the pool's memory.
            WorkerError: a worker died, or was not ready in time.
        """
        self._handle = handle
        self._first_spare = len(workers)
        self._workers: list[Worker | None] = [*workers, *[None] * (len(shares) - len(workers))]
        self._shares = shares
        self._assignments = assignments
        self._launcher = launcher
        self._on_death_rows = on_death
        self._restarts = on_death != lib.PP_DEATH_FAIL
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._pid = os.getpid()
        # reentrant: a signal handler may close the pool, whatever this thread is doing
        self._lock = threading.RLock()
        self._is_closed = False
        # by lane, while a worker is replaced: the new one, its deadline, and the starting thread
        self._starting: dict[int, Worker] = {}
        self._deadlines: dict[int, Deadline] = {}
        self._starters: dict[int, threading.Thread] = {}
        # by lane: restarts in a row without a step
        self._attempts: dict[int, int] = {}
        # by lane: turns taken, and steps delivered by each environment, when the last worker died
        self._turns: dict[int, int] = {}
        self._steps: dict[int, list[int]] = {}
        # by lane: what the successor of the last worker was given
        self._successors: dict[int, Restart] = {}
        # by lane: environment and turns taken at the last check, and for how many seconds since
        self._ages: dict[int, tuple[int, int, float]] = {}
        self._checked = 0.0
        # by lane: environment and turns taken when Ctrl-C ended the wait for it
        self._interrupted: dict[int, tuple[int, int]] = {}
        # by process id: why the supervisor killed it
        self._reasons: dict[int, str] = {}
        # process ids of those that a caller had it kill
        self._killed: set[int] = set()
        # spare lanes whose workers were killed as nobody needs them any more
        self._ended: set[int] = set()
        self.deaths: dict[int, Death] = {}
        self.lost: dict[int, str] = {}
        self.seeds: dict[int, int | None] = {}
        self.timer: Timer | None = None
        self._watcher = Watcher()
        try:
            for lane in range(self._first_spare, len(shares)):
                self._complete_rows(lane, lib.PP_DEATH_FAIL)
            startup.assign(workers, shares[: len(workers)], assignments, self._memory, deadline)
            with self._lock:
                for lane, worker in enumerate(workers):
                    self._watch(lane, worker)
            if timeout is not None:
                self.timer = Timer(self.check_turns)
            _supervisors.add(self)
        except BaseException:
            self.close(grace=0.0)
            raise

    def _memory(self, lane: int) -> list[int]:
        return [lib.pp_pool_memory_fd(self._handle), lib.pp_pool_reply_fd(self._handle, lane)]

    def _watch(self, lane: int, worker: Worker) -> None:
        # the watcher's thread must not keep a supervisor alive whose pool was deleted
        supervisor = weakref.ref(self)

        def on_death(worker: Worker) -> None:
            there = supervisor()
            if there is not None and lane < there._first_spare:
                there._on_death(lane, worker)
            elif there is not None:
                there._on_spare_death(lane, worker)

        self._watcher.watch(worker, on_death)

    # -------------------------------------------------------------------------------- deaths --

    def _on_death(self, lane: int, worker: Worker) -> None:
        """Handles the death of a worker; in the watcher's thread."""
        with self._lock:
            # The thread that starts a worker handles its death until it is ready. It may have done
            # so before this one got the lock: another thread would then start a second worker.
            is_started = self._workers[lane] is worker and self._starting.get(lane) is not worker
            if self._is_closed or not is_started:
                return
            try:
                if self._record_death_locked(lane, worker):
                    self._start_locked(lane)
            except Exception as error:  # no memory, too many threads: the caller must not wait
                self._give_up_locked(lane, error)

    def _record_death_locked(self, lane: int, worker: Worker) -> bool:
        """Completes a dead worker's rows in flight; returns whether to start another worker."""
        share = self._shares[lane]
        current = lib.pp_pool_current_env(self._handle, lane)
        turns = lib.pp_pool_taken_turns(self._handle, lane) - self._turns.get(lane, 0)
        restart = self._successors.get(lane)
        reason = self._reasons.pop(worker.pid, "")
        has_worked = self._has_stepped(lane, current)
        if self._on_death_rows == lib.PP_DEATH_REPLACE:
            # every call that a worker did not survive has failed: only starts can go on for ever
            has_worked = turns > 0 or (worker.pid in self._killed)
        self._killed.discard(worker.pid)
        self._attempts[lane] = 1 if has_worked else self._attempts.get(lane, 0) + 1
        self.deaths[lane] = Death(
            worker.pid, worker.exitcode, None if current < 0 else current, reason
        )
        self._workers[lane] = None
        worker.close()
        if not self._restarts or self._attempts[lane] > MAX_RESTARTS:
            self._give_up_locked(lane)
            return False
        if restart is None or turns:
            fresh: list[int | None] = [None] * len(share.env_ids)
            if self._on_death_rows != lib.PP_DEATH_REPLACE:
                fresh = [seeds.entropy(SEED_BITS) for _ in share.env_ids]
            restart = Restart(fresh, [True] * len(share.env_ids))
            self.seeds.update(zip(share.env_ids, fresh, strict=True))
        affected = self._complete_rows(lane, self._on_death_rows)
        flags = zip(share.env_ids, restart.unreported, strict=True)
        # the rows that were just completed report the restart
        unreported = [own and i not in affected for i, own in flags]
        self._successors[lane] = replace(restart, unreported=unreported)
        self._turns[lane] = lib.pp_pool_taken_turns(self._handle, lane)
        return True

    def _has_stepped(self, lane: int, current: int) -> bool:
        """Returns whether a worker that just died has delivered a step.

        Counts only the environment that it was stepping; any of them if it was stepping none.
        """
        env_ids = self._shares[lane].env_ids
        before = self._steps.get(lane, [0] * len(env_ids))
        self._steps[lane] = [lib.pp_pool_delivered_steps(self._handle, i) for i in env_ids]
        if current >= 0:
            at = current - env_ids[0]
            return self._steps[lane][at] != before[at]
        return self._steps[lane] != before

    def _complete_rows(self, lane: int, on_death: int) -> set[int]:
        """Has C complete the rows of a dead worker; returns the environments they belong to."""
        affected = ffi.new("int32_t[]", len(self._shares[lane].env_ids))
        # negative if the pool was closed meanwhile: then no call waits for them
        status = lib.pp_pool_worker_died(self._handle, lane, on_death, affected, new_error())
        return set(affected[0 : max(0, status)])

    def _give_up_locked(self, lane: int, error: BaseException | None = None) -> None:
        """Gives up a lane: it gets no worker any more, and its rows in flight fail."""
        death = self.deaths[lane]
        if self._restarts:
            why = f": {type(error).__name__}: {error}" if error is not None else ""
            restarts = self._attempts[lane] - 1
            outcome = "no other could be started"
            if restarts > 0:
                outcome = f"{restarts} restart{'s' * (restarts > 1)} in a row made no step"
                why = why and f", the last because of{why[1:]}"
            death = replace(death, reason=f"{death}, and {outcome}{why}")
        self.deaths[lane] = death
        self.lost[lane] = str(death)
        self._complete_rows(lane, lib.PP_DEATH_FAIL)

    # --------------------------------------------------------------------------- spare lanes --

    def adopt(self, lane: int, worker: Worker, env_id: int) -> None:
        """Gives a spare lane, which has none, a worker that may open it from now on.

        Args:
            lane: the lane.
            worker: which was forked from that of another environment.
            env_id: the other one.

        Raises:
            ClosedError: the pool is closed.
            OSError: there are too many files or threads.
        """
        with self._lock:
            self._check_open()
            check(lib.pp_pool_worker_branched(self._handle, lane, env_id, error_slot.raw))
            self._watch(lane, worker)
            self._workers[lane] = worker
            # a lane's number is that of its only environment
            self._shares[lane] = replace(self._shares[env_id], lane=lane, first=lane)
            self.lost.pop(lane, None)
            self._ended.discard(lane)

    def end(self, lane: int) -> None:
        """Kills the worker of a spare lane, if it has one, for which nobody waits any more."""
        with self._lock:
            worker = self._workers[lane]
            self.lost.pop(lane, None)
            if worker is not None and not self._is_closed:
                self._ended.add(lane)
                worker.kill()

    def worker_of(self, lane: int, *, timeout: float = 0.0) -> Worker | None:
        """Returns a lane's worker; None while it has none, or one that is not ready.

        Args:
            lane: the lane.
            timeout: seconds to wait for the thread that is starting one, which may not have noticed
                yet that it is ready and has done turns.
        """
        thread = self._starters.get(lane)
        if thread is not None and timeout:
            thread.join(timeout)
        with self._lock:
            return None if lane in self._starting else self._workers[lane]

    def _on_spare_death(self, lane: int, worker: Worker) -> None:
        with self._lock:
            if self._is_closed or self._workers[lane] is not worker:
                return
            current = lib.pp_pool_current_env(self._handle, lane)
            env_id = None if current < 0 else current
            reason = self._reasons.pop(worker.pid, "") or _why_not_begun(worker)
            self._killed.discard(worker.pid)
            self.deaths[lane] = death = Death(worker.pid, worker.exitcode, env_id, reason)
            self._workers[lane] = None
            worker.close()
            if lane in self._ended:
                self._ended.discard(lane)
            else:
                self.lost[lane] = str(death)
            self._complete_rows(lane, lib.PP_DEATH_FAIL)
        self.on_vacant(lane)

    # ------------------------------------------------------------------------------ restarts --

    def _start_locked(self, lane: int) -> None:
        """Starts a thread that replaces a dead worker."""
        thread = threading.Thread(
            target=self._restart, args=(lane,), name="pp-restart", daemon=True
        )
        self._starters[lane] = thread
        try:
            thread.start()
        except RuntimeError:
            del self._starters[lane]
            raise

    def _restart(self, lane: int) -> None:
        """Tries until a worker is ready, the lane is given up, or the pool is closed."""
        while True:
            self._pause(lane)
            error = self._try_restart(lane)
            with self._lock:
                is_over = error is None or self._is_closed or lane in self.lost
                if not is_over and self._attempts[lane] > MAX_RESTARTS:
                    self._give_up_locked(lane, error)
                    is_over = True
                if is_over:
                    # if the new worker has died since, another thread may be starting the next
                    if self._starters.get(lane) is threading.current_thread():
                        del self._starters[lane]
                    return

    def _pause(self, lane: int) -> None:
        """Waits before a further restart: the cause of the last failure may be temporary."""
        attempts = self._attempts[lane]
        pause = RESTART_PAUSE * 2.0 ** (attempts - 2) if attempts > 1 else 0.0
        end = time.monotonic() + pause
        while not self._is_closed and (remaining := end - time.monotonic()) > 0:
            time.sleep(min(remaining, RESTART_PAUSE / 4))

    def _try_restart(self, lane: int) -> BaseException | None:
        """Starts a worker and assigns it to its lane; returns the exception if that failed."""
        share, deadline = self._shares[lane], Deadline(self._start_timeout)
        workers: list[Worker] = []
        try:
            with self._lock:
                # stored before the check: close makes all deadlines expire that it finds here
                self._deadlines[lane] = deadline
                self._check_open()
            workers = self._launcher.start([share], deadline)
            with self._lock:
                # stored before the check: close kills all workers that it finds here
                self._starting[lane] = workers[0]
                self._check_open()
            startup.wait_until_made(workers, [share], deadline)
            with self._lock:
                self._check_open()
                self._watch(lane, workers[0])
                self._workers[lane] = workers[0]
            assignment = replace(self._assignments[lane], restart=self._successors[lane])
            startup.assign(workers, [share], [assignment], self._memory, deadline)
            with self._lock:
                # until now `_on_death` has left this worker to this thread
                if workers[0].exitcode is None:
                    del self._starting[lane]
                    return None
            raise WorkerError(str(Death(workers[0].pid, workers[0].exitcode)), share.env_ids, ())
        except BaseException as error:
            self._undo_restart(lane, workers, error)
            return error

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the pool is closed: make a new one")

    def _undo_restart(self, lane: int, workers: list[Worker], error: BaseException) -> None:
        """Ends a worker that did not become ready, and counts the attempt."""
        # it must be dead before rows that it may have taken are completed
        startup.kill_all(workers)
        with self._lock:
            self._starting.pop(lane, None)
            if self._is_closed:
                return
            if workers and self._workers[lane] is workers[0]:
                self._reasons.setdefault(workers[0].pid, str(error))
                self._record_death_locked(lane, workers[0])
            else:
                self._attempts[lane] += 1

    # ------------------------------------------------------------------------------- timeout --

    def check_turns(self) -> float | None:
        """Kills workers whose current turn takes too long; in the timer's thread.

        Returns:
            Seconds until the next check; None: nothing is in flight.
        """
        timeout = self._timeout
        assert timeout is not None
        pause = min(max(timeout / CHECKS_PER_TIMEOUT, MIN_PAUSE), MAX_PAUSE)
        with self._lock:
            if self._is_closed or not lib.pp_pool_in_flight(self._handle):
                self._ages.clear()
                return None
            # Time in which this process did not run, because of Ctrl-Z or a busy machine, does not
            # count: its workers may not have run either.
            now = time.monotonic()
            passed, self._checked = min(now - self._checked, 2 * pause), now
            for lane, worker in enumerate(self._workers):
                if worker is not None and lane not in self._starting:
                    self._check_turn(lane, worker, passed, timeout)
        return pause

    def _check_turn(self, lane: int, worker: Worker, passed: float, timeout: float) -> None:
        turn = self._turn_of(lane)
        current = turn[0]
        if current < 0 and not lib.pp_pool_waiting_turns(self._handle, lane):
            self._ages.pop(lane, None)
            return
        *seen, age = self._ages.get(lane, (*turn, -passed))
        age = age + passed if tuple(seen) == turn else 0.0
        self._ages[lane] = (*turn, age)
        if age <= timeout:
            return
        del self._ages[lane]
        excess = f"longer than timeout={timeout} s"
        self._reasons[worker.pid] = (
            f"environment {current} took {excess}, and its worker process {worker.pid} was killed"
            if current >= 0
            else f"worker process {worker.pid} took {excess} to begin its next step, and was killed"
        )
        worker.kill()

    def kill(self, lane: int, reason: str) -> bool:
        """Kills a lane's worker on behalf of a caller, with the reason that its death then has.

        Returns whether there was one: between two workers a lane has none.
        """
        with self._lock:
            worker = self._workers[lane]
            # the thread that starts a worker may not have noticed yet that it has begun to work
            is_ready = lane not in self._starting or self._has_begun(lane)
            if self._is_closed or worker is None or not is_ready:
                return False
            self._reasons[worker.pid] = f"{reason} (worker process {worker.pid})"
            self._killed.add(worker.pid)
            worker.kill()
            return True

    def _has_begun(self, lane: int) -> bool:
        """Returns whether a lane's last worker has taken a turn."""
        return lib.pp_pool_taken_turns(self._handle, lane) > self._turns.get(lane, 0)

    # ------------------------------------------------------------------------------ activity --

    def pid_of(self, lane: int) -> int | None:
        """Returns the process id of a lane's worker; None while it has none."""
        worker = self._workers[lane]
        return None if worker is None else worker.pid

    def activities(self) -> list[Activity]:
        """Returns what the busy workers are doing; `describe` turns each into words."""
        found = []
        for lane in range(len(self._workers)):
            current, turns = self._turn_of(lane)
            if current >= 0 or lib.pp_pool_waiting_turns(self._handle, lane):
                found.append((lane, current, turns))
        return found

    def describe(self, activity: Activity) -> str:
        """Returns words for what a worker is doing, such as "environment 2 in step (...)"."""
        return self._describe(*activity[:2])

    def _turn_of(self, lane: int) -> tuple[int, int]:
        """Returns the environment a worker is stepping, -1 for none, and the turns it has taken."""
        current = lib.pp_pool_current_env(self._handle, lane)
        return current, lib.pp_pool_taken_turns(self._handle, lane)

    def _describe(self, lane: int, current: int) -> str:
        pid = self.pid_of(lane)
        process = "the next worker process" if pid is None else f"worker process {pid}"
        if current < 0:
            return f"{process} to begin its next step"
        is_reset = lib.pp_pool_command(self._handle, current) == lib.PP_COMMAND_RESET
        return f"environment {current} in {'reset' if is_reset else 'step'} ({process})"

    def note_interrupt(self) -> None:
        """Records what each worker is doing when Ctrl-C ends the wait for it."""
        turns = {lane: self._turn_of(lane) for lane in range(len(self._workers))}
        self._interrupted = {lane: turn for lane, turn in turns.items() if turn[0] >= 0}

    # ---------------------------------------------------------------------------------- end --

    def close(self, *, grace: float | None = GRACE) -> None:
        """Ends all workers, whatever interrupts this.

        Args:
            grace: seconds that they have to end by themselves. A worker that is still in the step
                or reset in which Ctrl-C found it is killed earlier, after `WARN_AFTER`.

        Warns:
            SlowWorkerWarning: some have not ended after `WARN_AFTER`.
        """
        if os.getpid() != self._pid:
            return
        try:
            lib.pp_pool_close(self._handle, 0)
            with self._lock:
                self._is_closed = True
            if self.timer is not None:
                self.timer.close()
            self._watcher.close()
            self._end_spares()
            grace = 0.0 if grace is None else grace
            end = time.monotonic() + grace
            if grace > WARN_AFTER and not self._join_all(time.monotonic() + WARN_AFTER):
                self._kill_interrupted(grace - WARN_AFTER)
            self._join_all(end)
        finally:
            self._end()

    def _end_spares(self) -> None:
        """Kills branches, which have nothing to close, and may still wait to open their lanes."""
        for worker in self._workers[self._first_spare :]:
            if worker is not None:
                worker.kill()

    def _join_all(self, end: float) -> bool:
        """Waits until `end` (monotonic time) for all workers to end; returns whether they have."""
        there = [worker for worker in self._workers if worker is not None]
        return all(worker.join(max(0.0, end - time.monotonic())) for worker in there)

    def _kill_interrupted(self, remaining: float) -> None:
        """Kills workers that are still in the turn in which Ctrl-C found them, and warns.

        Args:
            remaining: seconds that the other workers still have.
        """
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
                awaited.append(f"worker process {worker.pid}, which closes its environments")
        parts = []
        if killed:
            parts.append(f"killed after {WARN_AFTER:.0f} s: {wait_warnings.joined(killed)}")
        if awaited:
            names = wait_warnings.joined(awaited)
            parts.append(f"still running, to be killed in {remaining:.0f} s: {names}")
        if parts:
            warnings.warn("closing the pool: " + "; ".join(parts), SlowWorkerWarning, stacklevel=2)

    def _end(self) -> None:
        with self._lock:
            self._is_closed = True
            starting, starters = list(self._starting.values()), list(self._starters.values())
            for deadline in self._deadlines.values():
                deadline.expire()
        # the threads that start them clean up
        for worker in starting:
            worker.kill()
        startup.kill_all(worker for worker in self._workers if worker is not None)
        for thread in starters:
            thread.join(KILL_TIMEOUT)
        _supervisors.discard(self)

    def close_in_thread(self) -> None:
        """Closes from a new thread, for a pool that was deleted.

        The garbage collector deletes it in any thread, which may hold any lock.
        """
        if os.getpid() != self._pid or self not in _supervisors:
            return
        lib.pp_pool_close(self._handle, 0)
        try:
            _thread.start_new_thread(self.close, ())
        except RuntimeError:  # there are too many threads
            self.close(grace=0.0)


def _why_not_begun(worker: Worker) -> str:
    """Returns why a branch could not open its lane; empty if it could."""
    with contextlib.suppress(EOFError, OSError, TimeoutError):
        message, _ = worker.connection.recv(0.0)
        return f"worker process {worker.pid} could not begin: {message[1]}"
    return ""


_supervisors: weakref.WeakSet[Supervisor] = weakref.WeakSet()


def _close_all() -> None:
    for supervisor in list(_supervisors):
        supervisor.close()


# in the exiting thread: Python starts no new one then
atexit.register(_close_all)
