"""Crew: the worker processes of one pool, from their start to their end, deaths included."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parallel_pool import seeds
from parallel_pool._native import ffi, lib, new_error
from parallel_pool.errors import PoolError, WorkerError
from parallel_pool.workers import launch
from parallel_pool.workers.messages import Description, Failure, Restart, Seating
from parallel_pool.workers.watch import Watcher

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool.workers.launch import Worker

TARGET = "parallel_pool.workers.loop:serve"
# restarts in a row that bring no result before a lane is given up
TRIES = 3
# seconds for workers to end by themselves, and for killed ones to be gone
GRACE, BURIAL = 5.0, 5.0


@dataclass(frozen=True)
class Death:
    """How a worker ended.

    Attributes:
        pid: of the process.
        exitcode: as `subprocess` has it, negative for a signal; None if nobody could tell.
        env_id: the environment it was stepping, None for none.
        reason: why the pool killed it, empty if it did not.
    """

    pid: int
    exitcode: int | None
    env_id: int | None
    reason: str = ""

    def __str__(self) -> str:
        import signal

        if self.reason:
            return self.reason
        how = f"ended with exit code {self.exitcode}"
        if self.exitcode is None:
            how = "ended"
        elif self.exitcode < 0:
            try:
                how = f"was killed by {signal.Signals(-self.exitcode).name}"
            except ValueError:
                how = f"was killed by signal {-self.exitcode}"
        at = "" if self.env_id is None else f" while it stepped environment {self.env_id}"
        return f"worker process {self.pid} {how}{at}"


def muster(
    env_fns: Sequence[Sequence[Callable[[], Any]]], method: str | None
) -> tuple[list[Worker], list[Description]]:
    """Starts a worker for each share of the environments, and waits for them to be made.

    Raises:
        Exception: what making an environment raised, of its own type, with the worker's traceback.
        WorkerError: a worker died before that.
    """
    names = [f"parallel_pool-{lane}" for lane in range(len(env_fns))]
    workers = launch.start(method, TARGET, list(env_fns), name=names)
    try:
        first = 0
        described = []
        for worker, share in zip(workers, env_fns, strict=True):
            described.append(hear_ready(worker, first))
            first += len(share)
    except BaseException:
        dismiss(workers)
        raise
    return workers, described


def hear_ready(worker: Worker, first: int) -> Description:
    """Waits for a worker's environments, of which the first has this id."""
    try:
        told, _ = worker.wire.recv(None)
    except EOFError:
        worker.join(BURIAL)
        raise WorkerError(
            f"{Death(worker.pid, worker.exitcode, None)} before its environments were made", (), ()
        ) from None
    if told[0] == "failed" and not isinstance(told[1], Failure):
        # nothing of ours has run yet
        raise WorkerError(f"a worker process can't begin: {told[2]}", (), ()) from told[1]
    if told[0] == "failed":
        raise_failure(told[1], f"environment {first + told[2]} can't be made", (), ())
    described: Description = told[1]
    return described


def raise_failure(
    failure: Failure, what: str, env_ids: Sequence[int], batch: tuple[Any, ...]
) -> Any:
    """Raises the worker's exception, from one that has its traceback; that one if it can't."""
    from parallel_pool.errors import EnvError

    error = EnvError(
        f"{what}: {failure.kind}: {failure.text}\n\nIn the worker process:\n{failure.traceback}",
        env_ids,
        batch,
    )
    own = failure.exception()
    # one that ends a program must not end this one
    if not isinstance(own, Exception):
        raise error
    own.add_note(what)
    raise own from error


def dismiss(workers: Sequence[Worker]) -> None:
    """Kills workers that have no seat."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join(BURIAL)
        worker.close()


class Crew:
    """The seated workers of a pool.

    Attributes:
        deaths: by lane; how the last worker of a lane died, until another has its seat.
        seeds: by environment; with which those of a restarted worker begin.
    """

    def __init__(
        self,
        handle: CData,
        workers: list[Worker],
        env_fns: Sequence[Sequence[Callable[[], Any]]],
        seatings: list[Seating],
        *,
        method: str | None,
        restarts: bool,
        repeats: bool,
        timeout: float | None,
    ) -> None:
        """Gives every worker its seat and waits until all sit.

        Args:
            handle: the pool.
            workers: in order of their lanes.
            env_fns, seatings: of each.
            method: how they were started.
            restarts: a worker that died is followed by another.
            repeats: what it had in flight repeats what it showed last; else the next one sees to
                it (SAME_STEP, where rows show the next episode).
            timeout: seconds that a step or reset may take.
        """
        self._handle = handle
        self._workers: list[Worker | None] = list(workers)
        self._env_fns = env_fns
        self._seatings = seatings
        self._method = method
        self._restarts = restarts
        self._repeats = repeats
        self._timeout = timeout
        self._reasons: dict[int, str] = {}
        self._tries: dict[int, int] = {}
        # by lane, turns that were taken when its last worker was buried
        self._turns: dict[int, int] = {}
        self._seen: dict[int, tuple[int, int, float]] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        self.deaths: dict[int, Death] = {}
        self.seeds: dict[int, int] = {}
        for lane, worker in enumerate(workers):
            self._send_seat(worker, seatings[lane])
        for worker in workers:
            hear_seated(worker)
        self._watcher = Watcher()
        for lane, worker in enumerate(workers):
            self._watch(lane, worker)

    def _send_seat(self, worker: Worker, seating: Seating) -> None:
        fds = [lib.pp_pool_memory(self._handle), lib.pp_pool_spill(self._handle, seating.lane)]
        worker.wire.send(("seat", seating), fds)

    def _watch(self, lane: int, worker: Worker) -> None:
        # the thread must not keep a crew alive whose pool was dropped
        crew = weakref.ref(self)

        def on_death(worker: Worker) -> None:
            there = crew()
            if there is not None:
                there._bury(lane, worker)

        self._watcher.watch(worker, on_death)

    # -------------------------------------------------------------------------------- deaths --

    def _bury(self, lane: int, worker: Worker) -> None:
        """Settles what a dead worker had in flight; in the watcher's thread."""
        with self._lock:
            if self._is_closed:
                return
            current = lib.pp_pool_current(self._handle, lane)
            self.deaths[lane] = Death(
                worker.pid,
                worker.exitcode,
                None if current < 0 else current,
                self._reasons.pop(lane, ""),
            )
            first, count = self._envs(lane)
            turns = lib.pp_pool_taken_turns(self._handle, lane) - self._turns.get(lane, 0)
            # whoever took more turns than one of each environment has brought results
            tries = 1 if turns > count else self._tries.get(lane, 0) + 1
            self._tries[lane] = tries
            is_last = not self._restarts or tries > TRIES
            how = lib.PP_BURY_FAIL
            if not is_last:
                how = lib.PP_BURY_REPEAT if self._repeats else lib.PP_BURY_REQUEUE
                for env_id in range(first, first + count):
                    # 63 bits: infos become arrays of int64
                    self.seeds[env_id] = seeds.entropy() >> 65
            settled = ffi.new("int32_t[]", count)
            error = new_error()
            done = lib.pp_pool_bury(self._handle, lane, how, settled, error)
            self._turns[lane] = lib.pp_pool_taken_turns(self._handle, lane)
            worker.close()
            self._workers[lane] = None
            if is_last or done < 0:
                return
            told = set(ffi.unpack(settled, done)) if done else set()
        named = range(first, first + count)
        restart = Restart(
            [self.seeds[env_id] for env_id in named], [env_id not in told for env_id in named]
        )
        threading.Thread(
            target=self._replace, args=(lane, restart), name="pp-restart", daemon=True
        ).start()

    def _replace(self, lane: int, restart: Restart) -> None:
        """Puts another worker into the seat of a dead one."""
        workers: list[Worker] = []
        try:
            workers, _ = muster([self._env_fns[lane]], self._method)
            seating = replace(self._seatings[lane], restart=restart)
            with self._lock:
                if self._is_closed:
                    dismiss(workers)
                    return
                self._send_seat(workers[0], seating)
            hear_seated(workers[0])
        except Exception as error:
            dismiss(workers)
            self._give_up(lane, error)
            return
        with self._lock:
            if self._is_closed:
                dismiss(workers)
                return
            self._workers[lane] = workers[0]
            self.deaths.pop(lane, None)
        self._watch(lane, workers[0])

    def _give_up(self, lane: int, error: BaseException) -> None:
        """A lane whose next worker can't be started: all that it has in flight fails."""
        with self._lock:
            if self._is_closed:
                return
            last = self.deaths[lane]
            reason = f"{last}, and no other could be started: {type(error).__name__}: {error}"
            self.deaths[lane] = replace(last, reason=reason)
            settled = ffi.new("int32_t[]", self._envs(lane)[1])
            lib.pp_pool_bury(self._handle, lane, lib.PP_BURY_FAIL, settled, new_error())

    def _envs(self, lane: int) -> tuple[int, int]:
        first, count = ffi.new("int32_t *"), ffi.new("int32_t *")
        lib.pp_pool_lane_envs(self._handle, lane, first, count)
        return first[0], count[0]

    # ------------------------------------------------------------------------------ patience --

    def look(self) -> None:
        """Kills workers that have been at one environment's turn for too long."""
        if self._timeout is None:
            return
        now = time.monotonic()
        for lane, worker in enumerate(self._workers):
            current = lib.pp_pool_current(self._handle, lane)
            turns = lib.pp_pool_taken_turns(self._handle, lane)
            seen = self._seen.get(lane)
            if worker is None or current < 0:
                self._seen.pop(lane, None)
            elif seen is None or seen[:2] != (current, turns):
                self._seen[lane] = (current, turns, now)
            elif now - seen[2] > self._timeout:
                self._seen.pop(lane)
                self._reasons[lane] = (
                    f"environment {current} took longer than timeout={self._timeout} s, and its"
                    f" worker process {worker.pid} was killed"
                )
                worker.kill()

    # ---------------------------------------------------------------------------------- end --

    def close(self, *, grace: float | None = GRACE) -> None:
        """Ends the workers: those that do not by themselves within the grace are killed.

        The pool is closed before this, so that they are told to.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._watcher.close()
        present = [worker for worker in self._workers if worker is not None]
        end = time.monotonic() + (0.0 if grace is None else grace)
        for worker in present:
            worker.join(max(0.0, end - time.monotonic()))
        dismiss(present)


def hear_seated(worker: Worker) -> None:
    """Waits until a worker sits.

    Raises:
        PoolError: it can't, and says why.
    """
    try:
        told, _ = worker.wire.recv(None)
    except EOFError:
        worker.join(BURIAL)
        raise WorkerError(
            f"{Death(worker.pid, worker.exitcode, None)} before it began to work", (), ()
        ) from None
    if told[0] != "seated":
        raise PoolError(f"a worker process can't begin: {told[1]}\n{told[2]}")
