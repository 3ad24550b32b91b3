"""EnvCalls: calls methods and accesses attributes of environments in worker processes."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import FOREVER, seconds
from parallel_pool._engine.base_pool import BasePool
from parallel_pool._engine.env_ids import id_list
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._native import ffi, lib
from parallel_pool._workers.watch import failures, wait_warnings
from parallel_pool._workers.watch.failures import Cause
from parallel_pool.errors import BusyError, PoolTimeoutError, StateError

if TYPE_CHECKING:
    from parallel_pool._workers.start.connection import Dumps
    from parallel_pool._workers.watch.lanes import Lanes
    from parallel_pool._workers.watch.wait_warnings import WaitWarnings


@dataclass
class Call:
    """A request that was sent to workers and may not be answered yet.

    Attributes:
        kind: "call", "get", "set" or "apply".
        what: the kind, and the name of the method or attribute, for messages.
        env_ids: the environments that the caller named, in order.
        waiting: by lane, the environments whose worker has not answered.
        requests: by lane, what its worker gets.
        sent: by lane, C's status of the request that was sent.
        is_awaited: whether a thread waits for the answers.
        answers: by environment.
        failures: the environments of a worker that failed to answer, and the cause.
    """

    kind: str
    what: str
    env_ids: list[int]
    waiting: dict[int, list[int]]
    requests: dict[int, bytes]
    sent: dict[int, int] = field(default_factory=dict)
    is_awaited: bool = False
    answers: dict[int, Any] = field(default_factory=dict)
    failures: list[tuple[list[int], Cause]] = field(default_factory=list)


class EnvCalls(BasePool):
    """The part of `ProcessPool` that calls methods of environments and accesses attributes."""

    _supervisor: Lanes
    _wait_warnings: WaitWarnings
    # pickles for the workers
    _dumps: Dumps

    def __init__(self) -> None:
        super().__init__()
        # by lane, the last call that was sent to it
        self._calls: dict[int, Call] = {}
        # held while requests are sent
        self._call_lock = threading.Lock()

    def call(
        self,
        name: str,
        *args: Any,
        env_ids: Any = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """Calls a method of the environments named (None: all), or gets an attribute.

        Raises:
            StateError: an environment is in flight, or its worker is dead.
            PoolTimeoutError: a worker did not answer in time.
            Exception: what an environment raised.
        """
        timeout = seconds(timeout)
        return self.recv_call(self.send_call(name, args, kwargs, env_ids), timeout)

    def send_call(
        self,
        name: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        env_ids: Any = None,
    ) -> Call:
        """Does the first half of `call`: sends the requests and does not wait."""
        return self._ask(env_ids, "call", lambda ids: (name, args, kwargs or {}), name)

    def recv_call(self, call: Call, timeout: float | None = None) -> list[Any]:
        """Does the second half of `call`: waits for all answers.

        After PoolTimeoutError, or an exception such as Ctrl-C, it can be called again.
        """
        timeout = seconds(timeout)
        if call.is_awaited:
            raise BusyError(f"another thread waits for {call.what}: let one thread wait")
        # no function call since the check: no other thread can have begun to wait
        call.is_awaited = True
        try:
            if call.waiting:
                # an exception such as Ctrl-C may have ended the first half
                self._send_requests(call)
                self._await_answers(call, timeout)
        finally:
            call.is_awaited = False
        for ids, cause in call.failures:
            what = f"{self._name}: {call.kind} of environments {ids} failed"
            failures.raise_failures(what, {ids[0]: cause}, ids, ())
        return [call.answers.get(env_id) for env_id in call.env_ids]

    def _await_answers(self, call: Call, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        while call.waiting:
            lane, ids = next(iter(call.waiting.items()))
            is_done, answer = self._answer(lane, call, end, timeout)
            if not is_done:
                call.failures.append((ids, answer))
            elif answer is not None:
                call.answers.update(zip(ids, answer, strict=True))
            # not before: C gives the same answer again, if Ctrl-C comes
            del call.waiting[lane]

    def get_attr(self, name: str, env_ids: Any = None) -> list[Any]:
        """Gets an attribute of the environments named (None: all), which may be a method."""
        return self.recv_call(self._ask(env_ids, "get", lambda ids: (name,), name))

    def set_attr(self, name: str, values: Sequence[Any], env_ids: Any = None) -> None:
        """Sets an attribute of the environments named (None: all), each to its value."""
        ids = id_list(env_ids, self.num_envs)
        if len(values) != len(ids):
            raise ValueError(f"{len(values)} values: give one for each of {len(ids)} environments")
        by_id = dict(zip(ids, values, strict=True))
        self.recv_call(self._ask(env_ids, "set", lambda ids: (name, [by_id[i] for i in ids]), name))

    def apply(self, function: Callable[[Any], Any], env_ids: Any = None) -> list[Any]:
        """Calls a function in the workers with each of the environments named (None: all)."""
        return self.recv_call(self._ask(env_ids, "apply", lambda ids: (function,)))

    def _ask(
        self,
        env_ids: Any,
        kind: str,
        arguments: Callable[[list[int]], tuple[Any, ...]],
        name: str = "",
    ) -> Call:
        """Sends a request to every worker that has some of the environments."""
        call = self._prepare(env_ids, kind, arguments, name)
        self._send_requests(call)
        return call

    def _prepare(
        self,
        env_ids: Any,
        kind: str,
        arguments: Callable[[list[int]], tuple[Any, ...]],
        name: str,
    ) -> Call:
        """Returns a call whose requests were not sent."""
        check_usable(self)
        ids = id_list(env_ids, self.num_envs)
        if self.in_flight:
            raise StateError(f"{self.in_flight} environments are in flight: receive them first")
        if self._supervisor.lost:
            self._check_workers(env_ids)
        lanes: dict[int, list[int]] = {}
        for env_id in ids:
            lanes.setdefault(self._lane_of(env_id), []).append(env_id)
        # pickled before any is sent: an error leaves no worker with a request
        requests = {
            lane: self._dumps((kind, lane_ids, *arguments(lane_ids)))
            for lane, lane_ids in lanes.items()
        }
        return Call(kind, f"{kind} {name}" if name else kind, ids, lanes, requests)

    def _send_requests(self, call: Call) -> None:
        """Sends the requests of a call; those that were not sent, if Ctrl-C has come between."""
        sent = call.sent
        with self._call_lock:
            if not sent:
                # checked before any is sent: a call that one worker can't take is sent to none
                for lane in call.requests:
                    self._check_answered(lane)
            for lane in [*call.waiting]:
                if sent.get(lane, -1) >= 0:
                    continue
                self._calls[lane] = call
                data, error = call.requests[lane], error_slot.raw
                request = self._handle, lane, data, len(data), error
                # in one step: no exception can come between the two
                sent.update(zip([lane], starmap(lib.pp_pool_request, [request]), strict=True))
                if sent[lane] < 0 and lane in self._supervisor.lost:
                    # the lane was given up after the check above
                    call.failures.append((call.waiting[lane], self._supervisor.deaths[lane]))
                    del call.waiting[lane]
                else:
                    check(sent[lane])
        self._work_here()

    def _check_answered(self, lane: int) -> None:
        """Raises StateError if a worker has a request whose answer is still to come."""
        earlier = self._calls.get(lane)
        if earlier is None or lane not in earlier.waiting:
            return
        if not earlier.is_awaited:
            # the caller gave up waiting; nobody wants the answer
            data, size = ffi.new("const void **"), ffi.new("int64_t *")
            if lib.pp_pool_answer(self._handle, lane, 0, data, size, error_slot.raw):
                return
        raise BusyError(
            f"worker process {lane} has a request already ({earlier.what}): take its answer first"
        )

    def _answer(
        self, lane: int, call: Call, end: float | None, timeout: float | None
    ) -> tuple[bool, Any]:
        """Waits for a worker's answer to a call, until `end` on the monotonic clock.

        Returns:
            True and the answers, or False and the `Cause` for which there are none.
        """
        data, size = ffi.new("const void **"), ffi.new("int64_t *")
        while True:
            left = 10**9
            if end is not None:
                left = int(min(max(0.0, end - time.monotonic()), FOREVER) * 1e9)
            try:
                status = lib.pp_pool_answer(self._handle, lane, left, data, size, error_slot.raw)
            except KeyboardInterrupt as error:
                self._note_interrupt(error, [self._describe_call(lane, call)])
                raise
            if status == lib.PP_ERR_STATE and lane in self._supervisor.deaths:
                return False, self._supervisor.deaths[lane]
            check(status)
            if status:
                # empty: there was no memory even for the reason
                answer = pickle.loads(ffi.buffer(data[0], size[0])) if size[0] else (False, None)
                return bool(answer[0]), answer[1]
            key = (lane, id(call))
            self._wait_warnings.update([key], lambda _: self._describe_call(lane, call))
            if not left:
                raise PoolTimeoutError(
                    f"no answer within {timeout} s to {self._describe_call(lane, call)}: choose a"
                    " longer timeout"
                )

    def _describe_call(self, lane: int, call: Call) -> str:
        return (
            f"{call.what} of environments {call.waiting.get(lane, [])}"
            f" (worker process {self._supervisor.pid_of(lane)})"
        )

    def _note_interrupt(self, error: KeyboardInterrupt, awaited: list[str]) -> None:
        """Adds to Ctrl-C's exception what it has interrupted.

        Workers that are still in the same step or reset when the pool closes get less time to end.
        """
        if awaited:
            error.add_note(f"while waiting for {wait_warnings.joined(awaited)}")
        self._supervisor.note_interrupt()

    def _check_workers(self, env_ids: Any) -> None:
        """Raises StateError, with the reason, if one of the environments has lost its worker."""
        raise NotImplementedError

    def _lane_of(self, env_id: int) -> int:
        return int(lib.pp_pool_lane_of(self._handle, env_id))


def prepare_call(pool: EnvCalls, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    """Returns what `send_call` does, before anything is sent; `send_requests` does the rest."""
    return pool._prepare(None, "call", lambda ids: (name, args, kwargs), name)


def send_requests(pool: EnvCalls, call: Call) -> None:
    """Sends the requests of a prepared call.

    If an exception such as Ctrl-C comes after the first, `call.sent` has it, and `recv_call` sends
    the others.
    """
    pool._send_requests(call)
