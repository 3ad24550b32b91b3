"""ProcessPool: steps Python environments of any kind in worker processes."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from gymnasium.vector.utils import batch_space

from parallel_pool._engine import seeds
from parallel_pool._engine.actions import take_list
from parallel_pool._engine.arguments import seconds
from parallel_pool._engine.base_pool import BUSY, IDLE, INTERRUPTED, BasePool, step_send
from parallel_pool._engine.env_ids import id_list, read_ids
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._lazy import public
from parallel_pool._native import ffi, lib, text
from parallel_pool._workers import pool_plan
from parallel_pool._workers.data import messages, spaces
from parallel_pool._workers.data.action_records import IN_PAYLOAD, ActionPacker, RecordReader
from parallel_pool._workers.data.messages import FAILURE, Assignment, Failure, Reply
from parallel_pool._workers.env_calls import Call, EnvCalls
from parallel_pool._workers.pool_arguments import listed
from parallel_pool._workers.replies import Replies
from parallel_pool._workers.run import local_lane
from parallel_pool._workers.run.local_lane import LocalLane
from parallel_pool._workers.run.step_waits import StepWaits
from parallel_pool._workers.start import native_pool, startup
from parallel_pool._workers.start.connection import by_reference
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool._workers.watch import failures, supervisor
from parallel_pool._workers.watch.failures import MAX_LISTED, Cause
from parallel_pool._workers.watch.wait_warnings import WaitWarnings
from parallel_pool.errors import PoolError, StateError

if TYPE_CHECKING:
    from typing import NoReturn

    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.named_batch import NamedBatch
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.data.messages import Description
    from parallel_pool._workers.pool_plan import PoolPlan
    from parallel_pool._workers.start.launch import Worker
    from parallel_pool._workers.start.startup import Launcher
    from parallel_pool._workers.watch.timer import Timer

__all__ = ["Call", "ProcessPool", "listed", "reset_as", "send_objects"]

T = TypeVar("T")

# columns that one C configuration can hold; observations of larger spaces travel as objects
MAX_LEAVES = 32


@public()
class ProcessPool(EnvCalls):
    """Python environments, distributed over a few worker processes.

    Sending and receiving work as in `Pool`. Each row of a result belongs to one environment. The
    columns are the leaves of its observation ("obs" for a single array, else the path to it), then
    "reward", "terminated", "truncated", "env_id", "elapsed_step", and with autoreset="same_step"
    the leaves again with `is_final`. Values without a fixed size travel as objects: see `replies`.

    Attributes:
        single_observation_space: of one environment.
        single_action_space: of one environment.
        descriptions: of the environments, one from each worker.
        metadata: of the first environment.
        render_mode: of the first environment.
        spec: of the first environment.
        num_workers: number of worker processes; 0 if this process steps the environments.
        autoreset: as given.
        on_error: as given.
        leaves: of an observation, in order of their columns; None if they travel as objects.
        sends_objects: actions have no fixed size; else they are arrays, or trees of arrays.

    Example:
        >>> env_fns = [lambda: gymnasium.make("CartPole-v1")] * 4
        >>> with parallel_pool.ProcessPool(env_fns, num_workers=1) as pool:
        ...     pool.reset(seed=1).obs.shape
        ...     pool.step([0, 1, 0, 1]).reward
        (4, 4)
        array([1., 1., 1., 1.])
    """

    _holds = "processes"

    # whether worker processes can step the environments
    _may_have_workers = True
    # None if no environment can gain from another worker
    _step_waits: StepWaits | None = None

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any] | str],
        *,
        num_workers: int | None = None,
        batch_size: int | None = None,
        autoreset: str = "next_step",
        reward_dtype: str = "float64",
        start_method: str | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        on_error: str = "raise",
        keeps_types: bool = False,
        python: Any = None,
        reset_arguments: Mapping[str, Any] | None = None,
        check_spaces: Callable[[list[messages.Description]], Any] | None = None,
        max_branches: int = 0,
        episode_seeds: bool = False,
        prepare_resets: bool = False,
    ) -> None:
        """Starts the workers and makes the environments.

        Args:
            env_fns: functions that make one environment each; cloudpickle must be able to pickle
                them, except with start_method="fork". A name, "module:function", stands for a
                function that is found there by the worker.
            num_workers: number of processes; None for the cores this process may use, at most one
                for each environment. All have the same number of environments, or one more. 0:
                this process steps the environments itself, in the thread that sends.
            batch_size: rows of one result; None or 0 for num_envs.
            autoreset: "next_step", "same_step" or "disabled", as for `Pool`.
            reward_dtype: "float32" or "float64".
            start_method: "forkserver", "spawn" or "fork"; None for the default of
                `parallel_pool._workers.start.launch`.
            timeout: seconds that an environment's step or reset may take; a worker that takes
                longer is killed. None for no limit.
            start_timeout: seconds in which a worker's environments must be made, at the pool's
                start and at each restart. None means no limit if there is no timeout either, else
                60 seconds or the timeout, whichever is longer. math.inf means no limit.
            on_error: "raise": the environments of a worker that dies are lost, and an environment
                that raises starts another episode at its next step. "restart": in both cases the
                environments are made again with a fresh seed, and their rows say so; they are lost
                only if making them fails. "replace": as "raise", but a dead worker is replaced.
                A step or reset that was in flight fails; if none was, the next step fails. After
                that the environment starts another episode, as any environment that failed.
            keeps_types: observations whose types, dtypes or keys are not those of their space
                also travel as objects, as they are: see `replies`.
            python: path of the Python interpreter in which workers run, such as that of a virtual
                environment, or a sequence of one path, or None, for each environment. It needs
                CPython 3.9 or newer, numpy, gymnasium and cffi. If it is of another version than
                this one, env_fns must be functions of modules that it can import, or their names.
            reset_arguments: further keyword arguments for the environments' reset, used by `reset`
                and `send_reset`, whose own seed and options take precedence. Autoresets get none.
            check_spaces: called with the workers' descriptions before they are used.
            max_branches: spare lanes, for branches of the environments, as leases have them. Their
                environments have the ids after those of env_fns, and can't be sent to meanwhile.
                Each other environment must have a worker of its own.
            episode_seeds: each episode that begins without a seed gets one, which follows from the
                last seed that its environment was given and from the number of episodes since
                (`parallel_pool._workers.run.episode_seeds.of_episode`). Else the environment's own
                generator goes on.
            prepare_resets: each worker has a second process with another environment of the same
                function, in which the next episode is begun while this one is played. It needs
                episode_seeds, and gives the same results if resets depend on their seed alone.
                Each environment has a worker of its own, which is then the default.

        Raises:
            TypeError, ValueError: an argument is wrong.
            WorkerError: a worker died, or could not be started.
            Exception: what an environment raised when it was made.
        """
        super().__init__()
        plan = pool_plan.of(
            env_fns,
            num_workers=num_workers,
            batch_size=batch_size,
            autoreset=autoreset,
            reward_dtype=reward_dtype,
            start_method=start_method,
            timeout=timeout,
            start_timeout=start_timeout,
            on_error=on_error,
            python=python,
            reset_arguments=reset_arguments,
            max_branches=max_branches,
            episode_seeds=episode_seeds,
            prepare_resets=prepare_resets,
            may_have_workers=self._may_have_workers,
        )
        self._choices = plan.choices
        self.num_workers, self.autoreset, self.on_error = plan.num_workers, autoreset, on_error
        self._maker, self._reset_arguments = plan.maker, plan.reset_arguments
        self._keeps_types, self._seeds_episodes = keeps_types, episode_seeds
        self._local: LocalLane | None = None
        self._shares = [*plan.shares, *plan.spares]
        deadline = Deadline(plan.start_timeout)
        # those that this process steps
        envs: list[Any] = []
        workers: list[Worker] = []
        launcher = startup.Launcher(start_method)
        if plan.num_workers:
            workers = launcher.start(plan.shares, deadline)
        self._dumps = workers[0].connection.dumps if workers else by_reference
        try:
            if workers:
                self.descriptions = startup.wait_until_made(workers, plan.shares, deadline)
            else:
                self.descriptions = [self._make_here(plan.env_fns, envs)]
            if check_spaces is not None:
                check_spaces(self.descriptions)
            self._read_description(self.descriptions[0], plan.num_envs)
            self._make_memory(plan)
            if workers:
                self._supervise(plan, workers, launcher, deadline)
            else:
                only = self._assignments()[0]
                self._local = self._lane_here(self._handle, envs, plan.env_fns, only)
                self._is_local = True
                self._supervisor = self._local
            self._adopt_supervisor(plan)
            self._announce()
        except BaseException:
            if hasattr(self, "_supervisor"):
                self._supervisor.close(grace=0.0)
            startup.kill_all(workers)
            local_lane.close_all(envs)
            raise

    # -------------------------------------------------------------------------------- making --

    def _make_here(self, fns: list[Callable[[], Any]], envs: list[Any]) -> Description:
        """Makes the environments of a pool without worker processes; see `local_lane.make`."""
        return local_lane.make(fns, envs)

    def _lane_here(
        self,
        handle: CData,
        envs: list[Any],
        fns: list[Callable[[], Any]],
        assignment: Assignment,
    ) -> LocalLane:
        """Returns what steps the environments of a pool without worker processes."""
        return LocalLane(handle, envs, fns, assignment)

    def _read_description(self, first: Description, num_envs: int) -> None:
        """Notes what the first worker says of its environments, which all have in common."""
        self.single_observation_space = first.observation_spaces[0]
        self.single_action_space = first.action_spaces[0]
        self.metadata, self.render_mode = first.metadata, first.render_mode
        self.spec = first.spec
        self._name = "Python environments" if self.spec is None else str(self.spec.id)
        self._read_spaces(num_envs)

    def _read_spaces(self, num_envs: int) -> None:
        found = spaces.leaves(self.single_observation_space)
        self.leaves = None if found is None or len(found) > MAX_LEAVES else found
        self._packer: ActionPacker | None = None
        if spaces.leaves(self.single_action_space) is not None:
            self._packer = ActionPacker(self.single_action_space)
        self.sends_objects = self._packer is None
        self._record_bytes = 1 if self._packer is None else self._packer.record_bytes
        # arrays of this dtype and shape are already the records of all environments
        self._plain: tuple[np.dtype[Any] | None, tuple[int, ...]] = (None, ())
        own = () if self._packer is None else self._packer.leaves
        if len(own) == 1 and not own[0].path:
            self._plain = own[0].dtype, (num_envs, *own[0].shape)
        # by number of environments: the space of their actions
        self._batch_spaces: dict[int, Any] = {}

    def _make_memory(self, plan: PoolPlan) -> None:
        """Makes the pool in C, with memory for the rows of these spaces."""
        # C refers to the names as long as the pool lives
        handle, self._names = native_pool.create(
            leaves=self.leaves or (),
            record_bytes=self._record_bytes,
            num_envs=plan.num_envs,
            num_workers=plan.num_lanes,
            batch_size=plan.batch_size,
            autoreset=plan.autoreset,
            reward_dtype=plan.reward_dtype,
            saves_rows=self.on_error == "restart",
            limits=native_pool.address_space_limits(self.descriptions),
        )
        types = [(leaf.dtype, leaf.shape) for leaf in self.leaves or ()]
        reader = RecordReader(self._record_bytes)
        self._adopt(handle, plan.batch_size, plan.num_envs, reader, types)

    def _supervise(
        self, plan: PoolPlan, workers: list[Worker], launcher: Launcher, deadline: Deadline
    ) -> None:
        """Gives the workers their lanes, waits until all are ready, and watches them."""
        self._supervisor = supervisor.Supervisor(
            self._handle,
            workers,
            self._shares,
            self._assignments(),
            launcher=launcher,
            on_death=plan.on_death,
            timeout=plan.timeout,
            start_timeout=plan.start_timeout,
            deadline=deadline,
        )

    def _adopt_supervisor(self, plan: PoolPlan) -> None:
        """Makes what asks the supervisor, and lets it end with this pool."""
        self._timer = self._supervisor.timer
        self._wait_warnings = WaitWarnings()
        if plan.num_workers and plan.batch_size == plan.num_envs > plan.num_lanes:
            self._step_waits = StepWaits(plan.num_envs, plan.num_lanes)
        restarts = self.on_error == "restart"
        self._replies = Replies(self._handle, plan.num_envs, self._supervisor, restarts)
        self._end = weakref.finalize(self, self._supervisor.close_in_thread)
        # at exit a supervisor closes itself
        self._end.atexit = self._local is not None

    def _assignments(self) -> list[Assignment]:
        common = Assignment(
            lane=0,
            reserve=0,
            rows=self.batch_size,
            size=0,
            fields=[],
            finals=[],
            observation_space=None
            if self.leaves is None
            else spaces.unseeded(self.single_observation_space),
            action_space=None
            if self._packer is None
            else spaces.unseeded(self.single_action_space),
            autoreset=self.autoreset,
            recreates=self.on_error == "restart",
            keeps_types=self._keeps_types,
            reset_arguments=self._reset_arguments,
            seeds_episodes=self._seeds_episodes,
        )
        return native_pool.assignments(self._handle, common, max(1, self.num_workers))

    def _worker_pids(self) -> Sequence[int | None]:
        lanes = range(len(self._shares) if self.num_workers else 0)
        return [None if self.closed else self._supervisor.pid_of(lane) for lane in lanes]

    # ------------------------------------------------------------------------------ stepping --

    def step_as(
        self,
        convert: Callable[[Views], T],
        actions: Any,
        env_ids: Any = None,
        timeout: float | None = None,
    ) -> T:
        """Does a step and returns the result of `convert`; see `BasePool.step_as`."""
        if self._supervisor.lost:
            self._check_workers(env_ids)
        shape = actions.shape if type(actions) is np.ndarray else None
        dtype, plain_shape = self._plain
        if shape != plain_shape or actions.dtype is not dtype or env_ids is not None:
            actions, payloads = self._encode(actions, env_ids)
            if payloads is not None:
                ids = self._ids_with_payloads(env_ids, payloads)
                self._set_payloads(ids, payloads)
                before = self._ring.next_memory
                try:
                    # as it returns the pool has handed the batch over: a block of `_payloads` would
                    # then call functions, in which Ctrl-C would lose it
                    return self._step_records(convert, actions, env_ids, timeout)
                except BaseException:
                    # an environment's exception came with a batch, and Ctrl-C would lose it, too
                    if self._ring.next_memory is before:
                        self._drop_payloads(ids)
                    raise
        elif not actions.flags.c_contiguous:
            actions = np.ascontiguousarray(actions)
        return self._step_records(convert, actions, env_ids, timeout)

    def _step_records(
        self, convert: Callable[[Views], T], records: Any, env_ids: Any, timeout: float | None
    ) -> T:
        if self._local is not None:
            return self._step_here(convert, records, env_ids, timeout)
        waits = self._step_waits
        if waits is not None and waits.is_due():
            convert = waits.watched(self._worker_pids, convert)
        elif self.is_async and self._timer is not None:
            convert = self._waking(self._timer, convert)
        try:
            result: T = super().step_as(convert, records, env_ids, timeout)
        except StateError:
            # a worker may die after the check
            self._check_workers(env_ids)
            raise
        # no function call since the pool has handed it over: Ctrl-C would lose it
        return result

    def _waking(self, timer: Timer, convert: Callable[[Views], T]) -> Callable[[Views], T]:
        """Returns a `convert` that first wakes the timer.

        In an asynchronous pool environments are still in flight then, and may take too long.
        """

        def wake_and_convert(views: Views) -> T:
            timer.wake()
            return convert(views)

        return wake_and_convert

    def recv_as(self, convert: Callable[[Views], T], timeout: float | None = None) -> T:
        """Receives and returns the result of `convert`; see `BasePool.recv_as`."""
        waits = self._step_waits
        if waits is not None and waits.is_due():
            convert = waits.watched(self._worker_pids, convert)
        return super().recv_as(convert, timeout)

    def _step_here(
        self, convert: Callable[[Views], T], records: Any, env_ids: Any, timeout: float | None
    ) -> T:
        count, ids = read_ids(env_ids, self.num_envs)
        data, code = self._reader.read(records, count)
        if timeout is not None or self._receive_state != IDLE or self.is_async:
            return self._step_within(convert, ids, count, data, code, timeout)
        # what `_step_within` does, without its checks, which explain why a send is refused
        self._receive_state = BUSY
        try:
            if step_send(self._handle, ids, count, data, code, error_slot.raw) >= 0:
                self._work_here()
                return self._receive(convert)
            self._receive_state = IDLE
        finally:
            if self._receive_state == BUSY:
                self._receive_state = INTERRUPTED
                self._on_interrupted_receive()
        return self._step_within(convert, ids, count, data, code, timeout)

    def _is_busy(self) -> bool:
        return super()._is_busy() or (self._local is not None and self._local.is_working)

    def _raise_busy(self) -> NoReturn:
        if self._local is not None:
            self._local.check_owner()
        super()._raise_busy()

    def _work_here(self) -> None:
        if self._local is not None:
            self._local.serve()

    def _on_sent(self) -> None:
        self._work_here()
        if self._timer is not None:
            self._timer.wake()

    def send(self, actions: Any, env_ids: Any = None) -> None:
        """Queues one action for each environment named (None: all); all of them or none.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong.
            StateError: an environment is in flight already, or its worker is dead.
        """
        if self._supervisor.lost:
            self._check_workers(env_ids)
        records, payloads = self._encode(actions, env_ids)
        try:
            if payloads is None:
                super().send(records, env_ids)
            else:
                with self._payloads(env_ids, payloads):
                    super().send(records, env_ids)
        except StateError:
            # a worker may die after the check
            self._check_workers(env_ids)
            raise
        self._on_sent()

    def _check_workers(self, env_ids: Any) -> None:
        """Raises StateError, with the reason, if one of the environments has lost its worker."""
        check_usable(self)
        for env_id in id_list(env_ids, self.num_envs):
            why = self._supervisor.lost.get(self._lane_of(env_id))
            if why is not None:
                cure = ", or make it with on_error='restart'" if self.on_error == "raise" else ""
                raise StateError(
                    f"the worker process of environment {env_id} has died: {why}: make a new "
                    f"pool{cure}"
                )

    def _encode(self, actions: Any, env_ids: Any) -> tuple[Any, list[bytes] | None]:
        """Returns the records of actions, and payloads if actions have no records.

        Raises:
            TypeError, ValueError: actions is not a sequence of one action for each environment.
        """
        count, _ = read_ids(env_ids, self.num_envs)
        if self._packer is None:
            single = take_list(actions, count)
        else:
            records = self._packer.pack(actions, count)
            if records is not None:
                return records, None
            single = spaces.iterate_objects(self._batch_space(count), actions, count)
        return IN_PAYLOAD, [self._dumps(action) for action in single]

    def _batch_space(self, count: int) -> Any:
        """Returns the space of the actions of `count` environments."""
        found = self._batch_spaces.get(count)
        if found is None:
            found = self._batch_spaces[count] = batch_space(self.single_action_space, count)
        return found

    @contextlib.contextmanager
    def _payloads(self, env_ids: Any, payloads: Sequence[bytes]) -> Iterator[None]:
        """Gives payloads to the turns that the block sends, one for each environment named.

        If the block is refused, a later turn does not get them.
        """
        ids = self._ids_with_payloads(env_ids, payloads)
        self._set_payloads(ids, payloads)
        try:
            yield
        except BaseException:
            self._drop_payloads(ids)
            raise

    def _ids_with_payloads(self, env_ids: Any, payloads: Sequence[bytes]) -> list[int]:
        """Returns the environments that get payloads, of those named."""
        # without payloads there is nothing to take back
        return id_list(env_ids, self.num_envs) if payloads else []

    def _set_payloads(self, ids: Sequence[int], payloads: Sequence[bytes]) -> None:
        """Sets the payloads of the next turns of these environments: all, or none."""
        error = error_slot.raw
        try:
            for env_id, data in zip(ids, payloads, strict=True):
                check(lib.pp_pool_set_payload(self._handle, env_id, data, len(data), error))
        except BaseException:
            self._drop_payloads(ids)
            raise

    def _drop_payloads(self, ids: Sequence[int]) -> None:
        """Removes the payloads of turns that were not sent."""
        for env_id in ids:
            # C refuses this for environments in flight, whose payloads are of accepted turns
            lib.pp_pool_set_payload(self._handle, env_id, b"", 0, ffi.NULL)

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
            seed: an integer, which seeds the i-th environment named with seed + i, or a sequence
                of one for each; None does not seed.
            options: passed to every environment's reset.
            mask: bool (number named,): environments with False are not reset, and their rows repeat
                the last observation.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight already, or its worker is dead.
        """
        _, send = self._reset_sender(env_ids, seed, options, mask)
        send(self._was_interrupted())
        self._on_sent()

    def reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Any = None,
        mask: Array | None = None,
        timeout: float | None = None,
    ) -> NamedBatch:
        """Resets the environments named (None: all) and receives; see `send_reset` and `recv`.

        If it is refused, nothing was sent.
        """
        return reset_as(self, self._to_named, env_ids, seed, options, mask, timeout)

    def _reset_sender(
        self, env_ids: Any, seed: seeds.Seed, options: Any, mask: Array | None = None
    ) -> tuple[int, Callable[[bool], None]]:
        """Checks the arguments of a reset; returns what `_exchange` needs to send it."""
        if self._supervisor.lost:
            self._check_workers(env_ids)
        count, ids = read_ids(env_ids, self.num_envs)
        each = seeds.spread(seed, count)
        chosen = [True] * count if mask is None else mask.tolist()
        payloads = []
        for own, is_chosen in zip(each, chosen, strict=True):
            arguments: Any = {} if own is None else {"seed": own}
            if not is_chosen:
                arguments = messages.NO_RESET
            elif options is not None:
                arguments["options"] = options
            payloads.append(self._dumps(arguments) if arguments else b"")
        return count, self._send_of(env_ids, ids, count, payloads)

    def _send_of(
        self, env_ids: Any, ids: CData, count: int, payloads: Sequence[bytes]
    ) -> Callable[[bool], None]:
        """Returns what sends the resets of these environments, as `_exchange` calls it."""

        def send(is_undelivered: bool) -> None:
            if is_undelivered:
                self._check_undelivered(ids, count)
            null, error = ffi.NULL, error_slot.raw
            with self._payloads(env_ids, payloads):
                check(lib.pp_pool_send_reset(self._handle, ids, count, null, null, null, error))

        return send

    # ------------------------------------------------------------------------------- results --

    def replies(self) -> dict[int, Reply]:
        """Returns what came with the last batch besides its rows, by environment.

        Call this before sending again.

        Returns:
            For each environment that sent something a dict: 0 for the infos; 1 for those of the
            step that ended the episode, with autoreset="same_step"; 2 and 3 for the observation and
            that step's observation, if observations travel as objects.

        Raises:
            PoolError: a reply can't be unpickled in this process.
        """
        return self._replies.by_env()

    def _raise_failed(self) -> NoReturn:
        env_ids, rows = self._failed()
        causes = {env_id: self._cause(env_id) for env_id in env_ids[:MAX_LISTED]}
        others = f" (and {len(env_ids) - 1} more)" if len(env_ids) > 1 else ""
        python = self._shares[self._lane_of(env_ids[0])].interpreter
        where = "" if python is None else f" in {python}"
        what = f"{self._name}: environment {env_ids[0]}{others} failed{where}"

        def convert(views: Views) -> Exception:
            batch = self._to_named(views)
            try:
                failures.raise_failures(what, causes, env_ids, batch)
            except Exception as error:
                return error

        # no function call since the pool has handed the batch over
        raise self._result_as(convert, rows)

    def _cause(self, env_id: int) -> Cause:
        """Returns why an environment failed; None if its worker had no memory to report it."""
        # set if C found a wrong value in the memory that it shares with the worker
        found = text(lib.pp_pool_env_error(self._handle, env_id).text)
        if found:
            return found
        try:
            reply = self._replies.of(env_id)
        except PoolError as error:  # the environment's code may have overwritten it
            return str(error)
        if reply is None:
            return self._supervisor.deaths[self._lane_of(env_id)]
        failure = reply.get(FAILURE)
        return failure if isinstance(failure, Failure) else None

    def _tick(self) -> None:
        # an exception may have come between a send and the work for it
        self._work_here()
        if self._timer is not None:
            self._timer.wake()
        self._wait_warnings.update(self._supervisor.activities(), self._supervisor.describe)

    def _on_interrupted_receive(self) -> None:
        error = sys.exception()
        if isinstance(error, KeyboardInterrupt):
            activities = self._supervisor.activities()
            self._note_interrupt(error, [self._supervisor.describe(each) for each in activities])

    # ----------------------------------------------------------------------------------- end --

    def close(self, *, timeout: float | None = None) -> None:
        """Ends the workers, each after its current step; arrays of results stay valid.

        Args:
            timeout: seconds until workers that have not ended are killed; None for 5. May be
                math.inf.

        Raises:
            TypeError, ValueError: timeout is wrong.
        """
        interrupt = None
        is_over = False
        while not is_over:
            try:
                super().close(timeout=timeout)
                grace = seconds(timeout)
                if hasattr(self, "_supervisor"):
                    self._supervisor.close(grace=supervisor.GRACE if grace is None else grace)
                is_over = True
            except KeyboardInterrupt as error:
                # a second Ctrl-C skips the grace; the workers must end all the same
                interrupt, timeout = error, 0.0
        if interrupt is not None:
            raise interrupt


def send_objects(pool: ProcessPool, single: Sequence[Any]) -> None:
    """Queues one action for each environment of a pool, which gets a copy of the same type.

    Raises:
        TypeError, ValueError, StateError: as `ProcessPool.send` does.
    """
    if pool._supervisor.lost:
        pool._check_workers(None)
    payloads = [pool._dumps(action) for action in take_list(single, pool.num_envs)]
    with pool._payloads(None, payloads):
        BasePool.send(pool, IN_PAYLOAD)
    pool._on_sent()


def reset_as(
    pool: ProcessPool,
    convert: Callable[[Views], T],
    env_ids: Any = None,
    seed: seeds.Seed = None,
    options: Any = None,
    mask: Array | None = None,
    timeout: float | None = None,
) -> T:
    """Does what `ProcessPool.reset` does, and returns the result of `convert`; see `step_as`."""
    timeout = seconds(timeout)
    count, send = pool._reset_sender(env_ids, seed, options, mask)
    return pool._exchange(convert, count, send, timeout)


def seeds_episodes(pool: Any) -> bool:
    """Returns whether a pool gives each episode a seed (episode_seeds=True); False for others."""
    return isinstance(pool, ProcessPool) and pool._seeds_episodes
