"""The pool: many environments, stepped at once, results as arrays."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool import registry, seeds
from parallel_pool._native import ffi, lib, new_error, raise_error, text
from parallel_pool.actions import ActionReader
from parallel_pool.buffers import Array, Column, Ring, read_columns
from parallel_pool.errors import EnvError, PoolTimeoutError, StateError
from parallel_pool.specs import Definition, Values

if TYPE_CHECKING:
    from typing import NoReturn

    from parallel_pool._core import CData

AUTORESET = {
    "next_step": lib.PP_NEXT_STEP,
    "same_step": lib.PP_SAME_STEP,
    "disabled": lib.PP_DISABLED,
}
# as csrc/pool/queue.h has it; looked at before lists of that length are made
MAX_ENVS = 2**24
REWARDS = {"float32": lib.PP_FLOAT32, "float64": lib.PP_FLOAT64}
INT32 = np.dtype(np.int32)

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
    """The same for arrays that are made already."""
    return batch if show is show_all else show([array.view for array in batch])


# whose turn it is to receive: nobody's; a thread's; nobody's, and an exception may have come
# between a batch that C gave and the user
IDLE, BUSY, UNSETTLED = range(3)


class _Errors(threading.local):
    """For each thread its own `pp_error`: C writes to it without Python's lock."""

    def __init__(self) -> None:
        self.raw = new_error()


_errors = _Errors()


def check_count(name: str, value: Any, low: int, high: int = 2**31 - 1) -> int:
    """Returns a number of things; raises TypeError or ValueError with its name."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}: give an integer")
    if not low <= value <= high:
        choice = f"{low} or more" if value < low else f"{low} to {high}"
        raise ValueError(f"{name}={value}: choose {choice}")
    return int(value)


def _choice(name: str, value: str, choices: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r}: choose {' or '.join(map(repr, choices))}")
    return choices[value]


def _shut(handle: CData, ring: Ring) -> None:
    """Ends the threads before the memory they write to is let go of; `ring` is held until then."""
    lib.pp_pool_close(handle)


def _check(status: int) -> None:
    """Raises what a call with the thread's own error came to."""
    if status < 0:
        raise_error(status, _errors.raw)


def _seconds(timeout: float | None) -> float | None:
    """Returns a timeout; raises TypeError or ValueError if it is none."""
    if timeout is not None:
        if not isinstance(timeout, (int, float, np.integer, np.floating)):
            raise TypeError(f"timeout={timeout!r} is a {type(timeout).__name__}: give seconds")
        if math.isnan(timeout) or timeout < 0:
            raise ValueError(f"timeout={timeout}: choose 0 or more seconds, or None")
    return timeout


class Pool:
    """Many environments of one kind, stepped by threads; every row of results is one environment.

    With `batch_size == num_envs` (the default) a pool is synchronous: results come in the order in
    which environments were named, all of them in order of their id. With a smaller `batch_size` it
    is asynchronous: `recv` returns the first `batch_size` environments to finish.

    Arrays are returned without a copy and are safe to keep, to write to, and to use after the pool
    is closed.

    Attributes:
        definition, spec: what the environments are, and what they look like with these options.
        columns: the arrays of a result, in order: the environment's fields (observations, then
            infos); "reward", "terminated", "truncated", "env_id", "elapsed_step"; the extras asked
            for; and with autoreset="same_step" the fields again with `is_final`, valid in rows with
            terminated or truncated.
        num_envs, batch_size, num_threads: as given or chosen.
        is_async: whether batch_size < num_envs.
        closed: whether `close` was called.
    """

    def __init__(
        self,
        definition: Definition | str,
        num_envs: int = 1,
        *,
        batch_size: int | None = None,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        autoreset: str = "next_step",
        max_episode_steps: int | None = None,
        seed: seeds.Seed = None,
        reward_dtype: str = "float32",
        step_type: bool = False,
        discount: bool = False,
        players: bool = False,
        statistics: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the environments and the threads.

        Args:
            definition: a definition or its id.
            num_envs: environments.
            batch_size: rows of one result; None or 0 for num_envs.
            num_threads: every thread that steps, the caller's included (but for an asynchronous
                pool of one, which has a thread that goes on while the caller is away); 0 for the
                cores this process may use, at most batch_size.
            thread_affinity_offset: 0 or more pins threads one to one, from this core of the
                process's on; -1 leaves them free on their NUMA node.
            autoreset: "next_step": the step after the end of an episode ignores its action and
                resets; "same_step": the step that ends one returns the next one's first
                observation, and the last one in the final columns; "disabled": the caller resets.
            max_episode_steps: time limit; None for the definition's own, 0 for none.
            seed: environment i gets seed + i, or the i-th of a sequence; None for fresh entropy.
            reward_dtype: "float32" or "float64".
            step_type, discount, players, statistics: adds the columns "step_type" (0 first, 1 mid,
                2 last), "discount", "players.env_id" (num_players), and "episode_return" and
                "episode_length".
            options: the environment's own options.

        Raises:
            TypeError, ValueError: an argument is wrong.
            MissingDependencyError: the environment needs something that is not installed.
        """
        self.closed = True
        self._painter: Any = None
        if isinstance(definition, str):
            definition = registry.find(definition)
        elif not isinstance(definition, Definition):
            kind = type(definition).__name__
            raise TypeError(f"definition={definition!r} is a {kind}: give an id, as a string")
        if not isinstance(options, (Mapping, NoneType)):
            raise TypeError(f"options={options!r} is a {type(options).__name__}: give a dict")
        self.definition = definition
        self.num_envs = check_count("num_envs", num_envs, 1, MAX_ENVS)
        self.batch_size = check_count("batch_size", batch_size or self.num_envs, 1)
        if self.batch_size > self.num_envs:
            raise ValueError(
                f"batch_size={batch_size} > num_envs={num_envs}: choose batch_size <= num_envs"
            )
        limit = -1
        if max_episode_steps is not None:
            limit = check_count("max_episode_steps", max_episode_steps, 0)
        offset = check_count("thread_affinity_offset", thread_affinity_offset, -1)
        reward = _choice("reward_dtype", reward_dtype, REWARDS)
        first_seeds = seeds.spread(seed, self.num_envs)

        self.spec = definition.configure(registry.complete(definition, options or {}))
        # of the thread whose turn it is; others have their own
        self._error = new_error()
        self._turn = IDLE
        raw_options = ffi.new("pp_pool_options *")
        raw_options.num_envs = self.num_envs
        raw_options.batch_size = self.batch_size
        raw_options.num_threads = check_count("num_threads", num_threads, 0)
        raw_options.thread_affinity_offset = offset
        raw_options.autoreset = _choice("autoreset", autoreset, AUTORESET)
        raw_options.max_episode_steps = limit
        raw_options.reward_dtype = reward
        raw_options.extras = (
            lib.PP_WITH_STEP_TYPE * bool(step_type)
            | lib.PP_WITH_DISCOUNT * bool(discount)
            | lib.PP_WITH_PLAYERS * bool(players)
            | lib.PP_WITH_STATISTICS * bool(statistics)
        )
        out = ffi.new("pp_pool **")
        status = lib.pp_pool_create(
            definition.raw, self.spec.values.raw, raw_options, out, self._error
        )
        if status < 0:
            raise_error(status, self._error)
        self._handle = ffi.gc(out[0], lib.pp_pool_destroy)
        self._ring = Ring(self._handle, self.batch_size)
        self._shut = weakref.finalize(self, _shut, self._handle, self._ring)
        self.closed = False
        for memory in self._ring.fill():
            self._check(lib.pp_pool_offer(self._handle, memory, self._error))

        self.autoreset = autoreset
        self.max_episode_steps = definition.max_episode_steps if limit < 0 else limit or None
        self.columns: tuple[Column, ...] = read_columns(self._handle)
        self.is_async = self.batch_size < self.num_envs
        self.num_threads: int = self.stats()["num_threads"]
        self._reader = ActionReader(self.spec)

        # without a seed every environment gets fresh entropy, once; resets go on from there
        self.seeds = [seeds.entropy() if each is None else each for each in first_seeds]
        words, sizes = seeds.words(self.seeds)
        self._check(
            lib.pp_pool_seed(
                self._handle,
                ffi.from_buffer("uint32_t[]", words),
                ffi.from_buffer("int32_t[]", sizes),
                self._error,
            )
        )

    # ------------------------------------------------------------------------------ stepping --

    def step(self, actions: Any, env_ids: Any = None, *, timeout: float | None = None) -> Batch:
        """Sends actions and receives the next batch.

        Args:
            actions: one for each environment named, shape (count, *action shape); arrays and lists
                of any integer (Discrete) or real (Box) dtype.
            env_ids: whom they are for; None for all, in order.
            timeout: seconds.

        Returns:
            The arrays of `columns`, rows first.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong; nothing was sent.
            StateError: an environment is in flight, or results of an earlier call are pending.
            EnvError: environments failed.
            PoolTimeoutError: not done in time; `recv` returns the results.
        """
        batch: Batch = self.step_shown(show_all, actions, env_ids, timeout)
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
            return show_batch(show, self._step_within(ids, count, data, code, timeout))
        self._turn = BUSY
        try:
            if turn == UNSETTLED:
                self._check_settled(ids, count, is_step=True)
                lost = self._taken()
                if lost:
                    self._check(step_send(self._handle, ids, count, data, code, self._error))
                    return show_batch(show, self._deliver(lost))
            ring = self._ring
            rows = step(self._handle, ids, count, data, code, ring.fresh, self._error)
            if rows == self.batch_size:
                result = show(ring.oldest.views)
                ring.swap()
                self._turn = IDLE
                return result
            return show_batch(show, self._wait(rows, None))
        finally:
            if self._turn == BUSY:
                self._turn = UNSETTLED

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
        error = _errors.raw
        status = step_send(self._handle, ids, count, data, code, error)
        if status < 0:
            raise_error(status, error)

    def recv(self, *, timeout: float | None = None) -> Batch:
        """Returns the next batch: all that is in flight, or (asynchronous) the first to finish.

        With a timeout (seconds) it also waits for what another thread is going to send.

        Raises:
            StateError: too few environments are in flight, or another thread is receiving.
            EnvError: environments failed.
            PoolTimeoutError: nothing came in time.
        """
        batch: Batch = self.recv_shown(show_all, timeout)
        return batch

    def recv_shown(self, show: Callable[[Views], Any], timeout: float | None = None) -> Any:
        """A receive whose result is made by `show`, as for `step_shown`."""
        timeout = _seconds(timeout)
        turn = self._turn
        if turn == BUSY:
            self._refuse_turn()
        # no call since the look, so that no other thread came in between
        self._turn = BUSY
        try:
            lost = self._taken() if turn == UNSETTLED else 0
            if lost:
                return show_batch(show, self._deliver(lost))
            if timeout is not None:
                return show_batch(show, self._wait(0, timeout))
            ring = self._ring
            rows = receive(self._handle, ring.fresh, -1, self._error)
            if rows == self.batch_size:
                result = show(ring.oldest.views)
                ring.swap()
                self._turn = IDLE
                return result
            return show_batch(show, self._wait(rows, None))
        finally:
            if self._turn == BUSY:
                self._turn = UNSETTLED

    def send_reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Queues resets of the environments named (None: all).

        Args:
            seed: seed + i for the i-th named, or one for each; None keeps the generators.
            options: the environment's reset options.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight already.
        """
        count, ids = (self.num_envs, NULL) if env_ids is None else self._ids(env_ids)
        new_seeds = seeds.spread(seed, count)
        words = sizes = values = NULL
        if seed is not None:
            word_array, size_array = seeds.words(new_seeds)
            words = ffi.from_buffer("uint32_t[]", word_array)
            sizes = ffi.from_buffer("int32_t[]", size_array)
        given = None
        if options:
            given = Values(self.definition.reset_options, options, f"reset of {self.definition.id}")
            values = given.raw
        if self._turn == UNSETTLED:
            self._check_settled(ids, count)
        error = _errors.raw
        status = lib.pp_pool_send_reset(self._handle, ids, count, words, sizes, values, error)
        if status < 0:
            raise_error(status, error)
        named = range(self.num_envs) if env_ids is None else np.ravel(np.asarray(env_ids)).tolist()
        for env_id, each in zip(named, new_seeds, strict=True):
            if each is not None:
                self.seeds[env_id] = each

    def reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Batch:
        """Resets the environments named (None: all) and receives; see `send_reset` and `recv`."""
        self.send_reset(env_ids, seed=seed, options=options)
        return self.recv(timeout=timeout)

    # ----------------------------------------------------------------------------- snapshots --

    def get_state(self, env_ids: Any = None) -> list[bytes]:
        """Returns one snapshot for each environment named (None: all): bytes for `set_state`.

        A snapshot holds all there is: the environment, its random generator and pending seed, the
        step count and return of its episode, and whether it waits for a reset.

        Raises:
            StateError: an environment is in flight.
        """
        return [self._get_state(env_id) for env_id in self._id_list(env_ids)]

    def set_state(self, states: Sequence[bytes], env_ids: Any = None) -> None:
        """Puts snapshots of this pool, or of one like it, into the environments named (None: all).

        All are checked before the first environment is changed. What can't be undone is a failure
        of an environment's own `load` callback: the environments before it are restored, the one
        that failed starts a new episode at its next step, and those after it are as they were.

        Raises:
            TypeError: a snapshot is no bytes.
            StateError: an environment is in flight.
            ValueError: a snapshot is of another environment, other options, or damaged.
            PoolError, or what else its status stands for: an environment's `load` callback failed.
        """
        ids = self._id_list(env_ids)
        if len(states) != len(ids):
            raise ValueError(f"{len(states)} states for {len(ids)} environments: give one for each")
        # bytes, as nobody can write to them while C checks and then reads them
        kept = [s if type(s) is bytes else memoryview(s).tobytes() for s in states]
        snapshots = ffi.new("void *[]", [ffi.from_buffer(state) for state in kept])
        sizes = ffi.new("int64_t[]", [len(state) for state in kept])
        raw_ids = ffi.new("int32_t[]", ids)
        error = _errors.raw
        _check(lib.pp_pool_set_state(self._handle, raw_ids, len(ids), snapshots, sizes, error))

    def _get_state(self, env_id: int) -> bytes:
        size = lib.pp_pool_get_state(self._handle, env_id, NULL, 0, _errors.raw)
        _check(size)
        state = bytearray(size)
        buffer = ffi.from_buffer(state)
        _check(lib.pp_pool_get_state(self._handle, env_id, buffer, size, _errors.raw))
        ffi.release(buffer)
        return bytes(state)

    # ----------------------------------------------------------------------------- questions --

    def observe(self, env_ids: Any = None) -> Batch:
        """Returns what the environments named (None: all) show now, after `set_state` too.

        Returns:
            The observations' arrays in the order of `spec.observations`, (count, *shape) each; they
            share no memory with anything.

        Raises:
            StateError: an environment is in flight, or was never reset.
        """
        ids = self._id_list(env_ids)
        columns = [column for column in self.columns if column.field >= 0 and not column.is_final]
        seen = [c for c in columns if not self.spec.fields[c.field].is_info]
        arrays = tuple(np.zeros((len(ids), *column.shape), column.dtype) for column in seen)
        rows = ffi.new("void *[]", len(self.spec.fields))
        for i, env_id in enumerate(ids):
            for column, array in zip(seen, arrays, strict=True):
                rows[column.field] = ffi.from_buffer(array) + i * array[0].nbytes
            _check(lib.pp_pool_observe(self._handle, env_id, rows, _errors.raw))
        return arrays

    def render(self, env_ids: Any = None) -> Array:
        """Draws the environments named (None: all): uint8 (count, height, width, 3), RGB.

        MuJoCo's are drawn in 480 x 480 by Gymnasium's camera; for others make a painter of one's
        own: `parallel_pool.envs.mujoco_painter.Painter`.

        Raises:
            StateError: an environment is in flight, or draws no pictures; or it is MuJoCo's, and
                was never reset.
            MissingDependencyError: MuJoCo's pictures need OpenGL, and there is none.
        """
        ids = self._id_list(env_ids)
        painters = registry.painters(self.definition)
        if painters is None:
            return np.stack([self._draw(env_id) for env_id in ids])
        if self._painter is None:
            # a proxy, for else threads of a pool dropped without close() would wait for the
            # garbage collector
            self._painter = painters.Painter(weakref.proxy(self))
        return np.stack([self._painter.paint(env_id) for env_id in ids])

    def _draw(self, env_id: int) -> Array:
        """Draws with the environment's own C code."""
        image = ffi.new("pp_image *")
        _check(lib.pp_pool_render(self._handle, env_id, image, _errors.raw))
        frame = np.empty((image.height, image.width, 3), np.uint8)
        image.pixels = ffi.cast("uint8_t *", ffi.from_buffer(frame))
        _check(lib.pp_pool_render(self._handle, env_id, image, _errors.raw))
        return frame

    def expose(self, env_id: int, address: int) -> None:
        """Copies what an environment simulates to where its family's own tools can read it.

        Args:
            env_id: the environment.
            address: for MuJoCo, of an mjData made from the pool's model,
                `pool.spec.options["_link"].model`, such as `mujoco.MjData(model)._address`. It then
                holds what Gymnasium's would after the same steps. Nobody can check this number: a
                wrong one ends the process.

        Raises:
            StateError: the environment is in flight or was never reset, or its family has no such.
            PoolError: MuJoCo refused.
        """
        (checked,) = self._id_list([env_id])
        target = ffi.cast("void *", address)
        _check(lib.pp_pool_expose(self._handle, checked, target, _errors.raw))

    @property
    def in_flight(self) -> int:
        """Environments sent to and not yet received."""
        lost = self._lost_ids() if self._turn == UNSETTLED else ()
        return int(lib.pp_pool_in_flight(self._handle)) + len(lost)

    def needs_reset(self, env_id: int) -> bool:
        """Says whether the next step of this environment resets it (or, disabled, is refused)."""
        (checked,) = self._id_list([env_id])
        status = lib.pp_pool_needs_reset(self._handle, checked)
        if status == lib.PP_ERR_STATE:
            raise StateError(f"environment {env_id} is in flight: receive its result first")
        if status == lib.PP_ERR_ARGUMENT:
            raise ValueError(f"env_id {env_id}: choose 0 to {self.num_envs - 1}")
        if status < 0:
            # closed or forked: let a call say so that can
            _check(lib.pp_pool_get_state(self._handle, 0, NULL, 0, _errors.raw))
        return bool(status)

    def stats(self) -> dict[str, int]:
        """Returns what the pool has done so far: counts of steps, batches, waits and wakes."""
        stats = ffi.new("pp_stats *")
        lib.pp_pool_stats(self._handle, stats)
        return {name: getattr(stats, name) for name, _ in ffi.typeof("pp_stats").fields}

    def close(self) -> None:
        """Ends the threads, each after the environment it is stepping. Arrays stay valid."""
        self.closed = True
        if hasattr(self, "_shut"):
            self._shut()
        if self._painter is not None:
            self._painter.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        return f"Pool({self.definition.id!r}, num_envs={self.num_envs})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pool holds threads and cannot be pickled or copied: make a new one")

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
        ids = np.atleast_1d(np.asarray(env_ids))
        if ids.dtype is not INT32 or not ids.flags.c_contiguous or ids.ndim != 1:
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

    def _id_list(self, env_ids: Any) -> list[int]:
        if env_ids is None:
            return list(range(self.num_envs))
        count, ids = self._ids(env_ids)
        return list(ffi.unpack(ids, count))

    def _step_within(
        self, ids: CData, count: int, data: CData, code: int, timeout: float | None
    ) -> Batch:
        """A step with a timeout, or one that finds another thread receiving."""
        timeout = _seconds(timeout)
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
        error = _errors.raw
        status = step_send(self._handle, ids, count, data, code, error)
        if status < 0:
            raise_error(status, error)
        return self.recv(timeout=timeout)

    def _check_usable(self) -> None:
        """A pool that is closed, or was forked, says that before anything else."""
        status = lib.pp_pool_needs_reset(self._handle, 0)
        if status in (lib.PP_ERR_FORKED, lib.PP_ERR_CLOSED):
            _check(lib.pp_pool_get_state(self._handle, 0, NULL, 0, _errors.raw))

    def _refuse_turn(self) -> NoReturn:
        self._check_usable()
        raise StateError("another thread is receiving from this pool: let one thread receive")

    def _taken(self) -> int:
        """What C returned for a batch that never came to the user, 0: there is none."""
        return int(lib.pp_pool_taken(self._handle, self._ring.fresh))

    def _lost_ids(self) -> list[int]:
        """The environments of such a batch."""
        rows = self._taken()
        if rows == lib.PP_ERR_ENV:
            out = ffi.new("int32_t *"), ffi.new("int32_t *")
            lib.pp_pool_failed(self._handle, *out)
            rows = out[1][0]
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

    def _wait(self, rows: int, timeout: float | None) -> Batch:
        """Receives until a batch is there, an error, or the time is over; in the thread's turn."""
        end = None if timeout is None else time.monotonic() + timeout
        while rows == 0:
            left = -1
            if end is not None:
                left = int(min(max(0.0, end - time.monotonic()), 1e9) * 1e9)
            rows = receive(self._handle, self._ring.fresh, left, self._error)
            if rows == 0 and left == 0:
                raise PoolTimeoutError(
                    f"no batch of {self.batch_size} within {timeout} s: {self.in_flight}"
                    " environments are in flight"
                )
        return self._deliver(rows)

    def _deliver(self, rows: int) -> Batch:
        """What a receive came to, as the user sees it."""
        if rows > 0:
            return self._result(rows)
        if rows == lib.PP_ERR_ENV:
            self._raise_failed()
        raise_error(rows, self._error)

    def _result(self, rows: int) -> Batch:
        ring = self._ring
        taken = ring.oldest
        if rows == self.batch_size:
            batch = tuple([view() for view in taken.views])
        else:
            batch = tuple([array[:rows] for array in taken.arrays])
        ring.swap()
        self._turn = IDLE
        return batch

    def _raise_failed(self) -> NoReturn:
        count, rows = ffi.new("int32_t *"), ffi.new("int32_t *")
        failed = lib.pp_pool_failed(self._handle, count, rows)
        env_ids = ffi.unpack(failed, count[0])
        first = text(lib.pp_pool_env_error(self._handle, env_ids[0]).text)
        others = f" (and {len(env_ids) - 1} more)" if len(env_ids) > 1 else ""
        batch = self._result(rows[0])
        raise EnvError(
            f"{self.definition.id}: environment {env_ids[0]}{others} failed: {first}",
            env_ids,
            batch,
        )
