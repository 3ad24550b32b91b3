"""What every kind of pool has in common: whose turn it is, so that no exception loses a batch."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parallel_pool._native import ffi, lib, new_error, raise_error, text
from parallel_pool.arguments import shown, whole
from parallel_pool.buffers import Array, Column, Ring, Types, read_columns
from parallel_pool.errors import BusyError, EnvError, PoolTimeoutError, StateError
from parallel_pool.named_batch import NamedBatch, field_names, shower

if TYPE_CHECKING:
    from typing import NoReturn, Protocol, Self

    from parallel_pool._core import CData

    class Reader(Protocol):
        """Makes of the caller's actions what C takes; `actions.ActionReader` is one."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Of one environment's action."""

        def read(self, actions: Any, count: int) -> tuple[CData, int]:
            """Returns actions of count environments, which must live as long as what is returned,
            and the code of their dtype; raises TypeError or ValueError."""


INT32 = np.dtype(np.int32)
# seconds; more than a computer runs, and few enough to be nanoseconds in 64 bits
FOREVER = 1e9

# looked up once, for the sake of step
NULL = ffi.NULL
from_buffer = ffi.from_buffer
ndarray = np.ndarray
step = lib.pp_pool_step
step_send = lib.pp_pool_send
receive = lib.pp_pool_recv
INT32S = ffi.typeof("int32_t[]")

Batch = tuple[Array, ...]
Views = Sequence[Callable[[], Array]]


def show_all(views: Views) -> Batch:
    """All arrays of a batch."""
    return tuple([view() for view in views])


def show_batch(show: Callable[[Views], Any], batch: Batch) -> Any:
    """What `show` makes of arrays that are made already."""
    return show([array.view for array in batch])


# whose turn it is to receive: nobody's; a thread's; nobody's, and an exception may have come
# between a batch that C gave and the user
IDLE, BUSY, UNSETTLED = range(3)


class OwnError(threading.local):
    """For each thread its own `pp_error`: C writes to it without Python's lock."""

    def __init__(self) -> None:
        self.raw = new_error()


own_error = OwnError()


def check(status: int) -> None:
    """Raises what a call with `own_error` came to."""
    if status < 0:
        raise_error(status, own_error.raw)


def seconds(timeout: Any, name: str = "timeout") -> float | None:
    """Returns a timeout; raises TypeError or ValueError if it is none."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={shown(timeout)} is a {type(timeout).__name__}: give seconds")
    if not timeout >= 0:
        raise ValueError(f"{name}={shown(timeout)}: choose 0 or more seconds, or None")
    # an integer may be more than any float
    return math.inf if timeout > FOREVER else cast("float", timeout)


def _as_array(env_ids: Any) -> Array:
    """Returns an array of what names environments; raises ValueError if it can't be one."""
    if isinstance(env_ids, np.ma.MaskedArray) and env_ids.mask.any():
        raise ValueError(
            f"env_ids={shown(env_ids)} has a mask: give env_ids.compressed(), without what it hides"
        )
    try:
        return np.asarray(env_ids)
    except ValueError:
        raise ValueError(f"env_ids={shown(env_ids)} is no array: give a list of integers") from None


def _shut(handle: CData, ring: Ring) -> None:
    """Ends what steps before the memory it writes to is let go of; `ring` is held until then."""
    lib.pp_pool_close(handle)


class BasePool:
    """Many environments behind one `pp_pool` of C, which are sent actions and give batches.

    What steps them, threads or processes, is for the classes made from this one. Such a class makes
    its `pp_pool` and gives it to `_adopt`; from then on everything here works. It may say by
    `_raise_failed` what becomes of environments that failed.

    Attributes:
        columns: the arrays of a result, in order.
        num_envs, batch_size: as given or chosen.
        is_async: whether batch_size < num_envs.
        closed: whether `close` was called.
    """

    # what the environments are, for messages
    _name: str
    # what steps them, for messages
    _holds = "threads"

    def __init__(self) -> None:
        """A pool without a `pp_pool`: nothing but `close` works before `_adopt`."""
        self.closed = True
        # of the thread whose turn it is; others have their own
        self._error = new_error()
        self._turn = IDLE

    def _adopt(
        self,
        handle: CData,
        batch_size: int,
        num_envs: int,
        reader: Reader,
        types: Types = (),
    ) -> None:
        """Makes this the pool of `handle`, gives C its blocks of memory, and opens it.

        Args:
            handle: the `pp_pool *`, new, with its destructor: `ffi.gc(..., lib.pp_pool_destroy)`.
            batch_size, num_envs: as C has them.
            reader: of the actions of `step` and `send`.
            types: of the fields, where C knows only their bytes.

        Raises:
            MemoryError: there is no memory for the batches.
        """
        self.num_envs = num_envs
        self.batch_size = batch_size
        self.is_async = batch_size < num_envs
        self._reader = reader
        self._handle = handle
        self._ring = Ring(handle, batch_size, types)
        self._shut = weakref.finalize(self, _shut, handle, self._ring)
        self.closed = False
        for memory in self._ring.fill():
            self._check(lib.pp_pool_offer(handle, memory, self._error))
        self.columns: tuple[Column, ...] = read_columns(handle, types)
        self._show = shower(field_names(self.columns))

    # ------------------------------------------------------------------------------ stepping --

    def step(
        self, actions: Any, env_ids: Any = None, *, timeout: float | None = None
    ) -> NamedBatch:
        """Sends actions and receives the next batch.

        Args:
            actions: one for each environment named, shape (count, *action shape); arrays and lists
                of any integer (Discrete) or real (Box) dtype.
            env_ids: whom they are for; None for all, in order.
            timeout: seconds.

        Returns:
            The arrays of `columns`, rows first: a named tuple, see `NamedBatch`.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong; nothing was sent.
            StateError: an environment is in flight, or results of an earlier call are pending.
            EnvError: environments failed.
            PoolTimeoutError: not done in time; `recv` returns the results.
        """
        batch: NamedBatch = self.step_shown(self._show, actions, env_ids, timeout)
        return batch

    def step_shown(
        self,
        show: Callable[[Views], Any],
        actions: Any,
        env_ids: Any = None,
        timeout: float | None = None,
    ) -> Any:
        """A step whose result is made by `show`, for faces that have their own.

        Args:
            show: takes one function for each of `columns`, which returns its array, and returns
                the result; it must call those it needs at once.
            actions, env_ids, timeout: as for `step`.
        """
        count, ids = (self.num_envs, NULL) if env_ids is None else self._ids(env_ids)
        data, code = self._reader.read(actions, count)
        turn = self._turn
        if turn == BUSY or timeout is not None:
            return self._dress(show, self._step_within(ids, count, data, code, timeout))
        self._turn = BUSY
        try:
            if turn == UNSETTLED:
                self._check_settled(ids, count, is_step=True)
                lost = self._taken()
                if lost:
                    self._check(step_send(self._handle, ids, count, data, code, self._error))
                    return self._dress(show, self._deliver(lost))
            ring = self._ring
            rows = step(self._handle, ids, count, data, code, ring.fresh, self._error)
            if rows == self.batch_size:
                result = show(ring.oldest.views)
                ring.swap()
                self._turn = IDLE
                return result
            return self._dress(show, self._wait(rows, None))
        finally:
            if self._turn == BUSY:
                self._turn = UNSETTLED
                self._note_unsettled()

    def send(self, actions: Any, env_ids: Any = None) -> None:
        """Queues one action for each environment named (None: all); all of them or none.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong.
            StateError: an environment is in flight already.
        """
        count, ids = (self.num_envs, NULL) if env_ids is None else self._ids(env_ids)
        data, code = self._reader.read(actions, count)
        if self._turn == UNSETTLED:
            self._check_settled(ids, count)
        error = own_error.raw
        status = step_send(self._handle, ids, count, data, code, error)
        if status < 0:
            raise_error(status, error)

    def recv(self, *, timeout: float | None = None) -> NamedBatch:
        """Returns the next batch: all that is in flight, or (asynchronous) the first to finish.

        With a timeout (seconds) it also waits for what another thread is going to send.

        Raises:
            StateError: too few environments are in flight, or another thread is receiving.
            EnvError: environments failed.
            PoolTimeoutError: nothing came in time.
        """
        batch: NamedBatch = self.recv_shown(self._show, timeout)
        return batch

    def recv_shown(self, show: Callable[[Views], Any], timeout: float | None = None) -> Any:
        """A receive whose result is made by `show`, as for `step_shown`."""
        timeout = seconds(timeout)
        turn = self._turn
        if turn == BUSY:
            self._refuse_turn()
        # no call since the look, so that no other thread came in between
        self._turn = BUSY
        try:
            lost = self._taken() if turn == UNSETTLED else 0
            if lost:
                return self._dress(show, self._deliver(lost))
            if timeout is not None:
                return self._dress(show, self._wait(0, timeout))
            ring = self._ring
            rows = receive(self._handle, ring.fresh, -1, self._error)
            if rows == self.batch_size:
                result = show(ring.oldest.views)
                ring.swap()
                self._turn = IDLE
                return result
            return self._dress(show, self._wait(rows, None))
        finally:
            if self._turn == BUSY:
                self._turn = UNSETTLED
                self._note_unsettled()

    # -------------------------------------------------------------------------- about itself --

    @property
    def in_flight(self) -> int:
        """Environments sent to and not yet received."""
        lost = self._lost_ids() if self._turn == UNSETTLED else ()
        return int(lib.pp_pool_in_flight(self._handle)) + len(lost)

    def stats(self) -> dict[str, int]:
        """Returns what the pool has done so far: counts of steps, batches, waits and wakes."""
        stats = ffi.new("pp_stats *")
        lib.pp_pool_stats(self._handle, stats)
        return {name: getattr(stats, name) for name, _ in ffi.typeof("pp_stats").fields}

    def close(self) -> None:
        """Ends what steps, each after the environment it is stepping. Arrays stay valid."""
        self.closed = True
        if hasattr(self, "_shut"):
            self._shut()
            # another thread may have been first, and be waiting still
            lib.pp_pool_close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, num_envs={self.num_envs})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a pool holds {self._holds} and cannot be pickled or copied: make a new one"
        )

    # -------------------------------------------------------------------------------- inside --

    def _check(self, status: int) -> None:
        if status < 0:
            raise_error(status, self._error)

    def _ids(self, env_ids: Any) -> tuple[int, CData]:
        """Returns how many environments are named, and their ids for C."""
        if (
            type(env_ids) is ndarray
            and env_ids.dtype is INT32
            and env_ids.ndim == 1
            and len(env_ids)
        ):
            # as a result's env_id is; contextlib.suppress costs ten times as much
            try:
                return len(env_ids), from_buffer(INT32S, env_ids)
            except ValueError:  # not contiguous
                pass
        ids = np.atleast_1d(_as_array(env_ids))
        if ids.dtype is not INT32 or not ids.flags.c_contiguous or ids.ndim != 1:
            if ids.dtype.kind in "OSU":
                self._refuse_ids(env_ids)
            if ids.dtype.kind not in "iu" and ids.size:
                raise TypeError(f"env_ids have dtype {ids.dtype}: give integers")
            if ids.ndim != 1:
                raise ValueError(f"env_ids have shape {ids.shape}: give one axis")
            if ids.size and not (ids.min() >= 0 and ids.max() < self.num_envs):
                wrong = ids[(ids < 0) | (ids >= self.num_envs)][0]
                raise ValueError(f"env_id {wrong}: choose 0 to {self.num_envs - 1}")
            ids = np.ascontiguousarray(ids, INT32)
        if not ids.size:
            raise ValueError("no environment is named: name 1 or more")
        return len(ids), from_buffer(INT32S, ids)

    def _refuse_ids(self, env_ids: Any) -> NoReturn:
        """Raises what is wrong with ids that are no numbers to NumPy."""
        if isinstance(env_ids, (list, tuple, int)):
            for env_id in env_ids if isinstance(env_ids, (list, tuple)) else [env_ids]:
                self._one_id(env_id)
        raise TypeError(
            f"env_ids={shown(env_ids)} is a {type(env_ids).__name__}: give an integer, or a list of"
            " integers"
        )

    def _one_id(self, env_id: Any) -> int:
        """Returns the id of one environment; raises TypeError or ValueError."""
        number = whole("env_id", env_id)
        if not 0 <= number < self.num_envs:
            raise ValueError(f"env_id {shown(number)}: choose 0 to {self.num_envs - 1}")
        return number

    def _id_list(self, env_ids: Any) -> list[int]:
        if env_ids is None:
            return list(range(self.num_envs))
        count, ids = self._ids(env_ids)
        named = list(ffi.unpack(ids, count))
        # arrays of the right dtype have been left to C so far
        for env_id in named:
            if not 0 <= env_id < self.num_envs:
                raise ValueError(f"env_id {env_id}: choose 0 to {self.num_envs - 1}")
        return named

    def _step_within(
        self, ids: CData, count: int, data: CData, code: int, timeout: float | None
    ) -> NamedBatch:
        """A step with a timeout, or one that finds another thread receiving."""
        timeout = seconds(timeout)
        if self._turn == BUSY:
            self._refuse_turn()
        if not self.is_async and self.in_flight:
            self._check_usable()
            raise StateError(
                f"results of an earlier call are pending ({self.in_flight} environments): receive"
                " them first"
            )
        if self._turn == UNSETTLED:
            self._check_settled(ids, count)
        error = own_error.raw
        status = step_send(self._handle, ids, count, data, code, error)
        if status < 0:
            raise_error(status, error)
        return self.recv(timeout=timeout)

    def _check_usable(self) -> None:
        """A pool that is closed, broken, or was forked, says that before anything else."""
        status = lib.pp_pool_needs_reset(self._handle, 0)
        if status in (lib.PP_ERR_FORKED, lib.PP_ERR_CLOSED, lib.PP_ERR_BROKEN):
            check(lib.pp_pool_get_state(self._handle, 0, NULL, 0, own_error.raw))

    def _refuse_turn(self) -> NoReturn:
        self._check_usable()
        raise BusyError("another thread is receiving from this pool: let one thread receive")

    def _taken(self) -> int:
        """What C returned for a batch that never came to the user, 0: there is none."""
        return int(lib.pp_pool_last_result(self._handle, self._ring.fresh))

    def _lost_ids(self) -> list[int]:
        """The environments of such a batch."""
        rows = self._taken()
        if rows == lib.PP_ERR_ENV:
            _, rows = self._failed()
        place = [column.name for column in self.columns].index("env_id")
        return [int(env_id) for env_id in self._ring.oldest.arrays[place][:rows]]

    def _check_settled(self, ids: CData, count: int, is_step: bool = False) -> None:
        """Refuses environments whose result an exception kept from the user."""
        lost = self._lost_ids()
        if lost:
            self._check_usable()
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

    def _wait(self, rows: int, timeout: float | None) -> NamedBatch:
        """Receives until a batch is there, an error, or the time is over; in the thread's turn."""
        end = None if timeout is None else time.monotonic() + timeout
        while rows == 0:
            self._tick()
            left = -1
            if end is not None:
                left = int(min(max(0.0, end - time.monotonic()), FOREVER) * 1e9)
            rows = receive(self._handle, self._ring.fresh, left, self._error)
            if rows == 0 and left == 0:
                raise PoolTimeoutError(
                    f"no batch of {self.batch_size} within {timeout} s: {self.in_flight}"
                    " environments are in flight"
                )
        return self._deliver(rows)

    def _tick(self) -> None:
        """Called every 50 ms or so while a batch is waited for."""

    def _note_unsettled(self) -> None:
        """Called when an exception leaves a wait that has not come to its end."""

    def _deliver(self, rows: int) -> NamedBatch:
        """What a receive came to, as the user sees it."""
        if rows > 0:
            return self._result(rows)
        if rows == lib.PP_ERR_ENV:
            self._raise_failed()
        raise_error(rows, self._error)

    def _result(self, rows: int) -> NamedBatch:
        ring = self._ring
        batch = self._show([array[:rows].view for array in ring.oldest.arrays])
        ring.swap()
        self._turn = IDLE
        return batch

    def _dress(self, show: Callable[[Views], Any], batch: NamedBatch) -> Any:
        """What `show` makes of a batch."""
        return batch if show is self._show else show_batch(show, batch)

    def _failed(self) -> tuple[list[int], int]:
        """The environments that failed in the batch that C gave last, and all its rows."""
        count, rows = ffi.new("int32_t *"), ffi.new("int32_t *")
        failed = lib.pp_pool_failed(self._handle, count, rows)
        return ffi.unpack(failed, count[0]), rows[0]

    def _raise_failed(self) -> NoReturn:
        """Raises what a batch with failed environments came to, with all its rows.

        Called in the thread's turn, when `_failed` says who they are; what it needs from C about
        them it must ask before `_result`, which takes the batch and ends the turn.
        """
        env_ids, rows = self._failed()
        first = text(lib.pp_pool_env_error(self._handle, env_ids[0]).text)
        others = f" (and {len(env_ids) - 1} more)" if len(env_ids) > 1 else ""
        batch = self._result(rows)
        raise EnvError(
            f"{self._name}: environment {env_ids[0]}{others} failed: {first}", env_ids, batch
        )
