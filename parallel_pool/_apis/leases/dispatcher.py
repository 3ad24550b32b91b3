"""Dispatcher: the thread that receives rows for leases and ends calls that take too long."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.leases.broker import Broker, Request
from parallel_pool._apis.leases.slot import (
    ABANDONED,
    BRANCH,
    CALL,
    CHANGES,
    ENDED,
    FAILED,
    NAMES,
    RESET,
    STEP,
    Call,
    Copies,
    Row,
    Slot,
)
from parallel_pool._apis.leases.waiters import Deliveries
from parallel_pool._engine.base_pool import is_in_flight
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._workers.data.messages import LostEpisodeError
from parallel_pool._workers.watch.watch import THREAD_SIGNALS
from parallel_pool.errors import (
    BusyError,
    ClosedError,
    NotResetError,
    PoolError,
    PoolTimeoutError,
    StateError,
    WorkerError,
)

if TYPE_CHECKING:
    from parallel_pool._apis.leases.native_envs import NativeEnvs
    from parallel_pool._apis.leases.worker_envs import WorkerEnvs

# seconds of one wait for a row, after which deadlines are looked at
SLICE = 0.05
# From so many rows at once on, seconds until the next receive: more rows are about to come, and one
# receive of many costs less than many receives. Results are later by that at most.
CROWD, PAUSE = 4, 0.0005
# seconds in which nothing could be received, after which all calls fail
MAX_BROKEN = 5.0
# exceptions with which an environment refuses a call, before it was sent
REFUSALS = (TypeError, ValueError, PoolError, MemoryError)


class Dispatcher:
    """Sends the calls of leases, receives their rows and settles their waiters.

    Attributes:
        envs: the environments.
        slots: of each, and of each spare one, for branches.
        lock: guards `slots` and both brokers. Reentrant: a signal handler may close the pool.
        broker: who has which environment.
        spares: who has which branch.
        max_branches: how many spare ones there are.
        timeout: seconds of calls that have no timeout of their own; None for no limit.
    """

    def __init__(
        self,
        envs: WorkerEnvs | NativeEnvs,
        num_envs: int,
        max_branches: int,
        timeout: float | None,
        grace: float,
    ) -> None:
        """
        Args:
            envs: the environments.
            num_envs: how many of them are leased.
            max_branches: how many there are besides, for branches.
            timeout: of calls that have none of their own.
            grace: seconds that a call may go on for which nobody waits any more.
        """
        self.envs = envs
        self.slots = [Slot(env_id) for env_id in range(num_envs + max_branches)]
        self.lock = threading.RLock()
        self.broker = Broker(self.slots[:num_envs], envs.loss)
        # a branch that is over has lost nothing that the next would need
        self.spares = Broker(self.slots[num_envs:], lambda env_id: None)
        self._num_envs, self.max_branches = num_envs, max_branches
        self.timeout = timeout
        self._grace = grace
        self._pid = os.getpid()
        self._is_closed = False
        # calls in flight
        self._count = 0
        # no call in flight is due earlier
        self._earliest = math.inf
        self._is_asleep = False
        # an exception such as Ctrl-C has ended a method of this class
        self._is_torn = False
        self._wakeups = queue.SimpleQueue[None]()
        self._thread: threading.Thread | None = None
        # whether a thread receives: one may run whose start an exception has ended
        self._is_running = False
        envs.report_vacant(self._on_vacant)

    # -------------------------------------------------------------------------------- leases --

    def ask(self, request: Request) -> None:
        """Asks for an environment, which the request's waiter gets."""
        deliveries = Deliveries()
        self._check_process()
        with self.lock:
            self._check_open()
            self.broker.ask(request, deliveries)
        self._deliver(deliveries)

    def ask_branches(self, request: Request) -> None:
        """Asks for spare environments; the request waits for those that are about to be free.

        Raises:
            BusyError: too many are in use. Who waited for them might have them itself.
        """
        deliveries = Deliveries()
        self._check_process()
        with self.lock:
            self._check_open()
            spares = self.slots[self._num_envs :]
            used = sum(each.holder is not None for each in spares)
            used += sum(each.count - len(each.slots) for each in self.spares.waiting)
            if request.count > len(spares) - used:
                raise BusyError(
                    f"{request.count} branches were asked for, and {used} of max_branches="
                    f"{len(spares)} are in use: end some, or make the pool with more"
                )
            self.spares.ask(request, deliveries)
        self._deliver(deliveries)

    def withdraw(self, request: Request) -> None:
        """Takes back a request whose waiter has given up, with what it may have got."""
        if os.getpid() != self._pid:
            return
        with self.lock:
            if self._is_closed:
                return
            self.broker.withdraw(request)
            self.spares.withdraw(request)
        for slot in request.slots:
            self.release(slot, request)

    def release(self, slot: Slot, holder: object) -> None:
        """Ends a lease: the environment goes to the next once nothing of it is in flight."""
        deliveries = Deliveries()
        if os.getpid() != self._pid:
            return
        try:
            with self.lock:
                if slot.holder is not holder:
                    return
                slot.holder = None
                self._free_locked(slot, deliveries)
            self._deliver(deliveries)
        except BaseException:
            with self.lock:
                if slot.holder is holder:
                    slot.holder = None
                self._mend_soon_locked()
            raise

    def _free_locked(self, slot: Slot, deliveries: Deliveries) -> None:
        """Gives up the calls of an environment whose lease is over, and makes it free."""
        if slot.queued is not None:
            self._fail(slot.queued, ClosedError("the lease is over"), deliveries)
            slot.queued = None
        if slot.call is not None:
            self._abandon_locked(slot, slot.call, deliveries)
        if self._is_branch(slot):
            self.envs.end_branch(slot.env_id, is_idle=slot.call is None)
        self._put_back_locked(slot, deliveries)

    def discard(self, copies: Copies) -> None:
        """Ends branches that are being made, of which nobody wants to know any more."""
        if os.getpid() != self._pid:
            return
        # not while the thread that receives makes leases of them
        with self.lock:
            if copies.order is not None:
                copies.order.discard()

    def _is_branch(self, slot: Slot) -> bool:
        return slot.env_id >= self._num_envs

    def _put_back_locked(self, slot: Slot, deliveries: Deliveries) -> None:
        """Makes an environment free that nobody holds, unless something of it goes on."""
        if slot.holder is not None or slot.call is not None or self._is_closed:
            return
        if not self._is_branch(slot):
            self.broker.put_back(slot, deliveries)
        elif self.envs.is_vacant(slot.env_id) and slot not in self.spares.free:
            self.spares.put_back(slot, deliveries)

    def _on_vacant(self, env_id: int) -> None:
        """Takes note that a branch has no process any more; in a thread of the pool's."""
        deliveries = Deliveries()
        with self.lock:
            self._put_back_locked(self.slots[env_id], deliveries)
        self._deliver(deliveries)

    # --------------------------------------------------------------------------------- calls --

    def begin(self, slot: Slot, holder: object, call: Call) -> None:
        """Sends a call of a lease, or queues it behind one for which nobody waits any more.

        Raises:
            ClosedError: the lease or the pool is over.
            BusyError: the lease has a call in flight.
            NotResetError: the environment must be reset first.
            WorkerError: its worker has died since its last reset.
        """
        self._check_process()
        with self.lock:
            self._check_open()
            if slot.holder is not holder:
                raise ClosedError("the lease is over: take another with lease()")
            busy = slot.queued or (slot.call if slot.call and slot.call.waiter else None)
            if busy is not None:
                raise BusyError(
                    f"a {NAMES[busy.kind]} of environment {slot.env_id} is in flight: make one call"
                    " of a lease at a time"
                )
            self._check_branch(slot)
            if call.kind != RESET and self._has_lost_episode(slot):
                slot.refusal = FAILED
                raise self._loss_of_episode(slot)
            if call.kind == STEP and slot.refusal:
                raise NotResetError(
                    f"environment {slot.env_id}: {slot.refusal}: call reset() first"
                )
            if call.kind == CALL:
                call.argument = replace(call.argument, needs_episode=not slot.refusal)
            elif call.kind == BRANCH:
                call.argument.needs_episode = not slot.refusal
            if call.waiter is not None:
                call.waiter.leases = [(slot, holder)]
            self._earliest = min(self._earliest, call.due)
            if slot.call is not None:
                call.was_taken = True
                slot.queued = call
                return
            self._admit_locked(slot, call)
        # without the lock, for which the thread that receives would wait
        deliveries = Deliveries()
        try:
            is_over = self.envs.send(slot.env_id, call)
            call.was_sent = not is_over
        except BaseException as error:
            if not _is_refusal(error):
                # it may have been sent; `abandon` follows
                raise
            with self.lock:
                call.was_taken = False
                slot.call = None
                self._count -= 1
                # another thread may have ended the lease meanwhile
                self._continue_locked(slot, deliveries)
            self._deliver(deliveries)
            # its process may have died after the first check
            self._check_branch(slot)
            raise
        if is_over:
            with self.lock:
                self._finish_locked(Row(slot.env_id, None), deliveries)
            self._deliver(deliveries)

    def abandon(self, slot: Slot, call: Call) -> None:
        """Gives up a call, of which nobody wants the result any more, or that `begin` refused."""
        deliveries = Deliveries()
        if os.getpid() != self._pid:
            return
        with self.lock:
            if not call.was_taken:
                return
            if slot.call is call and not call.was_sent:
                call.is_torn = True
                self._mend_soon_locked()
            if slot.queued is call:
                slot.queued = None
            elif slot.call is call:
                self._abandon_locked(slot, call, deliveries)
            elif call.kind in CHANGES:
                # it is over, and its result was not delivered
                slot.refusal = ABANDONED
        self._deliver(deliveries)

    def kill(self, slot: Slot, holder: object, reason: str) -> bool:
        """Kills the worker of a lease's environment; returns whether there was one."""
        self._check_process()
        with self.lock:
            self._check_open()
            if slot.holder is not holder:
                raise ClosedError("the lease is over: take another with lease()")
            slot.refusal = "its worker process was killed"
        return self.envs.kill(slot.env_id, reason)

    def _check_process(self) -> None:
        """Raises ForkedError in a forked child, where another thread may hold the lock for ever."""
        if os.getpid() != self._pid:
            check_usable(self.envs.pool)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the pool of leases is closed: make a new one")

    def _has_lost_episode(self, slot: Slot) -> bool:
        """Returns whether the worker has died with the episode that was begun."""
        return not slot.refusal and self.envs.death(slot.env_id) is not slot.death

    def _check_branch(self, slot: Slot) -> None:
        """Raises WorkerError if the worker of a branch has died: no other has its state."""
        why = self.envs.loss(slot.env_id) if self._is_branch(slot) else None
        if why is not None:
            raise WorkerError(
                f"environment {slot.env_id}: {why}: it was a branch, and is over: take another",
                (slot.env_id,),
                (),
            )

    def _loss_of_episode(self, slot: Slot) -> WorkerError:
        death = self.envs.death(slot.env_id)
        why = f"environment {slot.env_id}: {death}: call reset() first"
        return WorkerError(why, (slot.env_id,), ())

    def _send_locked(self, slot: Slot, call: Call, deliveries: Deliveries) -> None:
        self._check_branch(slot)
        self._admit_locked(slot, call)
        try:
            is_over = self.envs.send(slot.env_id, call)
            call.was_sent = True
        except BaseException:
            slot.call = None
            self._count -= 1
            raise
        if is_over:
            self._finish_locked(Row(slot.env_id, None), deliveries)

    def _admit_locked(self, slot: Slot, call: Call) -> None:
        """Notes a call as in flight; before it is sent, as its row may arrive at once."""
        if self._is_asleep or self._thread is None:
            self._wake_locked()
        call.was_taken = True
        slot.call = call
        self._count += 1

    def _wake_locked(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="pp-leases", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                raise PoolError(
                    f"{error}: a higher limit of threads (ulimit -u) may help"
                ) from error
            self._thread = thread
        # in this order, in which Ctrl-C in between does no harm
        self._wakeups.put(None)
        self._is_asleep = False

    def mend_soon(self) -> None:
        """Has the thread put right what an exception has left half done in another thread."""
        if os.getpid() == self._pid:
            with self.lock:
                self._mend_soon_locked()

    def _mend_soon_locked(self) -> None:
        self._is_torn = True
        with contextlib.suppress(PoolError):
            self._wake_locked()

    def _abandon_locked(self, slot: Slot, call: Call, deliveries: Deliveries) -> None:
        self._fail(call, ClosedError("the lease is over"), deliveries)
        if call.kind in CHANGES:
            slot.refusal = ABANDONED
        call.due = min(call.due, time.monotonic() + self._grace)
        self._earliest = min(self._earliest, call.due)

    def _fail(self, call: Call, error: BaseException, deliveries: Deliveries) -> None:
        """Gives a call's waiter, if there is one, an exception."""
        waiter, call.waiter = call.waiter, None
        if waiter is not None:
            deliveries.add(waiter, None, error)

    def _deliver(self, deliveries: Deliveries) -> None:
        """Delivers results. The leases of tasks whose event loop is closed are over."""
        for waiter in deliveries.send():
            for lease in waiter.leases:
                self.release(*lease)

    # -------------------------------------------------------------------------------- thread --

    def _run(self) -> None:
        # a signal that this thread received would not wake the main thread: Ctrl-C would be late
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - THREAD_SIGNALS)
        broken_since: float | None = None
        with self.lock:
            if self._is_running:
                return
            self._is_running = True
        while self._has_calls():
            deliveries = Deliveries()
            received = 0
            if self._is_torn:
                self._mend(deliveries)
                self._deliver(deliveries)
                continue
            try:
                received = self._receive(deliveries)
                broken_since = None
            except Exception as error:
                now = time.monotonic()
                broken_since = broken_since or now
                is_over = isinstance(error, StateError) or now - broken_since > MAX_BROKEN
                if is_over:
                    self._end(error, deliveries)
                else:  # no memory for another batch, perhaps
                    time.sleep(SLICE)
            if time.monotonic() >= self._earliest:
                self._expire(deliveries)
            self._deliver(deliveries)
            if received >= CROWD:
                time.sleep(PAUSE)

    def _has_calls(self) -> bool:
        """Waits until there is something to do; returns False once the pool is closed."""
        while True:
            with self.lock:
                if self._is_closed:
                    return False
                if self._count or self._is_torn:
                    return True
                self._is_asleep = True
            self._wakeups.get()

    def _mend(self, deliveries: Deliveries) -> None:
        """Puts right what an exception such as Ctrl-C has left half done in another thread.

        It knows which calls were sent: no other thread receives.
        """
        with self.lock:
            self._is_torn = False
            for slot in self.slots:
                call = slot.call
                if call is None or not call.is_torn:
                    continue
                call.is_torn, call.was_sent = False, is_in_flight(self.envs.pool, slot.env_id)
                if not call.was_sent:
                    slot.call = None
            self._count = sum(slot.call is not None for slot in self.slots)
            free = {slot.env_id for slot in (*self.broker.free, *self.spares.free)}
            for slot in self.slots:
                if slot.holder is None and slot.env_id not in free:
                    self._free_locked(slot, deliveries)
                elif slot.call is None and slot.queued is not None:
                    self._continue_locked(slot, deliveries)
            self.broker.match(deliveries)
            self.spares.match(deliveries)

    def _receive(self, deliveries: Deliveries) -> int:
        """Receives the rows that are there, and waits for the first of them; returns how many."""
        left = min(SLICE, max(0.0, self._earliest - time.monotonic()))
        rows = self.envs.receive(left)
        with self.lock:
            for row in rows:
                if row.has_failed:
                    self._finish_failed_locked(row, deliveries)
                else:
                    self._finish_locked(row, deliveries)
        return len(rows)

    def _finish_locked(self, row: Row, deliveries: Deliveries) -> None:
        """Settles the call whose row has arrived."""
        slot, call = self._over_locked(row.env_id)
        value, error = None, row.error
        if error is None:
            value, error = self._value(slot, call, row.value)
        elif call.kind in CHANGES:
            slot.refusal = FAILED
        self._settle_locked(slot, call, value, error, deliveries)

    def _finish_failed_locked(self, row: Row, deliveries: Deliveries) -> None:
        """Settles the call of an environment that has failed, or whose worker has died."""
        slot, call = self._over_locked(row.env_id)
        error = row.error
        assert error is not None
        if self._may_repeat(slot, call, error):
            with contextlib.suppress(PoolError):
                self._send_locked(slot, call, deliveries)
                return
        if isinstance(error, LostEpisodeError):
            # the worker died after the last check
            error = self._loss_of_episode(slot)
        slot.refusal = FAILED
        self._settle_locked(slot, call, None, error, deliveries)

    def _over_locked(self, env_id: int) -> tuple[Slot, Call]:
        """Returns an environment and its call, which is in flight no more."""
        slot = self.slots[env_id]
        call, slot.call = slot.call, None
        self._count -= 1
        assert call is not None
        return slot, call

    def _settle_locked(
        self, slot: Slot, call: Call, value: Any, error: Exception | None, deliveries: Deliveries
    ) -> None:
        waiter, call.waiter = call.waiter, None
        if waiter is not None:
            deliveries.add(waiter, value, error)
        self._continue_locked(slot, deliveries)

    def _value(self, slot: Slot, call: Call, row: Any) -> tuple[Any, Exception | None]:
        """Returns what a call returns or raises."""
        try:
            value = self.envs.result(call, row)
        except Exception as error:
            if call.kind in CHANGES:
                slot.refusal = FAILED
            return None, error
        if call.kind == BRANCH and call.waiter is not None:
            for branch in call.argument.slots:
                branch.refusal, branch.death = slot.refusal, self.envs.death(branch.env_id)
        if call.waiter is not None:
            if call.kind == STEP and (value[2] or value[3]):
                slot.refusal = ENDED
            elif call.kind == RESET:
                slot.refusal = ""
                # If the worker has died since, its successor refuses the next call. Were the death
                # noted before the reset was sent, the successor might have done the reset.
                slot.death = self.envs.death(slot.env_id)
        return value, None

    def _may_repeat(self, slot: Slot, call: Call, error: Exception) -> bool:
        """Returns whether a reset failed because its worker died before it began."""
        if call.kind != RESET or call.waiter is None or not isinstance(error, WorkerError):
            return False
        death = self.envs.death(slot.env_id)
        return death is not None and death.env_id != slot.env_id and not self.envs.loss(slot.env_id)

    def _continue_locked(self, slot: Slot, deliveries: Deliveries) -> None:
        """Sends the call that follows, or puts the environment back if its lease is over."""
        call, slot.queued = slot.queued, None
        if call is not None:
            try:
                self._send_locked(slot, call, deliveries)
            except Exception as error:
                self._fail(call, error, deliveries)
        else:
            self._put_back_locked(slot, deliveries)

    def _expire(self, deliveries: Deliveries) -> None:
        """Ends the calls that are due, and finds when the next ones are."""
        with self.lock:
            now = time.monotonic()
            earliest = math.inf
            for slot in self.slots:
                queued = slot.queued
                if queued is not None and queued.due <= now:
                    slot.queued = None
                    self._time_out(slot, queued, "waited behind the call before it", deliveries)
                elif queued is not None:
                    earliest = min(earliest, queued.due)
                if slot.call is not None:
                    if slot.call.due <= now:
                        self._end_call(slot, slot.call, deliveries)
                    earliest = min(earliest, slot.call.due)
            self._earliest = earliest

    def _end_call(self, slot: Slot, call: Call, deliveries: Deliveries) -> None:
        """Kills the worker that is in a call which is due."""
        name = NAMES[call.kind]
        limit = f"timeout={call.timeout} s" if call.waiter is not None else "was allowed"
        why = f"a {name} of environment {slot.env_id} took longer than {limit}"
        if not self.envs.can_kill:
            call.due = math.inf
            outcome = "a thread can't be ended, so that the environment stays busy until it returns"
        elif self.envs.kill(slot.env_id, f"{why}, and its worker process was killed"):
            call.due = math.inf
            follows = "so the branch is over" if self._is_branch(slot) else "is replaced"
            outcome = f"its worker process was killed, and {follows}"
        else:
            # between two workers: the next one has the call
            call.due = time.monotonic() + SLICE
            outcome = "its worker process is being replaced"
        self._time_out(slot, call, outcome, deliveries)

    def _time_out(self, slot: Slot, call: Call, outcome: str, deliveries: Deliveries) -> None:
        error = PoolTimeoutError(
            f"environment {slot.env_id}: {NAMES[call.kind]} took longer than timeout="
            f"{call.timeout} s: {outcome}"
        )
        if call.kind != CALL or self.envs.can_kill:
            slot.refusal = ABANDONED
        self._fail(call, error, deliveries)

    # ----------------------------------------------------------------------------------- end --

    def _end(self, error: BaseException, deliveries: Deliveries) -> None:
        """Ends all calls and requests."""
        with self.lock:
            self._is_closed = True
            for slot in self.slots:
                for call in (slot.call, slot.queued):
                    if call is not None:
                        self._fail(call, error, deliveries)
            self.broker.fail_all(error, deliveries)
        self._wakeups.put(None)

    def close(self) -> None:
        """Ends all calls and requests with a ClosedError, and then the thread."""
        deliveries = Deliveries()
        if os.getpid() != self._pid:
            return
        self._end(ClosedError("the pool of leases was closed"), deliveries)
        self._deliver(deliveries)


def _is_refusal(error: BaseException) -> bool:
    """Returns whether an exception says that a call was not sent: a signal raised no such one."""
    is_main = threading.current_thread() is threading.main_thread()
    return isinstance(error, REFUSALS) or not is_main
