"""ProcessPool: any Python environments, in worker processes on the engine."""

from __future__ import annotations

import itertools
import math
import numbers
import pickle
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector.utils import batch_space

from parallel_pool import seeds
from parallel_pool._native import ffi, lib, raise_error, text
from parallel_pool.actions import take_list
from parallel_pool.arguments import MAX_ENVS, check_choice, check_count, check_sizes, shown
from parallel_pool.base_pool import BasePool, check, own_error, seconds
from parallel_pool.errors import PoolError, PoolTimeoutError, StateError
from parallel_pool.pool import AUTORESET, REWARDS
from parallel_pool.workers import (
    address_space,
    failures,
    messages,
    spaces,
    startup,
    supervisor,
    wait_warnings,
)
from parallel_pool.workers.deadline import Deadline
from parallel_pool.workers.failures import MOST_TOLD, Account
from parallel_pool.workers.messages import FAILURE, INFO, INFOS, Assignment, Failure, Reply
from parallel_pool.workers.startup import Share

if TYPE_CHECKING:
    from typing import NoReturn

    from parallel_pool._core import CData
    from parallel_pool.base_pool import Views
    from parallel_pool.buffers import Array
    from parallel_pool.named_batch import NamedBatch

# what one configuration of C can hold; larger spaces travel as objects
MAX_LEAVES = 32
# functions that something without a length may yield, and worker processes
MOST_YIELDED = MOST_WORKERS = 1 << 16
# seconds for a worker's environments to be made, if a pool has a timeout and no longer one
START_TIMEOUT = 60.0
# what records are to C
UINT8 = lib.PP_UINT8
NULL = ffi.NULL
# in place of actions that were left as orders
ORDERED = object()


@dataclass
class Call:
    """What was asked of environments outside all stepping.

    Attributes:
        kind: of question.
        what: is called, got, set or applied, for messages.
        env_ids: who was asked, in order.
        waiting: by lane, the environments whose worker has not answered yet.
        answers: by environment.
        failures: environments of one worker, and what it said instead, or how it died.
    """

    kind: str
    what: str
    env_ids: list[int]
    waiting: dict[int, list[int]]
    answers: dict[int, Any] = field(default_factory=dict)
    failures: list[tuple[list[int], Account]] = field(default_factory=list)


class RecordReader:
    """Actions as records in the pool's memory, or as orders that were left already."""

    def __init__(self, record_bytes: int) -> None:
        self.shape: tuple[int, ...] = (record_bytes,)

    def read(self, actions: Any, count: int) -> tuple[CData, int]:
        """Returns what `ProcessPool` made of the actions, as C takes it."""
        if actions is ORDERED:
            return NULL, lib.PP_ACTION_IN_PAYLOAD
        return ffi.from_buffer(actions), UINT8


class ProcessPool(BasePool):
    """Python environments, each of which lives in one of a few worker processes.

    Sending and receiving are as for `Pool`. Every row of a result is one environment; the columns
    are the leaves of its observation ("obs" for a single array, else the path to it), then
    "reward", "terminated", "truncated", "env_id", "elapsed_step", and with autoreset="same_step"
    the leaves again with `is_final`. What has no fixed size travels as objects: see `replies`.

    Attributes:
        single_observation_space, single_action_space: of one environment.
        descriptions: of the environments, as their workers told.
        metadata, render_mode, spec: of the first environment.
        num_workers: processes.
        leaves: of an observation, in order of their columns; None if they travel as objects.
        sends_objects: actions travel as objects; else they are arrays, or trees of arrays.
    """

    _holds = "processes"

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        *,
        num_workers: int | None = None,
        batch_size: int | None = None,
        autoreset: str = "next_step",
        reward_dtype: str = "float64",
        start_method: str | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        on_error: str = "raise",
        reset_arguments: Mapping[str, Any] | None = None,
        check_spaces: Callable[[list[messages.Description]], Any] | None = None,
    ) -> None:
        """Starts the workers and makes the environments.

        Args:
            env_fns: functions that make one environment each; they travel by cloudpickle.
            num_workers: processes; None for the cores this process may use, at most one for each
                environment. Each has as many environments as any other.
            batch_size: rows of one result; None or 0 for all.
            autoreset: "next_step", "same_step" or "disabled", as for `Pool`.
            reward_dtype: "float32" or "float64".
            start_method: "forkserver", "spawn" or "fork"; None for the default of
                `parallel_pool.workers.launch`.
            timeout: seconds that an environment's step or reset may take; then its worker is
                killed. None for no limit.
            start_timeout: seconds until a worker's environments must be made, when the pool begins
                and when a worker is followed by another. None for no limit without a timeout, and
                for 60 or the timeout, whichever is longer, with one; math.inf for none either way.
            on_error: "raise": a worker that dies takes its environments with it, and one that
                raises begins another episode at its next step; "restart": either is made anew with
                a fresh seed, and its row says so, unless making it fails.
            reset_arguments: what each environment's reset is given by `reset` and `send_reset`
                beside a seed and options; theirs hold. Autoresets are given nothing.
            check_spaces: called with what the workers told, before anything is made of it.

        Raises:
            TypeError, ValueError: an argument is wrong.
            WorkerError: a worker died, or can't be started.
            Exception: what an environment raised when it was made.
        """
        super().__init__()
        fns = _functions(env_fns)
        num_envs, rows = check_sizes(len(fns), batch_size)
        cores = lib.pp_usable_cores(ffi.NULL)
        wanted = min(cores, num_envs) if num_workers is None else num_workers
        self.num_workers = check_count("num_workers", wanted, 1, MOST_WORKERS)
        if self.num_workers > num_envs:
            raise ValueError(
                f"num_workers={self.num_workers} > num_envs={num_envs}: choose num_workers <="
                " num_envs"
            )
        self.autoreset = autoreset
        self.on_error = on_error
        self._reset_arguments = dict(reset_arguments or {})
        mode = check_choice("autoreset", autoreset, AUTORESET)
        reward = check_choice("reward_dtype", reward_dtype, REWARDS)
        restarts = check_choice("on_error", on_error, {"raise": False, "restart": True})
        self._timeout, self._start_timeout = _limits(timeout, start_timeout)

        n = num_envs
        cuts = [n * lane // self.num_workers for lane in range(self.num_workers + 1)]
        shares = [Share(lane, a, fns[a:b]) for lane, (a, b) in enumerate(itertools.pairwise(cuts))]
        limit = Deadline(self._start_timeout)
        workers = startup.start(shares, start_method, limit)
        # as this process's objects reach its workers
        self._dumps = workers[0].connection.dumps
        try:
            self.descriptions = startup.hear_ready(workers, shares, limit)
            if check_spaces is not None:
                check_spaces(self.descriptions)
            first = self.descriptions[0]
            self.single_observation_space = first.observation_spaces[0]
            self.single_action_space = first.action_spaces[0]
            self.metadata, self.render_mode = first.metadata, first.render_mode
            self.spec = first.spec
            self._name = "Python environments" if self.spec is None else str(self.spec.id)
            self._read_spaces(n)
            handle = self._create(n, rows, mode, reward, restarts)
            types = [(leaf.dtype, leaf.shape) for leaf in self.leaves or ()]
            self._adopt(handle, rows, n, RecordReader(self._record_bytes), types)
            self._crew = supervisor.Supervisor(
                handle,
                workers,
                shares,
                self._seatings(),
                method=start_method,
                restarts=restarts,
                repeats=autoreset != "same_step",
                timeout=self._timeout,
                start_timeout=self._start_timeout,
                limit=limit,
            )
            self._clock = self._crew.clock
            self._notices = wait_warnings.Notices()
            # `told` is asked after each batch, and a third of its time went into making this
            self._num_told = ffi.new("int32_t *")
            self._end = weakref.finalize(self, self._crew.drop)
            # what runs at exit is the supervisor's
            self._end.atexit = False
        except BaseException:
            if hasattr(self, "_crew"):
                self._crew.close(grace=0.0)
            startup.dismiss(workers)
            raise

    # -------------------------------------------------------------------------------- making --

    def _read_spaces(self, num_envs: int) -> None:
        found = spaces.leaves(self.single_observation_space)
        self.leaves = None if found is None or len(found) > MAX_LEAVES else found
        self._packer: spaces.ActionPacker | None = None
        if spaces.leaves(self.single_action_space) is not None:
            self._packer = spaces.ActionPacker(self.single_action_space)
        self.sends_objects = self._packer is None
        self._record_bytes = 1 if self._packer is None else self._packer.record_bytes
        # arrays of this dtype and shape are the records of all environments as they are
        self._plain: tuple[np.dtype[Any] | None, tuple[int, ...]] = (None, ())
        own = () if self._packer is None else self._packer.leaves
        if len(own) == 1 and not own[0].path:
            self._plain = own[0].dtype, (num_envs, *own[0].shape)
        # by number of environments, the space of their actions
        self._batch_spaces: dict[int, Any] = {}

    def _create(
        self, num_envs: int, rows: int, autoreset: int, reward: int, keeps_last: bool
    ) -> CData:
        """Makes the pool in C: a byte string for each leaf."""
        config = ffi.new("pp_config *")
        config.num_players = 1
        names = []
        for i, leaf in enumerate(self.leaves or ()):
            names.append(ffi.new("char[]", (_shown(leaf.path) or "obs").encode()))
            _describe_bytes(config.fields[i], names[-1], leaf.nbytes)
        config.num_fields = len(names)
        names.append(ffi.new("char[]", b"action"))
        _describe_bytes(config.action, names[-1], self._record_bytes)
        options = ffi.new("pp_pool_options *")
        options.num_envs = num_envs
        options.batch_size = rows
        options.thread_affinity_offset = -1
        options.autoreset = autoreset
        options.max_episode_steps = -1
        options.reward_dtype = reward
        out = ffi.new("pp_pool **")
        status = lib.pp_pool_create_processes(
            config, options, self.num_workers, keeps_last, self._room(), out, self._error
        )
        if status < 0:
            raise_error(status, self._error)
        # C keeps pointers to the names
        self._names = names
        return ffi.gc(out[0], lib.pp_pool_destroy)

    def _room(self) -> CData:
        """Returns how much address space the pool may take: half of what a limit leaves to this
        process, and to the worker that it leaves least."""
        room = ffi.new("pp_address_space *")
        here = address_space.left()
        there = [each.room for each in self.descriptions if each.room is not None]
        room.parent = 0 if here is None else max(1, here // 2)
        room.worker = max(1, min(there) // 2) if there else 0
        return room

    def _seatings(self) -> list[Assignment]:
        raw = ffi.new("int32_t *")
        columns = lib.pp_pool_columns(self._handle, raw)
        places = [
            (columns[i].is_final, (columns[i].offset, columns[i].row_bytes))
            for i in range(raw[0])
            if columns[i].field >= 0
        ]
        one = Assignment(
            lane=0,
            reserve=lib.pp_pool_reserve(self._handle),
            rows=self.batch_size,
            size=lib.pp_batch_size(self._handle),
            fields=[place for is_final, place in places if not is_final],
            finals=[place for is_final, place in places if is_final],
            observation_space=None if self.leaves is None else self.single_observation_space,
            action_space=None if self._packer is None else self.single_action_space,
            autoreset=self.autoreset,
            remakes=self.on_error == "restart",
            reset_arguments=self._reset_arguments,
        )
        return [replace(one, lane=lane) for lane in range(self.num_workers)]

    # ------------------------------------------------------------------------------ stepping --

    def step_shown(
        self,
        show: Callable[[Views], Any],
        actions: Any,
        env_ids: Any = None,
        timeout: float | None = None,
    ) -> Any:
        """A step whose result is made by `show`, as `BasePool.step_shown`."""
        if self._crew.lost:
            self._check_workers(env_ids)
        shape = actions.shape if type(actions) is np.ndarray else None
        dtype, plain_shape = self._plain
        if shape != plain_shape or actions.dtype is not dtype or env_ids is not None:
            actions = self._carry(actions, env_ids)
        elif not actions.flags.c_contiguous:
            actions = np.ascontiguousarray(actions)
        shown = super().step_shown(show, actions, env_ids, timeout)
        # asynchronous, some are in flight still
        if self._clock is not None:
            self._clock.stir()
        return shown

    def send(self, actions: Any, env_ids: Any = None) -> None:
        """Queues one action for each environment named (None: all); all of them or none.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong.
            StateError: an environment is in flight already, or its worker is dead.
        """
        if self._crew.lost:
            self._check_workers(env_ids)
        super().send(self._carry(actions, env_ids), env_ids)
        if self._clock is not None:
            self._clock.stir()

    def send_objects(self, single: Sequence[Any]) -> None:
        """Queues one action for each environment, which gets it as the object that it is here.

        Raises as `send` does.
        """
        if self._crew.lost:
            self._check_workers(None)
        self._leave(take_list(single, self.num_envs), None)
        super().send(ORDERED)
        if self._clock is not None:
            self._clock.stir()

    def _check_workers(self, env_ids: Any) -> None:
        """Refuses environments that have no worker any more, and says why they have none."""
        self._check_usable()
        for env_id in self._id_list(env_ids):
            why = self._crew.lost.get(self._lane_of(env_id))
            if why is not None:
                cure = "" if self.on_error == "restart" else ", or make it with on_error='restart'"
                raise StateError(
                    f"the worker process of environment {env_id} has died: {why}: make a new "
                    f"pool{cure}"
                )

    def _carry(self, actions: Any, env_ids: Any) -> Any:
        """Returns the records of actions; of those that have none, leaves them as objects.

        Raises:
            TypeError, ValueError: they are no sequence of actions, or too many or too few.
            StateError: an environment is in flight.
        """
        count = self.num_envs if env_ids is None else self._ids(env_ids)[0]
        if self._packer is None:
            single = take_list(actions, count)
        else:
            records = self._packer.pack(actions, count)
            if records is not None:
                return records
            single = spaces.iterate_objects(self._batch_space(count), actions, count)
        self._leave(single, env_ids)
        return ORDERED

    def _batch_space(self, count: int) -> Any:
        """The space of the actions of so many environments."""
        found = self._batch_spaces.get(count)
        if found is None:
            found = self._batch_spaces[count] = batch_space(self.single_action_space, count)
        return found

    def _leave(self, single: Sequence[Any], env_ids: Any) -> None:
        """Leaves actions, one for each environment named, as orders."""
        orders = [self._dumps(action) for action in single]
        for env_id, order in zip(self._id_list(env_ids), orders, strict=True):
            self._order(env_id, order)

    def _order(self, env_id: int, data: bytes) -> None:
        check(lib.pp_pool_set_payload(self._handle, env_id, data, len(data), own_error.raw))

    def send_reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Any = None,
        mask: Array | None = None,
    ) -> None:
        """Queues resets of the environments named (None: all).

        Args:
            seed: seed + i for the i-th named, or one for each; None keeps the generators.
            options: given to every environment's reset as it is.
            mask: bool for each named: those that are False are left as they are, and their rows
                show again what they showed last.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight already, or its worker is dead.
        """
        if self._crew.lost:
            self._check_workers(env_ids)
        ids = self._id_list(env_ids)
        count, raw = (self.num_envs, ffi.NULL) if env_ids is None else self._ids(env_ids)
        each = seeds.spread(seed, count)
        chosen = [True] * count if mask is None else mask.tolist()
        for env_id, own, is_chosen in zip(ids, each, chosen, strict=True):
            arguments: Any = {} if own is None else {"seed": own}
            if not is_chosen:
                arguments = messages.KEEP
            elif options is not None:
                arguments["options"] = options
            self._order(env_id, self._dumps(arguments) if arguments else b"")
        null = ffi.NULL
        check(lib.pp_pool_send_reset(self._handle, raw, count, null, null, null, own_error.raw))
        if self._clock is not None:
            self._clock.stir()

    def reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Any = None,
        timeout: float | None = None,
    ) -> NamedBatch:
        """Resets the environments named (None: all) and receives; see `send_reset` and `recv`."""
        # before anything is sent
        timeout = seconds(timeout)
        self.send_reset(env_ids, seed=seed, options=options)
        return self.recv(timeout=timeout)

    # ------------------------------------------------------------------------------- results --

    def replies(self) -> dict[int, Reply]:
        """Returns what environments of the last batch told beside their rows, by environment.

        A reply is a dict with the keys of `parallel_pool.workers.messages`: INFO, FINAL_INFO,
        OBSERVATION, FINAL_OBSERVATION. Look at it before sending again.

        Raises:
            PoolError: what an environment told can't be read in this process.
        """
        told = self.told()
        if not any(INFOS in reply for reply in told.values()):
            return told
        replies: dict[int, Reply] = {}
        for env_id, reply in told.items():
            if INFOS in reply:
                replies.update((i, {INFO: info}) for i, info in reply[INFOS].dicts())
            else:
                replies[env_id] = reply
        return dict(sorted(replies.items()))

    def told(self) -> dict[int, Reply]:
        """Returns the same as it came, for who can do without a dict for each environment.

        A reply may then have the key INFOS alone: `InfoColumns` that hold the infos of several
        environments, in the reply of the first of them.
        """
        count = self._num_told
        replied = lib.pp_pool_replied(self._handle, count)
        if not count[0]:
            return {}
        told = {env_id: self._reply(env_id) for env_id in ffi.unpack(replied, count[0])}
        for env_id, reply in told.items():
            if INFOS in reply:
                # whose worker died before it handed their rows over say so themselves
                reply[INFOS] = reply[INFOS].without(told.keys() - {env_id})
        return told

    def _reply(self, env_id: int) -> Reply:
        reply = self._own_reply(env_id)
        if reply is not None:
            return reply
        if self.on_error == "raise" or self._lane_of(env_id) in self._crew.lost:
            return {}
        return {messages.INFO: messages.restarted(self._crew.seeds.get(env_id))}

    def _own_reply(self, env_id: int) -> Reply | None:
        """What the worker has told; None if it died and the row is not its own."""
        size = ffi.new("int64_t *")
        data = lib.pp_pool_reply(self._handle, env_id, size)
        if size[0] < 0:
            return None
        try:
            reply: Reply = pickle.loads(ffi.buffer(data, size[0])) if data else {}
        except Exception as error:
            raise PoolError(
                f"what environment {env_id} told can't be read in this process:"
                f" {type(error).__name__}: {error}"
            ) from error
        return reply

    def _lane_of(self, env_id: int) -> int:
        return int(lib.pp_pool_lane_of(self._handle, env_id))

    def _raise_failed(self) -> NoReturn:
        env_ids, rows = self._failed()
        accounts = {env_id: self._account(env_id) for env_id in env_ids[:MOST_TOLD]}
        others = f" (and {len(env_ids) - 1} more)" if len(env_ids) > 1 else ""
        batch = self._result(rows)
        what = f"{self._name}: environment {env_ids[0]}{others} failed"
        failures.raise_accounts(what, accounts, env_ids, batch)

    def _account(self, env_id: int) -> Account:
        """Why an environment failed; None if its worker had no memory to say so."""
        # what C has found in the books
        found = text(lib.pp_pool_env_error(self._handle, env_id).text)
        if found:
            return found
        try:
            reply = self._own_reply(env_id)
        except PoolError as error:  # anybody's code may have written there
            return str(error)
        if reply is None:
            return self._crew.deaths[self._lane_of(env_id)]
        failure = reply.get(FAILURE)
        return failure if isinstance(failure, Failure) else None

    def _tick(self) -> None:
        if self._clock is not None:
            self._clock.stir()
        self._notices.look(self._crew.at_work(), self._crew.describe)

    def _note_unsettled(self) -> None:
        error = sys.exception()
        if isinstance(error, KeyboardInterrupt):
            self._note_interrupt(error, [self._crew.describe(at) for at in self._crew.at_work()])

    def _note_interrupt(self, error: KeyboardInterrupt, awaited: list[str]) -> None:
        """Says what Ctrl-C has ended the wait for; what hangs there is given less time to end."""
        if awaited:
            error.add_note(f"while waiting for {wait_warnings.named(awaited)}")
        self._crew.note_interrupt()

    # -------------------------------------------------------------------------------- calls --

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
            PoolTimeoutError: no answer in time.
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
        """The first half of `call`: asks the workers and does not wait."""
        return self._ask(env_ids, "call", lambda ids: (name, args, kwargs or {}), name)

    def recv_call(self, call: Call, timeout: float | None = None) -> list[Any]:
        """The other half of `call`: waits for all answers; after PoolTimeoutError once more."""
        timeout = seconds(timeout)
        end = None if timeout is None else time.monotonic() + timeout
        while call.waiting:
            lane, own = next(iter(call.waiting.items()))
            is_done, answer = self._answer(lane, call, end, timeout)
            del call.waiting[lane]
            if not is_done:
                call.failures.append((own, answer))
            elif answer is not None:
                call.answers.update(zip(own, answer, strict=True))
        for own, account in call.failures:
            what = f"{self._name}: {call.kind} of environments {own} failed"
            failures.raise_accounts(what, {own[0]: account}, own, ())
        return [call.answers.get(env_id) for env_id in call.env_ids]

    def get_attr(self, name: str, env_ids: Any = None) -> list[Any]:
        """Gets an attribute of the environments named (None: all), callable or not."""
        return self.recv_call(self._ask(env_ids, "get", lambda ids: (name,), name))

    def set_attr(self, name: str, values: Sequence[Any], env_ids: Any = None) -> None:
        """Sets an attribute of the environments named (None: all), each to its value."""
        ids = self._id_list(env_ids)
        if len(values) != len(ids):
            raise ValueError(f"{len(values)} values: give one for each of {len(ids)} environments")
        of = dict(zip(ids, values, strict=True))
        self.recv_call(self._ask(env_ids, "set", lambda ids: (name, [of[i] for i in ids]), name))

    def apply(self, function: Callable[[Any], Any], env_ids: Any = None) -> list[Any]:
        """Calls a function with each of the environments named (None: all), where they live."""
        return self.recv_call(self._ask(env_ids, "apply", lambda ids: (function,)))

    def _ask(
        self,
        env_ids: Any,
        kind: str,
        arguments: Callable[[list[int]], tuple[Any, ...]],
        name: str = "",
    ) -> Call:
        """Asks every worker that has some of them, all at once."""
        self._check_usable()
        ids = self._id_list(env_ids)
        if self.in_flight:
            raise StateError(f"{self.in_flight} environments are in flight: receive them first")
        if self._crew.lost:
            self._check_workers(env_ids)
        lanes: dict[int, list[int]] = {}
        for env_id in ids:
            lanes.setdefault(self._lane_of(env_id), []).append(env_id)
        # whatever can't be pickled is found before anybody is asked
        asked = {lane: self._dumps((kind, own, *arguments(own))) for lane, own in lanes.items()}
        call = Call(kind, f"{kind} {name}" if name else kind, ids, lanes)
        for lane, data in asked.items():
            error = own_error.raw
            status = lib.pp_pool_request(self._handle, lane, data, len(data), error)
            if status < 0 and lane in self._crew.lost:
                # given up since it was looked at
                call.failures.append((call.waiting.pop(lane), self._crew.deaths[lane]))
            else:
                check(status)
        return call

    def _answer(
        self, lane: int, call: Call, end: float | None, timeout: float | None
    ) -> tuple[bool, Any]:
        """Waits for a worker's answer to a call, until `end` on the monotonic clock.

        Returns:
            True and the answers, or False and why there are none.
        """
        data, size = ffi.new("const void **"), ffi.new("int64_t *")
        while True:
            left = 10**9 if end is None else int(max(0.0, end - time.monotonic()) * 1e9)
            try:
                status = lib.pp_pool_answer(self._handle, lane, left, data, size, own_error.raw)
            except KeyboardInterrupt as error:
                self._note_interrupt(error, [self._describe_call(lane, call)])
                raise
            if status == lib.PP_ERR_STATE and lane in self._crew.deaths:
                return False, self._crew.deaths[lane]
            check(status)
            if status:
                # nothing at all: there was no memory even to say so
                told = pickle.loads(ffi.buffer(data[0], size[0])) if size[0] else (False, None)
                return bool(told[0]), told[1]
            self._notices.look([(lane, id(call))], lambda _: self._describe_call(lane, call))
            if not left:
                raise PoolTimeoutError(f"no answer of worker process {lane} within {timeout} s")

    def _describe_call(self, lane: int, call: Call) -> str:
        return (
            f"{call.what} of environments {call.waiting.get(lane, [])}"
            f" (worker process {self._crew.pid_of(lane)})"
        )

    # ----------------------------------------------------------------------------------- end --

    def close(self, *, grace: float | None = supervisor.GRACE) -> None:
        """Ends the workers, each after the environment it is stepping; arrays stay valid.

        Args:
            grace: seconds until those that have not ended are killed.
        """
        interrupt = None
        is_over = False
        while not is_over:
            try:
                super().close()
                if hasattr(self, "_crew"):
                    self._crew.close(grace=grace)
                is_over = True
            except KeyboardInterrupt as error:
                # whoever is in a hurry need not wait, but all must end
                interrupt, grace = error, 0.0
        if interrupt is not None:
            raise interrupt


def _limits(timeout: float | None, start: float | None) -> tuple[float | None, float | None]:
    """Returns the seconds that a turn and a start may take; raises TypeError or ValueError."""
    for name, value in (("timeout", timeout), ("start_timeout", start)):
        if isinstance(value, numbers.Real) and not value > 0:
            raise ValueError(
                f"{name}={shown(value)}: choose more than 0 seconds, or None for no limit"
            )
    timeout, start = seconds(timeout), seconds(start, "start_timeout")
    if timeout == math.inf:
        timeout = None
    if start is None and timeout is not None:
        start = max(START_TIMEOUT, timeout)
    return timeout, None if start == math.inf else start


def listed(env_fns: Any) -> list[Any]:
    """Returns what makes the environments as a list; refuses what may never end.

    Raises:
        TypeError: it is not iterable.
        ValueError: there are too many.
    """
    try:
        count = len(env_fns) if hasattr(env_fns, "__len__") else None
        functions = iter(env_fns)
    except TypeError:
        raise TypeError(
            f"env_fns={env_fns!r} is a {type(env_fns).__name__}: give a list of functions"
        ) from None
    if count is not None:
        check_count("num_envs", count or 1, 1, MAX_ENVS)
        return list(functions)
    fns = list(itertools.islice(functions, MOST_YIELDED + 1))
    if len(fns) > MOST_YIELDED:
        raise ValueError(
            f"env_fns is a {type(env_fns).__name__} that yields more than {MOST_YIELDED} functions,"
            " perhaps without end: give a list"
        )
    return fns


def _functions(env_fns: Any) -> list[Callable[[], Any]]:
    """Checks what makes the environments."""
    fns = listed(env_fns)
    if not fns:
        raise ValueError("env_fns is empty: give one function for each environment")
    for i, fn in enumerate(fns):
        if not callable(fn):
            raise TypeError(
                f"env_fns[{i}]={fn!r} is a {type(fn).__name__}: give functions that make an"
                " environment, such as lambda: gymnasium.make('CartPole-v1')"
            )
    return fns


def _shown(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def _describe_bytes(field: CData, name: CData, size: int) -> None:
    """Makes a field one row of bytes."""
    field.name = name
    field.dtype = UINT8
    field.space = lib.PP_BOX
    field.ndim = 1
    field.shape[0] = size
    field.high = 255
