"""ProcessVectorEnv: Python environments in worker processes as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common import vector_spaces
from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.common.vector_options import VectorOptions, autoreset_of
from parallel_pool._apis.gymnasium.async_calls import STEP, AsyncCalls, ResetRequest
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.rollouts import last_batch
from parallel_pool._lazy import public
from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.spaces import iterate_objects
from parallel_pool._workers.env_calls import Call, prepare_call, send_requests
from parallel_pool._workers.process_pool import ProcessPool, listed, reset_as
from parallel_pool._workers.replies import replies_of

if TYPE_CHECKING:
    from parallel_pool._apis.gymnasium.async_calls import Reset, Step
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.data.messages import Description
    from parallel_pool.errors import EnvError

    # a result; which environments the caller must reset next (DISABLED); why there is no result
    Outcome = tuple[Any, Array, Exception | None]
    Convert = Callable[[Views], Outcome]


@public("compat.gymnasium")
class ProcessVectorEnv(AsyncCalls):
    """Python environments in worker processes as a `gymnasium.vector.VectorEnv`.

    It has the arguments and methods of `gymnasium.vector.AsyncVectorEnv`, and returns for the same
    seeds and actions what `gymnasium.vector.SyncVectorEnv` returns: the same arrays, dtypes and
    infos. Results are the caller's own: you may keep them and write to them.

    An exception of an environment is raised here unchanged, with the worker's traceback as its
    cause; the environment starts a new episode at its next step. If a worker process dies, its
    environments raise `parallel_pool.errors.WorkerError`, or are made again with fresh seeds
    (on_error="restart").

    Attributes:
        backend: "process".
        backend_reason: why this backend was chosen; a sentence.
        num_envs: environments, n below.
        single_observation_space: of one environment.
        single_action_space: of one environment.
        observation_space: of all environments: a first axis of n is added.
        action_space: of all environments: a first axis of n is added.
        autoreset_mode: how episodes start again; also `metadata["autoreset_mode"]`.
        metadata: a copy of the first environment's.
        render_mode: of the first environment.
        spec: from which make_vec or PoolVectorEnv made it, else None.
        pool: the `ProcessPool` underneath.
        env_fns: as given.
        shared_memory: as given.
        copy: as given.
        context: as given.
        daemon: as given.
        observation_mode: as given.
        max_concurrency: as given.

    Example:
        >>> from parallel_pool.compat.gymnasium import ProcessVectorEnv
        >>> env_fns = [lambda: gymnasium.make("CartPole-v1")] * 4
        >>> envs = ProcessVectorEnv(env_fns, num_workers=1, timeout=60, on_error="restart")
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step([0, 1, 0, 1])[1]
        array([1., 1., 1., 1.])
        >>> envs.close()
    """

    backend = "process"
    backend_reason = "ProcessVectorEnv was asked for by name"
    pool: ProcessPool
    _call: Call | None = None

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: None = None,
        observation_mode: Any = "same",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_concurrency: int | None = None,
        *,
        num_workers: int | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        on_error: str = "raise",
        python: Any = None,
        episode_seeds: bool = False,
        prepare_resets: bool = False,
    ) -> None:
        """Starts the worker processes and makes the environments in them.

        Args:
            env_fns: functions that make one environment each; cloudpickle sends them to workers.
            shared_memory: accepted for compatibility with AsyncVectorEnv: observations are in
                shared memory if their space has a fixed size, and are pickled otherwise.
            copy: accepted for compatibility: results are always the caller's own.
            context: how processes start: "forkserver", "spawn" or "fork"; None for "forkserver".
            daemon: accepted for compatibility: workers end with this process, and may have child
                processes.
            worker: must be None.
            observation_mode: "same": all observation spaces are equal; "different": their shapes
                and dtypes are equal; or a tuple of a batched and a single space to show instead.
            autoreset_mode: NEXT_STEP: the step after the end of an episode ignores its action and
                resets; SAME_STEP: the step that ends an episode returns the first observation of
                the next; DISABLED: the caller resets, with options={"reset_mask": ...}.
            max_concurrency: most environments stepped at the same time, and so most workers.
            num_workers: processes; None for the cores this process may use. Each has the same
                number of environments. 0: this process steps them, in the calling thread.
            timeout: seconds that one environment's step or reset may take; then its worker is
                killed. None for no limit.
            start_timeout: seconds in which a worker must make its environments, at the start and
                at a restart; None for no limit without `timeout`, and a minute or more with it.
            on_error: "raise", or "restart": environments whose worker died, or that raised, are
                made again with fresh seeds; their rows repeat the last observation, truncated, and
                infos have "worker_restarted" and "restart_seed".
            python: path of the Python interpreter in which workers run, such as that of a virtual
                environment, or a list of one path, or None, for each environment; see
                `parallel_pool.ProcessPool`.
            episode_seeds: each episode that begins without a seed gets one, which follows from the
                last seed that its environment was given and from the number of episodes since.
            prepare_resets: each worker begins the next episode in a second environment while this
                one is played; needs episode_seeds, see `parallel_pool.ProcessPool`.

        Raises:
            TypeError, ValueError: an argument is wrong.
            RuntimeError: the spaces of the environments differ.
            parallel_pool.errors.WorkerError: a worker died, or can't be started.
            Exception: raised by an environment's function.
        """
        if worker is not None:
            raise TypeError(
                f"worker={quote(worker)}: workers run the engine's own function: leave it out, or"
                " use gymnasium.vector.AsyncVectorEnv"
            )
        # the pool refuses anything that is not iterable
        is_read = isinstance(env_fns, Sequence) or not isinstance(env_fns, Iterable)
        self.env_fns = env_fns if is_read else listed(env_fns)
        self.shared_memory, self.copy, self.context = shared_memory, copy, context
        self.daemon = daemon
        self.observation_mode = observation_mode
        self.autoreset_mode = VectorOptions(autoreset_mode=autoreset_mode).mode()
        self.max_concurrency = max_concurrency
        self.pool = ProcessPool(
            self.env_fns,
            num_workers=_worker_count(num_workers, max_concurrency, self.env_fns),
            autoreset=autoreset_of(self.autoreset_mode),
            start_method=context,
            timeout=timeout,
            start_timeout=start_timeout,
            on_error=on_error,
            python=python,
            episode_seeds=episode_seeds,
            prepare_resets=prepare_resets,
            # SyncVectorEnv always passes both
            reset_arguments={"seed": None, "options": None},
            check_spaces=self._set_spaces,
        )
        self._adopt(ReplyReader(self.pool, self.single_observation_space))

    def _adopt(self, rows: ReplyReader) -> None:
        """Takes over the pool and the spaces, which are set: the last part of making this.

        Args:
            rows: reads the pool's batches.
        """
        self._rows = rows
        self._replies = replies_of(self.pool)
        self.num_envs = self.pool.num_envs
        self.metadata = {**self.pool.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self.pool.render_mode
        self._sends_objects = self.pool.sends_objects
        self._is_disabled = self.autoreset_mode is AutoresetMode.DISABLED
        # DISABLED: environments that the caller must reset
        self._ended = np.zeros(self.num_envs, np.bool_)

    def _set_spaces(self, described: list[Description]) -> None:
        found = vector_spaces.combine(
            self.observation_mode,
            [space for each in described for space in each.observation_spaces],
            [space for each in described for space in each.action_spaces],
        )
        self.single_observation_space = found.single_observation
        self.observation_space = found.observation
        self.single_action_space = found.single_action
        self.action_space = found.action

    # ------------------------------------------------------------------------------ stepping --

    def step(self, actions: Any) -> Step:
        """Steps every environment, or resets it according to the autoreset mode.

        Args:
            actions: an element of `action_space`, or an iterable of n actions.

        Returns:
            Observations, an array (n, *shape) of the space's dtype, or a tree of such arrays;
            rewards float64 (n,);
            terminations and truncations bool (n,); infos: for each key an array (n, ...), and
            "_key", a bool mask (n,) of the environments that have it; with SAME_STEP also
            "final_obs", an object array (n,) of the last observations of ended episodes, and
            "final_info".

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            NotResetError: with DISABLED, an episode has ended and was not reset.
            PendingCallError: another call is pending.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: raised by an environment.
        """
        if self.closed or self._pending is not None:
            self._check_idle("step")
        if self._is_disabled:
            self._check_ended()
        try:
            if self._sends_objects:
                actions = iterate_objects(self.action_space, actions, self.num_envs)
            step: Step = self._taken(self.pool.step_as, self._step_outcome, actions)
        except BaseException as error:
            self._note_failure(error, STEP)
            raise
        return step

    def _send_step(self, actions: Any) -> None:
        self._check_ended()
        if self._sends_objects:
            actions = iterate_objects(self.action_space, actions, self.num_envs)
        self.pool.send(actions)

    def _receive_step(self, timeout: float | None) -> Step:
        step: Step = self._taken(self.pool.recv_as, self._step_outcome, timeout)
        return step

    def _taken(
        self, receive: Callable[[Convert, Any], Outcome], convert: Convert, argument: Any
    ) -> Any:
        """Returns the result of the outcome of `receive(convert, argument)`."""
        result, self._ended, failure = receive(convert, argument)
        # No function call from here on: Python handles signals after each, and the pool has handed
        # over the batch.
        self._rows.latest = self._rows.upcoming
        if failure is not None:
            raise failure
        return result

    def _check_ended(self) -> None:
        if self._is_disabled and self._ended.any():
            raise NotResetError(
                f"environment {int(np.argmax(self._ended))} has ended its episode or failed, and"
                ' autoreset is disabled: reset(options={"reset_mask": terminations | truncations})'
            )

    def _step_outcome(self, views: Views) -> Outcome:
        """Converts a batch; changes nothing that a second call, after Ctrl-C, would notice.

        What fails is raised once the batch is taken, so that the next step is not refused.
        """
        ended = self._ended
        try:
            converted = self._rows.convert(views)
            _, rewards, terminated, truncated, _ = converted
            if self._is_disabled:
                ended = terminated | truncated
            observations, infos = self._rows.with_infos(converted, self._replies, self._add_info)
        except Exception as error:
            return None, ended, error
        return (observations, rewards, terminated, truncated, infos), ended, None

    def _present_observations(self) -> Any:
        if not self._was_reset:
            raise NotResetError("collect() before reset(): call reset() first")
        if self._rows.has_objects:
            return self._rows.batch({})
        return self._rows.convert([array.view for array in last_batch(self.pool)])[0]

    def _note_failed(self, error: EnvError, kind: str) -> None:
        if kind == STEP:
            self._ended = self._rows.ended(error.batch)
        else:
            self._ended = self._ended_after(self._request)
        self._ended[list(error.env_ids)] = True

    # ----------------------------------------------------------------------------- resetting --

    def _reset_now(self, request: ResetRequest) -> Reset:
        def receive(convert: Convert, mask: Array | None) -> Outcome:
            return reset_as(self.pool, convert, None, request.seeds, request.options, mask)

        # not by `partial`: Python would handle signals as the call returns
        result: Reset = self._taken(receive, partial(self._reset_outcome, request), request.mask)
        return result

    def _send_reset(self, request: ResetRequest) -> None:
        self.pool.send_reset(seed=request.seeds, options=request.options, mask=request.mask)

    def _receive_reset(self, timeout: float | None) -> Reset:
        convert = partial(self._reset_outcome, self._request)
        result: Reset = self._taken(self.pool.recv_as, convert, timeout)
        return result

    def _reset_outcome(self, request: ResetRequest, views: Views) -> Outcome:
        """Converts the batch of a reset, as `_step_outcome` does."""
        try:
            converted = self._rows.convert(views)
            result = self._rows.with_infos(converted, self._replies, self._add_info)
        except Exception as error:
            return None, self._ended, error
        return result, self._ended_after(request), None

    def _ended_after(self, request: ResetRequest) -> Array:
        """Returns which environments the caller must reset after a reset, a new bool array (n,)."""
        if request.mask is None:
            return np.zeros(self.num_envs, np.bool_)
        ended: Array = self._ended & ~request.mask
        return ended

    # ---------------------------------------------------------------------------- attributes --

    def _send_call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._call = prepare_call(self.pool, name, args, kwargs)
        send_requests(self.pool, self._call)

    def _is_call_sent(self) -> bool:
        return self._call is not None and bool(self._call.sent)

    def _receive_call(self, timeout: float | None) -> tuple[Any, ...]:
        assert self._call is not None
        return tuple(self.pool.recv_call(self._call, timeout))

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment.

        Args:
            name: of the attribute, of the environment or of a wrapper that has it.
            values: a list or tuple with one value per environment, or one value for all.

        Raises:
            ValueError: there are too few or too many values.
            PendingCallError: another call is pending.
        """
        self._check_open()
        each = self._one_each(values)
        self._check_idle("set_attr")
        self.pool.set_attr(name, each)

    # --------------------------------------------------------------------------------- other --

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Ends the worker processes, each after the environment it is stepping; `close` calls this.

        Args:
            timeout: seconds after which workers that still run are killed; None for 5.
            terminate: kills them at once.
        """
        self._warn_of_pending()
        if hasattr(self, "pool"):
            self.pool.close(timeout=0.0 if terminate else timeout)


def _worker_count(
    num_workers: int | None, max_concurrency: int | None, env_fns: Sequence[Any]
) -> int | None:
    """Returns the number of workers; None to let the pool choose."""
    if max_concurrency is None:
        return num_workers
    # a ValueError for a wrong type too, as in AsyncVectorEnv
    if not isinstance(max_concurrency, (int, np.integer)) or max_concurrency < 1:
        raise ValueError(f"max_concurrency={quote(max_concurrency)}: choose 1 or more, or None")
    if num_workers is None:
        return min(int(max_concurrency), len(env_fns), lib.pp_usable_cores(ffi.NULL))
    if num_workers > max_concurrency:
        raise ValueError(
            f"num_workers={num_workers} > max_concurrency={max_concurrency}: every worker steps one"
            " environment at a time: choose num_workers <= max_concurrency"
        )
    return num_workers
