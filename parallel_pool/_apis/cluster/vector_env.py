"""ClusterVectorEnv: environments on the machines of a Ray cluster as a Gymnasium vector
environment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete, Space, Tuple
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from parallel_pool._apis.cluster import results, runtime
from parallel_pool._apis.cluster.group import Limits, Lost, WorkerGroup, raise_outcome
from parallel_pool._apis.cluster.options import (
    NO_TRACE,
    check_choice_of_loss,
    checked_resources,
    environments,
    seconds,
    slices,
)
from parallel_pool._apis.cluster.session import Session
from parallel_pool._apis.cluster.worker import Raised, Task
from parallel_pool._apis.cluster.worker_slice import AGAIN, REPORT, WorkerSlice
from parallel_pool._apis.common import reset_mask, vector_infos
from parallel_pool._apis.common.vector_errors import NotResetError, PendingCallError, check_call
from parallel_pool._apis.common.vector_options import VectorOptions
from parallel_pool._apis.gymnasium.vector_env import PoolVectorEnv
from parallel_pool._engine import seeds
from parallel_pool._engine.actions import check_sequence, take_array
from parallel_pool._engine.arguments import check_count, quote
from parallel_pool._lazy import public
from parallel_pool._workers.data import messages
from parallel_pool.errors import ClosedError, ForkedError, PoolTimeoutError, StateError

if TYPE_CHECKING:
    from parallel_pool._apis.cluster.results import Part
    from parallel_pool._engine.buffers import Array, Observations

    Step = tuple[Observations, Array, Array, Array, dict[str, Any]]


@public("cluster")
class ClusterVectorEnv(PoolVectorEnv):
    """Environments on the machines of a Ray cluster as a `gymnasium.vector.VectorEnv`.

    Each worker is a Ray actor with a local `PoolVectorEnv` of some of the rows, native or with
    Python environments in worker processes. Row i is always environment i, and it gets the same
    seed however many workers there are, so results have the same bits as those of one local pool.
    They are the caller's own: you may keep them and write to them.

    With `batch_workers` below the number of workers it is asynchronous: `recv` returns the rows of
    the workers that finished first.

    A worker that dies, or takes longer than `timeout`, is replaced (on_worker_loss="restart"): its
    rows repeat their last observations, truncated, with reward 0, and start new episodes with
    fresh seeds; infos have "worker_restarted" and "restart_seed", as those of worker processes on
    one machine do.

    Attributes:
        num_envs: environments, n below.
        num_workers: actors; `workers` lists them.
        batch_workers: workers of one result of `recv`.
        is_async: whether batch_workers < num_workers.
        single_observation_space: of one environment.
        single_action_space: of one environment.
        observation_space: of all environments: a first axis of n is added.
        action_space: of all environments: a first axis of n is added.
        autoreset_mode: how episodes start again; also `metadata["autoreset_mode"]`.
        metadata: of the first environment.
        render_mode: of the first environment.
        backend: "cluster".
        worker_backend: "native", "compiled" or "process": what the workers run.
        backend_reason: what the workers run, and why; a sentence.

    Example:
        >>> envs = parallel_pool.make_vec("CartPole-v1", 4, backend="cluster", num_workers=2)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, terminations, truncations, infos = envs.step([0, 1, 0, 1])
        >>> observations.shape, rewards
        ((4, 4), array([1., 1., 1., 1.]))
        >>> envs.close()
    """

    _holds = "actors of a Ray cluster"

    backend = "cluster"
    backend_reason = "ClusterVectorEnv was asked for by name"
    _group: WorkerGroup | None = None

    def __init__(
        self,
        env: Any = None,
        num_envs: int | None = None,
        *,
        env_fns: Sequence[Callable[[], Any]] | None = None,
        wrappers: Sequence[Callable[[Any], Any]] | None = None,
        num_workers: int | None = None,
        cpus_per_worker: float | None = None,
        batch_workers: int | None = None,
        on_worker_loss: str = "restart",
        max_restarts: int = messages.MAX_RESTARTS,
        timeout: float = 60.0,
        start_timeout: float = 120.0,
        resources: Mapping[str, float] | None = None,
        worker_backend: str = "auto",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        """Starts the workers and makes the environments in them.

        Ray is connected to by its own rules, unless `ray.init` was called before.

        Args:
            env: an id, an EnvSpec, one function that makes an environment, or a sequence of such
                functions; cloudpickle sends them to the workers.
            num_envs: environments; None for 1, or one for each function.
            env_fns: the functions by name, instead of env.
            wrappers: around each environment, as for `PoolVectorEnv`.
            num_workers: actors; None for one on each node that has cores.
            cpus_per_worker: cores of each actor, shared by its threads or worker processes; below 1
                for several actors on a core. None for as many as fit.
            batch_workers: workers of one result of `recv`; None for all.
            on_worker_loss: "restart" or "raise": a lost worker raises WorkerError, and is replaced
                at the next call.
            max_restarts: how often in a row a worker that does not come up is started again.
            timeout: seconds that a worker may take to step or reset its rows.
            start_timeout: seconds in which an actor must find a node and make its environments.
            resources: that each actor needs, by Ray's names, such as {"simulator": 1}.
            worker_backend: "native", "compiled", "process" or "auto": the backend of each worker.
            autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED, as for `PoolVectorEnv`.
            options: further arguments of `PoolVectorEnv` and of the environments.

        Raises:
            TypeError, ValueError: an argument is wrong, or the cluster has too few cores.
            RuntimeError: the spaces of the environments differ.
            gymnasium.error.UnregisteredEnv: there is no such id.
            MissingDependencyError: Ray, or a package of the environments, is not installed.
            parallel_pool.errors.WorkerError: a worker can't be started.
            Exception: raised by an environment's function.
        """
        check_choice_of_loss(on_worker_loss)
        self.autoreset_mode = VectorOptions(autoreset_mode=autoreset_mode).mode()
        functions, count = environments(env, env_fns, num_envs)
        limits = Limits(
            seconds("timeout", timeout),
            seconds("start_timeout", start_timeout),
            check_count("max_restarts", max_restarts, 0),
        )
        if cpus_per_worker is not None and not cpus_per_worker > 0:
            raise ValueError(f"cpus_per_worker={quote(cpus_per_worker)}: choose a number above 0")
        if num_workers is not None:
            check_count("num_workers", num_workers, 1, count)
        needed = checked_resources(resources)
        session = Session(range(count))
        nodes = runtime.cores_of_nodes(session.nodes())
        workers, cores = runtime.share_out(nodes, num_workers, cpus_per_worker)
        self.num_envs, self.num_workers = count, min(workers, count)
        self.batch_workers = self.num_workers
        if batch_workers is not None:
            self.batch_workers = check_count("batch_workers", batch_workers, 1, self.num_workers)
        self.is_async = self.batch_workers < self.num_workers
        self._rows = slices(count, self.num_workers)
        given = {**options, "backend": worker_backend, "autoreset_mode": self.autoreset_mode}
        tasks = [
            Task(
                env if functions is None else functions[own],
                own.stop - own.start if functions is None else None,
                wrappers,
                given,
                max(1, int(cores)),
                first=own.start,
            )
            for own in self._rows
        ]
        self._pid = os.getpid()
        self._group = WorkerGroup(session, tasks, self._rows, cores, limits, needed)
        try:
            self._describe()
        except BaseException:
            # its traceback may keep this object
            self._group.close()
            raise
        self._workers = [
            WorkerSlice(
                index,
                own,
                self._group,
                self.autoreset_mode,
                self.single_observation_space,
                on_worker_loss == "raise",
            )
            for index, own in enumerate(self._rows)
        ]
        # results that were taken, but not returned because an exception ended the wait
        self._taken: dict[int, Any] = {}
        # DISABLED: environments that the caller must reset
        self._ended = np.zeros(count, np.bool_)
        self._was_reset = False

    def _describe(self) -> None:
        assert self._group is not None
        described = [self._group.description(i) for i in range(self.num_workers)]
        first, *others = [each for each in described if each is not None]
        for i, other in enumerate(others, 1):
            for name in ("observation_space", "action_space"):
                if getattr(other, name) != getattr(first, name):
                    raise RuntimeError(
                        f"the environments of worker {i} have the {name}"
                        f" {getattr(other, name)}, and those of worker 0"
                        f" {getattr(first, name)}: make environments with equal spaces"
                    )
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self.action_space = batch_space(first.action_space, self.num_envs)
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.worker_backend = first.backend
        self.backend_reason = f"workers are {first.backend}: {first.backend_reason}"

    @property
    def workers(self) -> list[dict[str, Any]]:
        """Of each worker: "rows", a slice; "node", Ray's id, and "pid": None while it starts."""
        return self._open("workers").listed()

    @property
    def in_flight(self) -> int:
        """How many environments have a step or reset in flight."""
        return sum(worker.count for worker in self._workers if worker.asked)

    @property
    def restarts(self) -> int:
        """How many workers were replaced so far."""
        return self._open("restarts").restarts

    # ------------------------------------------------------------------------------ stepping --

    def step(self, actions: Any) -> Step:
        """Steps every environment, or resets it according to the autoreset mode.

        Args:
            actions: an element of `action_space`, or a sequence of n actions.

        Returns:
            What `NativeVectorEnv.step` returns.

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            NotResetError: before the first reset; with DISABLED, an episode is over.
            PendingCallError: another call is in flight, after Ctrl-C for example.
            parallel_pool.errors.StateError: the environments are asynchronous.
            parallel_pool.errors.WorkerError: a worker was lost, and on_worker_loss="raise", or it
                can't be started again.
            Exception: raised by an environment.
        """
        self._check_idle("step")
        if self.is_async:
            raise StateError("step() of asynchronous environments: use recv() and send()")
        if not self._was_reset:
            raise NotResetError("step() before reset(): call reset() first")
        if self._ended.any():
            raise NotResetError(
                f"environment {int(np.argmax(self._ended))} has ended its episode, and autoreset is"
                ' disabled: reset(options={"reset_mask": terminations | truncations})'
            )
        actions = self._checked(actions, self.num_envs)
        for worker in self._workers:
            worker.step(results.part_of_actions(actions, self.single_action_space, worker.rows))
        return self._received(self._workers)

    def _received(self, workers: Sequence[WorkerSlice]) -> Step:
        """Waits for these workers; returns their rows, one worker's after another's."""
        while not all(worker.index in self._taken for worker in workers):
            self._take(workers, None)
        step: Step = self._joined(workers)
        return step

    def _take(self, workers: Sequence[WorkerSlice], timeout: float | None) -> bool:
        """Waits until a worker is done, and takes its result; returns False after the timeout."""
        asked = [worker for worker in workers if worker.index not in self._taken]
        reports = [(worker.index, None) for worker in asked if worker.asked == REPORT]
        group = self._open("recv")
        found = reports or group.wait([worker.index for worker in asked], timeout)
        for index, outcome in found:
            result = self._workers[index].take(outcome)
            if result is not AGAIN:
                self._taken[index] = result
        return bool(found)

    def _joined(
        self,
        workers: Sequence[WorkerSlice],
        *,
        make_result: Callable[[Step], Any] | None = None,
        names_rows: bool = False,
    ) -> Any:
        """Returns the rows of workers whose results were taken; raises the first failure.

        Args:
            workers: in the order of their rows.
            make_result: a function of the rows, whose result is returned in their place. It may be
                called again for the same rows, after Ctrl-C.
            names_rows: whether infos have "env_id".
        """
        parts, failed, count = [], [], 0
        for worker in workers:
            result = self._taken[worker.index]
            at = slice(count, count + worker.count)
            count = at.stop
            if isinstance(result, Raised | Lost):
                failed.append((result, worker))
            else:
                parts.append((result, at))
        whole: Any = _join(parts, count, self.single_observation_space) if parts else ()
        if whole and names_rows:
            ids = [env_id for worker in workers for env_id in worker.env_ids]
            whole[4]["env_id"] = np.array(ids, np.int32)
        ended = self._ended
        if self.autoreset_mode is AutoresetMode.DISABLED:
            ended = self._ended_after(workers, whole, [worker for _, worker in failed])
        made, failure = whole, None
        if make_result is not None and not failed:
            try:
                made = make_result(whole)
            except Exception as error:
                failure = error
        done = {worker.index for worker in workers}
        left = {index: result for index, result in self._taken.items() if index not in done}
        # no function call from here on, unless a worker failed: Python handles signals after each
        self._taken, self._ended = left, ended
        if failure is not None:
            raise failure
        for result, worker in failed:
            raise_outcome(result, worker.index, worker.env_ids, whole)
        return made

    def _ended_after(
        self, workers: Sequence[WorkerSlice], whole: Any, failed: Sequence[WorkerSlice]
    ) -> Array:
        """Returns which environments the caller must reset after these results, a new array."""
        ended = self._ended.copy()
        if whole:
            ids = np.concatenate([worker.env_ids for worker in workers])
            ended[ids] = whole[2] | whole[3]
        for worker in failed:
            ended[worker.rows] = True
        return ended

    # ----------------------------------------------------------------------------- resetting --

    def reset(
        self, *, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Starts new episodes; drops the results of calls in flight.

        Args:
            seed: an integer: environment i gets seed + i; a sequence of n integers or Nones: one
                per environment; None: the generators continue.
            options: the environments' reset options, and "reset_mask" (removed from the dict): a
                bool array (n,) of the environments to reset; the others stay as they are.

        Returns:
            What `NativeVectorEnv.reset` returns.

        Raises:
            TypeError, ValueError: an argument is wrong.
            NotResetError: environments outside the mask were never reset.
            parallel_pool.errors.StateError: the environments are asynchronous.
            parallel_pool.errors.WorkerError: a worker was lost, and on_worker_loss="raise", or it
                can't be started again.
            Exception: raised by an environment.
        """
        self._open("reset")
        if self.is_async:
            raise StateError("reset() of asynchronous environments: use async_reset() and recv()")
        each = seeds.spread(seed, self.num_envs)
        mask, own = reset_mask.split(options, self.num_envs, self._was_reset)
        self._drain()
        self._send_resets(each, own, mask)
        if options and reset_mask.KEY in options:
            del options[reset_mask.KEY]
        ended = np.zeros_like(self._ended) if mask is None else self._ended & ~mask
        observations, _, _, _, infos = self._received(self._workers)
        # no function call since `_joined` has handed over the rows: Ctrl-C would lose them
        self._was_reset = True
        self._ended = ended
        return observations, infos

    def _send_resets(
        self, each: Sequence[int | None], options: dict[str, Any] | None, mask: Array | None
    ) -> None:
        self._open("reset").forgive()
        for worker in self._workers:
            own = options
            if mask is not None:
                own = {**(options or {}), "reset_mask": mask[worker.rows].copy()}
            worker.reset(each[worker.rows], own)

    def _drain(self) -> None:
        """Waits for calls that an exception left in flight, and drops their results."""
        group = self._open("reset")
        for worker in self._workers:
            if worker.index not in group.in_flight():
                # nothing was sent, or Ctrl-C has come when the answer was about to be stored
                worker.asked = None
            while worker.asked is not None and worker.index not in self._taken:
                self._take([worker], None)
        self._drop_calls()
        self._taken.clear()

    def _drop_calls(self) -> None:
        """Waits for a `call` whose wait was interrupted, and drops its results."""
        group = self._open("reset")
        while waiting := group.in_flight():
            for index, outcome in group.wait(waiting):
                if isinstance(outcome, Lost):
                    self._workers[index].lose(outcome)

    # -------------------------------------------------------------------------- asynchronous --

    def async_reset(self, seed: seeds.Seed = None, options: dict[str, Any] | None = None) -> None:
        """Sends resets to all workers; `recv` returns their first observations.

        Args:
            seed: as for `reset`, without "reset_mask".
            options: as for `reset`, without "reset_mask".

        Raises:
            TypeError, ValueError: an argument is wrong.
            PendingCallError: workers have steps in flight: receive them first.
        """
        if not self.in_flight and not self._taken:
            self._drop_calls()
        self._check_idle("async_reset")
        each = seeds.spread(seed, self.num_envs)
        if options is not None and "reset_mask" in options:
            raise ValueError("async_reset resets all environments: leave reset_mask out")
        self._send_resets(each, options, None)
        self._was_reset = True

    def recv(self, timeout: float | None = None) -> Step:
        """Returns the rows of the first `batch_workers` workers that are done.

        Args:
            timeout: seconds; None for no limit but that of each worker.

        Returns:
            What `step` returns, with the rows of these workers only, each worker's in the order of
            its environments; infos have "env_id", int32 (rows,). After a reset rewards are 0.

        Raises:
            parallel_pool.errors.StateError: fewer workers are in flight.
            parallel_pool.errors.PoolTimeoutError: too few were done in time; nothing is lost.
            Exception: what `step` raises; the `batch` of an `EnvError` has these rows, with zeros
                where a worker failed.
        """
        step: Step = self._recv_as(None, timeout)
        return step

    def _recv_as(self, make_result: Callable[[Step], Any] | None, timeout: float | None) -> Any:
        """Does what `recv` does; for `make_result` see `_joined`."""
        self._open("recv")
        asked = [worker for worker in self._workers if worker.asked or worker.index in self._taken]
        if len(asked) < self.batch_workers:
            raise StateError(
                f"recv(): {len(asked)} workers are in flight, and a result has"
                f" {self.batch_workers}: call async_reset() or send() first"
            )
        until = None if timeout is None else time.monotonic() + timeout
        while len(self._taken) < self.batch_workers:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not self._take(asked, left) and until is not None and time.monotonic() >= until:
                raise PoolTimeoutError(
                    f"recv(timeout={timeout}): {len(self._taken)} of {self.batch_workers} workers"
                    " are done; the next recv goes on waiting"
                )
        done = sorted(list(self._taken)[: self.batch_workers])
        workers = [self._workers[index] for index in done]
        return self._joined(workers, make_result=make_result, names_rows=True)

    def send(self, actions: Any, env_ids: Any) -> None:
        """Sends the next actions to workers.

        Args:
            actions: (rows, ...), as for `step`.
            env_ids: integers (rows,), such as infos["env_id"] of a result: all environments of
                each worker, in their order.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong; nothing was sent.
            parallel_pool.errors.StateError: a worker is in flight already.
        """
        flying = self._open("send").in_flight()
        if not self._was_reset:
            raise NotResetError("send() before async_reset(): call async_reset() first")
        ids = np.asarray(env_ids)
        actions = self._checked(actions, len(ids))
        chosen: list[tuple[WorkerSlice, slice]] = []
        start = 0
        by_first = {worker.rows.start: worker for worker in self._workers}
        while start < len(ids):
            worker = by_first.get(int(ids[start]))
            if worker is None or ids[start : start + worker.count].tolist() != list(worker.env_ids):
                raise ValueError(
                    f"env_ids from {start} on are {ids[start : start + 4]}...: give the"
                    ' infos["env_id"] of a result, all environments of a worker in their order'
                )
            if worker.asked or worker.index in self._taken:
                raise StateError(
                    f"worker {worker.index} has a step in flight already: call recv() first"
                )
            if worker.index in flying:
                raise StateError(
                    f"worker {worker.index} has a call in flight, whose wait was interrupted: call"
                    " async_reset() first"
                )
            if any(worker is other for other, _ in chosen):
                raise ValueError(f"env_ids name environment {ids[start]} twice: name each once")
            chosen.append((worker, slice(start, start + worker.count)))
            start += worker.count
        for worker, own in chosen:
            worker.step(results.part_of_actions(actions, self.single_action_space, own))

    # ---------------------------------------------------------------------------- attributes --

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or gets an attribute; returns n results.

        Raises:
            ValueError: the name is reset, step or close: call these directly.
            PendingCallError: steps or resets are in flight.
            parallel_pool.errors.WorkerError: a worker was lost; the next step says so too.
            Exception: raised by an environment.
        """
        check_call(name)
        found = self._ask("call", [("call", name, args, kwargs)] * self.num_workers)
        return tuple(value for values in found for value in values)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment.

        Args:
            name: of the attribute.
            values: a list or tuple with one value per environment, or one value for all.

        Raises:
            ValueError: there are too few or too many values.
            AttributeError: native environments have no attributes to set.
        """
        each = self._one_each(values)
        self._ask("set_attr", [("set_attr", name, each[worker.rows]) for worker in self._workers])

    def get_state(self) -> list[bytes]:
        """Returns a snapshot of every environment, as `Pool.get_state` does; native ones only."""
        asked = [("get_state", list(range(worker.count))) for worker in self._workers]
        return [state for states in self._ask("get_state", asked) for state in states]

    def set_state(self, states: Sequence[bytes]) -> None:
        """Restores snapshots of `get_state`, one for each environment.

        Environments of a worker that replaces a lost one go on from them, too.

        Raises:
            ValueError: there are too few or too many; a snapshot is of other environments.
        """
        if len(states) != self.num_envs:
            raise ValueError(
                f"{len(states)} snapshots for {self.num_envs} environments: give one for each"
            )
        found = self._ask(
            "set_state",
            [
                ("set_state", list(states[worker.rows]), list(range(worker.count)))
                for worker in self._workers
            ],
        )
        for worker in self._workers:
            worker.restored()
        if self.autoreset_mode is AutoresetMode.DISABLED:
            self._ended = np.array([ended for each in found for ended in each], np.bool_)

    def _ask(self, what: str, requests: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Sends a request to every worker; returns the results."""
        self._check_idle(what)
        group = self._open(what)
        for index, request in enumerate(requests):
            group.submit(index, *request)
        found: dict[int, Any] = {}
        while len(found) < len(requests):
            waiting = [index for index in range(len(requests)) if index not in found]
            found |= dict(group.wait(waiting))
        for index, outcome in sorted(found.items()):
            if isinstance(outcome, Lost):
                self._workers[index].lose(outcome)
        for index, outcome in sorted(found.items()):
            raise_outcome(outcome, index, self._workers[index].env_ids)
        return [found[index] for index in range(len(requests))]

    # --------------------------------------------------------------------------------- state --

    def _open(self, what: str) -> WorkerGroup:
        """Returns the workers.

        Raises:
            parallel_pool.errors.StateError: they are closed, or belong to another process.
            parallel_pool.errors.WorkerError: their session of Ray has ended.
        """
        if self.closed or self._group is None:
            raise ClosedError(f"{what}() of environments that are closed: make new ones")
        if os.getpid() != self._pid:
            raise ForkedError(
                f"{what}() in a forked process: the workers belong to process {self._pid}: make new"
                " environments here"
            )
        self._group.session.check()
        return self._group

    def _check_idle(self, what: str) -> None:
        group = self._open(what)
        stepping = [worker.index for worker in self._workers if worker.asked] or sorted(self._taken)
        # others have a `call` whose wait was interrupted
        busy = stepping or group.in_flight()
        if busy:
            cure = "call reset(), which drops it"
            if self.is_async:
                cure = "recv() their results first" if stepping else "call async_reset() first"
            raise PendingCallError(
                f"{what}() while workers {busy} have a call in flight: {cure}", "step"
            )

    def _checked(self, actions: Any, count: int) -> Any:
        """Returns actions in a form that can be taken apart.

        So a wrong action is refused before any worker has stepped.
        """
        space = self.single_action_space
        actions = take_array(actions)
        if isinstance(actions, np.ndarray) and actions.dtype != object:
            shape = (count, *(space.shape or ()))
            if actions.shape != shape and space.shape is not None:
                raise ValueError(
                    f"actions have shape {actions.shape}: {count} environments take {shape}"
                )
            if self.worker_backend == "native":
                _check_range(actions, space)
            return actions
        if isinstance(actions, Mapping) or isinstance(space, Tuple):
            results.check_rows(actions, space, count)
            return actions
        check_sequence(actions, count)
        if len(actions) != count:
            raise ValueError(f"{len(actions)} actions: give one for each of {count} environments")
        if isinstance(actions, np.ndarray | list | tuple):
            checked = np.asarray(actions) if self.worker_backend == "native" else None
            if checked is not None and checked.dtype != object:
                _check_range(checked, space)
            return actions
        return list(actions)

    # ------------------------------------------------------------------------- not on a cluster --

    @property
    def pool(self) -> NoReturn:  # type: ignore[override]
        """Raises AttributeError: a cluster has a pool in each worker, none here."""
        raise AttributeError(
            "environments on a cluster have no pool in this process, only one in each worker: use"
            " the methods of ClusterVectorEnv"
        )

    def trace(self, path: Any = None, **options: Any) -> NoReturn:
        """Raises NotImplementedError: what to trace is in other processes."""
        raise NotImplementedError(NO_TRACE)

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the workers; `close` calls this. Keywords are ignored."""
        if self._group is not None and os.getpid() == self._pid:
            self._group.close()


def _check_range(actions: Array, space: Space[Any]) -> None:
    """Refuses discrete actions that native environments refuse."""
    if not isinstance(space, Discrete | MultiDiscrete):
        return
    if actions.dtype.kind not in "iub":
        raise TypeError(f"actions have dtype {actions.dtype}: give integers")
    numbers = space.n if isinstance(space, Discrete) else space.nvec
    first, last = space.start, space.start + numbers - 1
    wrong = (actions < first) | (actions > last)
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise ValueError(
            f"actions[{row}]={actions[row]} is not in {space}: give integers from {first} to {last}"
        )


def _join(parts: Sequence[Part], count: int, space: Space[Any]) -> Step:
    """Returns the results of workers as one.

    Args:
        parts: of each worker.
        count: rows.
        space: of an observation.
    """
    observations, rewards, terminated, truncated = (
        results.joined([(step[i], own) for step, own in parts], count, space if i == 0 else None)
        for i in range(4)
    )
    infos = vector_infos.joined([(step[4], own) for step, own in parts], count)
    return observations, rewards, terminated, truncated, infos
