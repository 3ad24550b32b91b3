"""BasePool: stepping and receiving for pools of threads and of processes.

One thread at a time may receive, and no exception loses a batch.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from parallel_pool._engine.arguments import FOREVER, check_count, nanoseconds, quote, seconds
from parallel_pool._engine.buffers import Column, Ring, Types, read_columns
from parallel_pool._engine.closing import Keeper
from parallel_pool._engine.env_ids import read_ids
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.named_batch import NamedBatch, batch_maker, field_names
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._engine.views import Views
from parallel_pool._native import ffi, lib, new_error, raise_error, text
from parallel_pool._tracing import opened
from parallel_pool._tracing.record import Setting
from parallel_pool._tracing.trace import MAX_SPANS, Trace
from parallel_pool.errors import BusyError, EnvError, StateError

if TYPE_CHECKING:
    import os
    from typing import NoReturn, Protocol, Self

    from parallel_pool._core import CData
    from parallel_pool._engine.maker import Maker
    from parallel_pool._engine.seeds import Seed

    class Reader(Protocol):
        """Converts the caller's actions to C's form; `actions.ActionReader` implements it."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Of one environment's action."""
            ...

        def read(self, actions: Any, count: int) -> tuple[CData, int]:
            """Returns actions of count environments in C's form, and the code of their dtype.

            The first result keeps its memory alive. Raises TypeError or ValueError.
            """
            ...


T = TypeVar("T")


# looked up once, because `step` is called often
NULL = ffi.NULL
step = lib.pp_pool_step
step_send = lib.pp_pool_send
receive = lib.pp_pool_recv
receive_some = lib.pp_pool_recv_some

# Which thread, if any, is inside `recv` of a pool:
# - IDLE: no thread.
# - INTERRUPTED: no thread, but an exception ended the last receive, perhaps after C had returned a
#   batch, which then never reached the user.
# - BUSY: one thread; a second one is refused.
# - SHARED: no thread, but compiled programs may (_apis/jax), so the ring must follow them first.
# `state & INTERRUPTED` is true for INTERRUPTED and SHARED: a batch may not have been delivered.
IDLE, INTERRUPTED, BUSY, SHARED = range(4)


class BasePool(Uncopied):
    """Many environments in one `pp_pool` of C, which takes actions and returns batches.

    A derived class decides whether threads or processes step them. It makes its `pp_pool` and
    passes it to `_adopt`; from then on the methods here work. For resets it defines
    `_reset_sender`. It may override these hooks:

    - `_work_here`: does what was sent, where no other thread or process does it;
    - `_tick`, `_on_interrupted_receive`: called during a wait, and when an exception ends it;
    - `_is_busy`, `_raise_busy`: whether a thread uses the pool, and the error for a second one;
    - `_raise_failed`: raises the error of a batch with failed environments;
    - `_worker_pids`: the processes that step.

    Attributes:
        columns: the arrays of a result, in order.
        num_envs, batch_size: as given or chosen.
        is_async: whether batch_size < num_envs.
        closed: whether `close` was called.
    """

    # name of the environments, for messages
    _name: str
    # "threads" or "processes", for messages
    _holds = "threads"
    # whether the thread that sends steps environments, outside of C's calls
    _is_local = False
    # of environments in Python
    _maker: Maker | None = None
    # numbers of threads or workers that it could have instead; None: any
    _choices: Sequence[int] | None = None

    def __init__(self) -> None:
        """Makes a pool without a `pp_pool`: only `close` works before `_adopt`."""
        self.closed = True
        # for the thread that receives; other threads use error_slot
        self._error = new_error()
        self._receive_state = IDLE
        # of the batch that `_deliver` returns, for the thread that receives
        self._keeps_shape = False

    def _adopt(
        self,
        handle: CData,
        batch_size: int,
        num_envs: int,
        reader: Reader,
        types: Types = (),
        memory: Sequence[object] = (),
    ) -> None:
        """Takes over a `pp_pool`, gives C its blocks of memory, and opens the pool.

        Args:
            handle: the `pp_pool *`, new, with its destructor: `ffi.gc(..., lib.pp_pool_destroy)`.
            batch_size, num_envs: of the `pp_pool`.
            reader: of the actions of `step` and `send`.
            types: of the fields, if C knows only their bytes.
            memory: objects whose memory C uses as long as the threads run.

        Raises:
            MemoryError: there is no memory for the batches.
        """
        self.num_envs = num_envs
        self.batch_size = batch_size
        self.is_async = batch_size < num_envs
        self._reader = reader
        self._handle = handle
        self._ring = Ring(handle, batch_size, types)
        # whether an exception ended the last receive outside of compiled programs
        self._was_interrupted_beside = False
        self._trace_lock = threading.Lock()
        self._keeper = Keeper(self._name, handle, self._ring, *memory)
        weakref.finalize(self, self._keeper.close_deleted).atexit = False
        self.closed = False
        for block in self._ring.fill():
            self._check(lib.pp_pool_offer(handle, block, self._error))
        self.columns: tuple[Column, ...] = read_columns(handle, types)
        self._to_named = batch_maker(field_names(self.columns))

    def _announce(self) -> None:
        """Tells the listeners; the last thing that making a pool does."""
        for listener in opened.listeners:
            listener(self)

    # ------------------------------------------------------------------------------ stepping --

    def step(
        self, actions: Any, env_ids: Any = None, *, timeout: float | None = None
    ) -> NamedBatch:
        """Sends actions and receives the next batch.

        Args:
            actions: one for each of env_ids, shape (count, *action shape); arrays and lists of any
                integer (Discrete) or real (Box) dtype.
            env_ids: their environments, integers (count,); None for all, in order.
            timeout: seconds.

        Returns:
            The arrays of `columns`, (batch_size, *shape) of the column's dtype each: a named tuple,
            see `NamedBatch`.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong; nothing was sent.
            StateError: an environment is in flight, or results of an earlier call are pending.
            EnvError: environments failed.
            PoolTimeoutError: not done in time; `recv` returns the results.
        """
        batch: NamedBatch = self.step_as(self._to_named, actions, env_ids, timeout)
        return batch

    def step_as(
        self,
        convert: Callable[[Views], T],
        actions: Any,
        env_ids: Any = None,
        timeout: float | None = None,
    ) -> T:
        """Does a step and returns the result of `convert`, for APIs with their own form of results.

        Args:
            convert: a function of views: for each of `columns` a function that returns its array.
                `convert` must call those that it needs before it returns. After an exception, such
                as Ctrl-C, the next receive calls it again with the same batch: then it must change
                nothing.
            actions: as for `step`.
            env_ids: as for `step`.
            timeout: as for `step`.
        """
        count, ids = (self.num_envs, NULL) if env_ids is None else read_ids(env_ids, self.num_envs)
        data, code = self._reader.read(actions, count)
        state = self._receive_state
        if state > INTERRUPTED or timeout is not None:
            return self._step_within(convert, ids, count, data, code, timeout)
        self._receive_state = BUSY
        try:
            if state == INTERRUPTED:
                self._check_undelivered(ids, count, is_step=True)
                lost = self._taken()
                if lost:
                    self._check(step_send(self._handle, ids, count, data, code, self._error))
                    return self._deliver(convert, lost)
            ring = self._ring
            rows = step(self._handle, ids, count, data, code, ring.next_memory, self._error)
            if rows == self.batch_size:
                result = convert(ring.oldest.views)
                ring.swap()
                self._receive_state = IDLE
                return result
            return self._wait(convert, rows, None)
        finally:
            if self._receive_state == BUSY:
                self._receive_state = INTERRUPTED
                self._on_interrupted_receive()

    def send(self, actions: Any, env_ids: Any = None) -> None:
        """Queues one action for each of env_ids (None: all); on an error none is queued.

        Args:
            actions: as for `step`.
            env_ids: as for `step`.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong.
            StateError: an environment is in flight already.
        """
        count, ids = (self.num_envs, NULL) if env_ids is None else read_ids(env_ids, self.num_envs)
        data, code = self._reader.read(actions, count)
        if self._receive_state & INTERRUPTED and self._was_interrupted():
            self._check_undelivered(ids, count)
        error = error_slot.raw
        status = step_send(self._handle, ids, count, data, code, error)
        if status < 0:
            raise_error(status, error)

    def recv(self, *, timeout: float | None = None, min_rows: int | None = None) -> NamedBatch:
        """Returns the next batch: all environments in flight, or if asynchronous the first to
        finish.

        Args:
            timeout: seconds; with a timeout it also waits for actions that another thread sends.
            min_rows: asynchronous: 1 to batch_size; a batch with fewer rows will do, if it has at
                least these. It has the rows that are ready after the timeout, or that are ready
                when these are if there is no timeout. A full batch is returned at once.

        Returns:
            The arrays of `columns`, (batch_size, *shape) of the column's dtype each: a named tuple,
            see `NamedBatch`. With min_rows they still have batch_size rows, of which the first
            `num_rows` are results; the others are zero, with env_id -1. `rows()` returns the
            results alone.

        Raises:
            TypeError, ValueError: min_rows is wrong, or the pool is synchronous.
            StateError: too few environments are in flight, or another thread is receiving.
            EnvError: environments failed.
            PoolTimeoutError: nothing, or less than min_rows, arrived in time; nothing is lost.
        """
        if min_rows is not None:
            return recv_some_as(self, self._to_named, timeout, min_rows)
        batch: NamedBatch = self.recv_as(self._to_named, timeout)
        return batch

    def recv_as(self, convert: Callable[[Views], T], timeout: float | None = None) -> T:
        """Receives as `recv` does, and returns the result of `convert`; see `step_as`."""
        state = self._receive_state
        if state > INTERRUPTED or timeout is not None:
            return self._recv_waiting(convert, seconds(timeout), 0)
        # no function call since the check: no other thread can have begun to receive
        self._receive_state = BUSY
        try:
            lost = self._taken() if state == INTERRUPTED else 0
            return self._deliver(convert, lost) if lost else self._receive(convert)
        finally:
            if self._receive_state == BUSY:
                self._receive_state = INTERRUPTED
                self._on_interrupted_receive()

    def _receive(self, convert: Callable[[Views], T]) -> T:
        """Receives without a timeout; for the thread that is in state BUSY."""
        ring = self._ring
        rows = receive(self._handle, ring.next_memory, -1, self._error)
        if rows == self.batch_size:
            result = convert(ring.oldest.views)
            ring.swap()
            self._receive_state = IDLE
            return result
        return self._wait(convert, rows, None)

    # --------------------------------------------------------------------------------- state --

    @property
    def in_flight(self) -> int:
        """The number of environments that were sent an action or reset and not yet received."""
        lost = self._lost_ids() if self._was_interrupted() else ()
        return int(lib.pp_pool_in_flight(self._handle)) + len(lost)

    @property
    def was_interrupted(self) -> bool:
        """Whether an exception ended the last receive, and its results are still in flight."""
        return self._was_interrupted() and self.in_flight > 0

    @property
    def worker_pids(self) -> tuple[int | None, ...]:
        """The process ids of the workers, () if threads or this process step the environments.

        In order of their environments; None for a worker that has died or was ended. A process that
        replaces it has another id.
        """
        return tuple(self._worker_pids())

    def stats(self) -> dict[str, int]:
        """Returns counts since the pool was made: steps, batches, waits, wakes and others."""
        stats = ffi.new("pp_stats *")
        lib.pp_pool_stats(self._handle, stats)
        return {name: getattr(stats, name) for name, _ in ffi.typeof("pp_stats").fields}

    def trace(
        self, path: str | os.PathLike[str] | None = None, *, max_spans: int = MAX_SPANS
    ) -> Trace:
        """Returns a `Trace`, which records where the time goes while its `with` block runs.

        Args:
            path: of a file in Chrome's trace format, written at the end; ui.perfetto.dev shows it.
            max_spans: steps, calls and others that are kept, of 32 bytes each. With more, the trace
                shows only the time up to there.

        Raises:
            OSError: path can't be a file that is written (FileNotFoundError: it has no folder;
                IsADirectoryError: it is one); or at the end of the block, if the file can't be
                written after all. If the block ends with an exception, that goes on, and a
                RuntimeWarning and a note of it say why there is no file.
            ValueError: path holds a zero byte.
            StateError: at the beginning of the block, if another trace of this pool is running.
        """
        setting = Setting(
            self._name,
            self.num_envs,
            self.batch_size,
            self.stats()["num_threads"],
            self._holds == "processes",
            int(lib.pp_usable_cores(NULL)),
            self._is_local,
            self._maker,
            self._choices,
        )
        return Trace(
            *(self._handle, self._trace_lock, setting, self._worker_pids, path),
            max_spans=max_spans,
        )

    def _reset_sender(self, env_ids: Any, seed: Seed, options: Any) -> object:
        """Checks the arguments of a reset, and returns what sends it; of a derived class."""
        raise NotImplementedError

    def _worker_pids(self) -> Sequence[int | None]:
        """Returns the pids of worker processes; a method, to which traces refer weakly."""
        return ()

    def close(self, *, timeout: float | None = None) -> None:
        """Ends the threads or processes, each after the environment it is stepping; arrays stay
        valid.

        Args:
            timeout: seconds to wait for that; None for 5. A thread can't be killed: one that still
                runs then keeps its memory, until it ends or the process does. May be math.inf.

        Raises:
            TypeError, ValueError: timeout is wrong.

        Warns:
            RuntimeWarning: a thread still runs; it names the environment that it is stepping.
        """
        limit = seconds(timeout)
        self.closed = True
        if hasattr(self, "_keeper"):
            self._keeper.close(limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, num_envs={self.num_envs})"

    # ------------------------------------------------------------------------------- private --

    def _check(self, status: int) -> None:
        if status < 0:
            raise_error(status, self._error)

    def _step_within(
        self,
        convert: Callable[[Views], T],
        ids: CData,
        count: int,
        data: CData,
        code: int,
        timeout: float | None,
    ) -> T:
        """Sends and receives: a step that has a timeout, or finds that another thread receives."""
        timeout = seconds(timeout)
        if self._receive_state == BUSY:
            self._raise_busy()
        if not self.is_async and self.in_flight:
            check_usable(self)
            raise StateError(
                f"results of an earlier call are pending ({self.in_flight} environments): receive"
                " them first"
            )

        def send(is_undelivered: bool) -> None:
            if is_undelivered:
                self._check_undelivered(ids, count)
            check(step_send(self._handle, ids, count, data, code, error_slot.raw))

        return self._exchange(convert, count, send, timeout)

    def _exchange(
        self,
        convert: Callable[[Views], T],
        count: int,
        send: Callable[[bool], None],
        timeout: float | None,
    ) -> T:
        """Sends and receives as one call: if it is refused, nothing was sent.

        Args:
            convert: as for `step_as`.
            count: how many environments it sends to.
            send: sends, while no other thread can receive. It is called with whether an exception
                ended the last receive, and raises if it is refused.
            timeout: seconds.
        """

        def send_and_work(is_undelivered: bool) -> None:
            self._check_fills_batch(count, timeout)
            send(is_undelivered)
            self._work_here()

        return self._recv_waiting(convert, timeout, 0, send_and_work)

    def _check_fills_batch(self, count: int, timeout: float | None) -> None:
        """Refuses to send to so few environments that a receive without timeout has no batch."""
        if timeout is not None or not self.is_async:
            return
        ready = int(lib.pp_pool_in_flight(self._handle)) + count
        if ready < self.batch_size and not self._taken():
            check_usable(self)
            raise StateError(
                f"{count} environments would leave {ready} in flight, a batch needs"
                f" {self.batch_size}: name more environments, or send to these and others before"
                " recv()"
            )

    def _work_here(self) -> None:
        """Does what was sent, if no other thread or process does."""

    def _check_min_rows(self, min_rows: Any) -> int:
        if not self.is_async:
            raise ValueError(
                f"min_rows={quote(min_rows)}: a synchronous pool (batch_size={self.batch_size},"
                f" num_envs={self.num_envs}) returns all that was sent: choose batch_size <"
                " num_envs, or leave min_rows out"
            )
        return check_count("min_rows", min_rows, 1, self.batch_size)

    def _recv_waiting(
        self,
        convert: Callable[[Views], T],
        timeout: float | None,
        min_rows: int,
        send: Callable[[bool], None] | None = None,
    ) -> T:
        """Receives with a timeout or min_rows (0: none), or beside other threads and programs.

        With `send`, it first sends; see `_exchange`.
        """
        state = self._receive_state
        if state == BUSY:
            self._raise_busy()
        if state == SHARED:
            return self._recv_beside_programs(convert, timeout, min_rows, send)
        # no function call since the check: no other thread can have begun to receive
        self._receive_state = BUSY
        try:
            if send is not None:
                send(state == INTERRUPTED)
            lost = self._taken() if state == INTERRUPTED else 0
            if lost:
                return self._deliver(convert, lost, keeps_shape=min_rows > 0)
            return self._wait(convert, 0, timeout, min_rows)
        finally:
            if self._receive_state == BUSY:
                self._receive_state = INTERRUPTED
                self._on_interrupted_receive()

    def _recv_soon(self, convert: Callable[[Views], T], timeout: float) -> T | None:
        """Receives within a timeout, of which C takes 50 ms at most; None if there is no batch.

        For one thread that receives all of this pool's batches, as `recv` may cost much more with
        many workers: it asks each of them what it is doing.
        """
        state = self._receive_state
        if state == BUSY:
            self._raise_busy()
        # no function call since the check: no other thread can have begun to receive
        self._receive_state = BUSY
        try:
            lost = self._taken() if state == INTERRUPTED else 0
            ring = self._ring
            rows = lost or receive(self._handle, ring.next_memory, int(timeout * 1e9), self._error)
            if rows == self.batch_size:
                result = convert(ring.oldest.views)
                ring.swap()
            elif rows:
                result = self._deliver(convert, rows)
            else:
                result = None
            self._receive_state = IDLE
            return result
        finally:
            if self._receive_state == BUSY:
                self._receive_state = INTERRUPTED

    def _recv_rows(
        self, convert: Callable[[Views, int, Sequence[int]], T], timeout: float
    ) -> T | None:
        """Receives the rows that are there, and waits for the first; see `recv_rows`."""
        state = self._receive_state
        if state == BUSY:
            self._raise_busy()
        # no function call since the check: no other thread can have begun to receive
        self._receive_state = BUSY
        try:
            ring, handle = self._ring, self._handle
            rows = self._taken() if state == INTERRUPTED else 0
            if not rows and self.is_async and lib.pp_pool_in_flight(handle):
                rows = receive_some(handle, ring.next_memory, 1, -1, self._error)
            elif not rows:
                rows = receive(handle, ring.next_memory, int(timeout * 1e9), self._error)
            failed: list[int] = []
            if rows == lib.PP_ERR_ENV:
                failed, rows = self._failed()
            elif rows < 0:
                raise_error(rows, self._error)
            result = None
            if rows:
                result = convert(ring.oldest.views, rows, failed)
                ring.swap()
            self._receive_state = IDLE
            return result
        finally:
            if self._receive_state == BUSY:
                self._receive_state = INTERRUPTED

    def _recv_beside_programs(
        self,
        convert: Callable[[Views], T],
        timeout: float | None,
        min_rows: int,
        send: Callable[[bool], None] | None,
    ) -> T:
        """Receives from a pool that compiled programs use too."""
        self._receive_state = BUSY
        number, ring = self._keeper.number, self._ring
        try:
            held = ffi.new("void *[]", lib.pp_pool_batches(self._handle) + 1)
            status = lib.pp_xla_enter(number, held, error_slot.raw)
            if status == lib.PP_ERR_STATE:
                raise BusyError(text(error_slot.raw.text))
            if send is not None:
                send(self._was_interrupted_beside)
            lost = self._taken() if self._was_interrupted_beside else 0
            if lost:
                # no program has received since
                return self._deliver(convert, lost, keeps_shape=min_rows > 0)
            if status != lib.PP_ERR_CLOSED:
                *blocks, apart = (held[i] for i in range(len(held)))
                ring.follow(blocks, apart)
            return self._wait(convert, 0, timeout, min_rows)
        finally:
            # `_result` has set it to IDLE
            self._was_interrupted_beside = self._receive_state == BUSY
            try:
                lib.pp_xla_leave(number)
            finally:
                self._receive_state = SHARED
            if self._was_interrupted_beside:
                self._on_interrupted_receive()

    def _is_busy(self) -> bool:
        """Returns whether a thread is receiving or stepping."""
        return self._receive_state == BUSY

    def _raise_busy(self) -> NoReturn:
        check_usable(self)
        raise BusyError("another thread is receiving from this pool: let one thread receive")

    def _was_interrupted(self) -> bool:
        """Returns whether an exception ended the last receive."""
        state = self._receive_state
        return state == INTERRUPTED or (state == SHARED and self._was_interrupted_beside)

    def _taken(self) -> int:
        """Returns C's status for a batch that never reached the user, 0 if there is none."""
        return int(lib.pp_pool_last_result(self._handle, self._ring.next_memory))

    def _lost_ids(self) -> list[int]:
        """Returns the ids of the environments in a batch that never reached the user."""
        rows = self._taken()
        if rows == lib.PP_ERR_ENV:
            _, rows = self._failed()
        place = [column.name for column in self.columns].index("env_id")
        return [int(env_id) for env_id in self._ring.oldest.arrays[place][:rows]]

    def _check_undelivered(self, ids: CData, count: int, is_step: bool = False) -> None:
        """Refuses environments whose results never reached the user, because of an exception."""
        lost = self._lost_ids()
        if lost:
            check_usable(self)
        if lost and is_step and not self.is_async:
            raise StateError(
                f"results of an earlier call are pending ({len(lost)} environments): receive them"
                " first"
            )
        named = range(self.num_envs) if ids == NULL else ffi.unpack(ids, count)
        for env_id in set(lost).intersection(named):
            raise StateError(
                f"environment {env_id} is already in flight: receive its result before sending to"
                " it again"
            )

    def _wait(
        self, convert: Callable[[Views], T], rows: int, timeout: float | None, min_rows: int = 0
    ) -> T:
        """Waits for a batch, an error, or the timeout; for the thread that receives."""
        end = None if timeout is None else time.monotonic() + timeout
        while rows == 0:
            self._tick()
            left = -1
            if end is not None:
                left = int(min(max(0.0, end - time.monotonic()), FOREVER) * 1e9)
            fresh = self._ring.next_memory
            if min_rows:
                rows = receive_some(self._handle, fresh, min_rows, left, self._error)
            else:
                rows = receive(self._handle, fresh, left, self._error)
            if rows == 0 and left == 0:
                limit = nanoseconds(timeout)
                self._check(lib.pp_pool_explain_timeout(self._handle, min_rows, limit, self._error))
        return self._deliver(convert, rows, keeps_shape=min_rows > 0)

    def _tick(self) -> None:
        """Called about every 50 ms during a wait for a batch."""

    def _on_interrupted_receive(self) -> None:
        """Called when an exception ends a wait early."""

    def _deliver(self, convert: Callable[[Views], T], rows: int, *, keeps_shape: bool = False) -> T:
        """Returns the result of `convert` for the batch of a receive, or raises its error.

        Args:
            convert: as for `step_as`.
            rows: C's status.
            keeps_shape: the batch has batch_size rows, results or not.
        """
        self._keeps_shape = keeps_shape
        if rows > 0:
            return self._result_as(convert, rows)
        if rows == lib.PP_ERR_ENV:
            self._raise_failed()
        raise_error(rows, self._error)

    def _result_as(self, convert: Callable[[Views], T], rows: int) -> T:
        """Takes the batch and ends the receive; after an exception of `convert` it is not taken."""
        ring = self._ring
        views = ring.oldest.views
        if not self._keeps_shape:
            views = [array[:rows].view for array in ring.oldest.arrays]
        result = convert(views)
        ring.swap()
        self._receive_state = IDLE
        return result

    def _failed(self) -> tuple[list[int], int]:
        """Returns the ids of the environments that failed in C's last batch, and its rows."""
        count, rows = ffi.new("int32_t *"), ffi.new("int32_t *")
        failed = lib.pp_pool_failed(self._handle, count, rows)
        return ffi.unpack(failed, count[0]), rows[0]

    def _raise_failed(self) -> NoReturn:
        """Raises the EnvError of a batch with failed environments.

        For the thread that receives. It makes the exception as results are made, by `_result_as`,
        which then takes the batch and ends the receive: Ctrl-C loses neither.
        """
        env_ids, rows = self._failed()
        first = text(lib.pp_pool_env_error(self._handle, env_ids[0]).text)
        others = f" (and {len(env_ids) - 1} more)" if len(env_ids) > 1 else ""
        what = f"{self._name}: environment {env_ids[0]}{others} failed: {first}"
        # no function call since the pool has handed the batch over
        raise self._result_as(lambda views: EnvError(what, env_ids, self._to_named(views)), rows)


def recv_some_as(
    pool: BasePool, convert: Callable[[Views], T], timeout: float | None, min_rows: Any
) -> T:
    """Receives as `recv` does with min_rows, and returns the result of `convert`; see `step_as`."""
    return pool._recv_waiting(convert, seconds(timeout), pool._check_min_rows(min_rows))


def has_batch(pool: BasePool) -> bool:
    """Returns whether `recv_soon` would return a batch at once; for the thread that calls it."""
    # negative if the pool is closed or broken, which `recv_soon` raises
    return bool(lib.pp_pool_has_batch(pool._handle) > 0)


def is_in_flight(pool: BasePool, env_id: int) -> bool:
    """Returns whether an environment was sent something that was not received yet."""
    return bool(lib.pp_pool_needs_reset(pool._handle, env_id) == lib.PP_ERR_STATE)


def recv_soon(pool: BasePool, convert: Callable[[Views], T], timeout: float) -> T | None:
    """Returns the result of `convert` for the next batch; None if there is none soon.

    For the one thread that receives a pool's batches.

    Args:
        pool: the pool.
        convert: as for `BasePool.step_as`.
        timeout: seconds; after 50 ms it returns None earlier.

    Raises:
        EnvError: environments failed.
        ClosedError, BrokenPoolError: the pool can't be used.
    """
    return pool._recv_soon(convert, timeout)


def recv_rows(
    pool: BasePool, convert: Callable[[Views, int, Sequence[int]], T], timeout: float
) -> T | None:
    """Returns the result of `convert` for all rows that are there; None if there is none soon.

    For the one thread that receives a pool's batches.

    Args:
        pool: the pool.
        convert: called with functions that return the arrays of a batch, the number of rows in it,
            and the ids of environments that have failed.
        timeout: seconds; it may return None earlier or later, within 50 ms.

    Raises:
        ClosedError, BrokenPoolError: the pool can't be used.
    """
    return pool._recv_rows(convert, timeout)
