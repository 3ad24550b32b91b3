"""ProcessVectorEnv: Python environments in worker processes as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium import logger
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool import seeds
from parallel_pool._native import ffi, lib
from parallel_pool.compat.gymnasium import reset_mask, spaces
from parallel_pool.compat.process_rows import RowReader
from parallel_pool.compat.vector_errors import (
    ClosedVectorEnvError,
    NoPendingCallError,
    NotResetError,
    PendingCallError,
    VectorTimeoutError,
)
from parallel_pool.compat.vector_options import VectorOptions
from parallel_pool.errors import BrokenPoolError, EnvError, PoolTimeoutError
from parallel_pool.workers.process_pool import Call, ProcessPool, listed
from parallel_pool.workers.spaces import iterate_objects
from parallel_pool.workers.supervisor import GRACE

if TYPE_CHECKING:
    from parallel_pool.buffers import Array
    from parallel_pool.compat.process_rows import Shown
    from parallel_pool.workers.messages import Description

    Step = tuple[Any, Array, Array, Array, dict[str, Any]]

# what may be waited for
STEP, RESET, CALL = "step", "reset", "call"


class ProcessVectorEnv(VectorEnv[Any, Any, np.ndarray[Any, Any]]):
    """Python environments in worker processes, a few in each, as a `gymnasium.vector.VectorEnv`.

    Takes what `gymnasium.vector.AsyncVectorEnv` takes, has its methods, and returns for the same
    seeds and actions what `gymnasium.vector.SyncVectorEnv` returns: the same arrays, dtypes and
    infos. Results are the caller's own: they may be kept and written to.

    An exception of an environment's comes as it was raised, with the worker's traceback as its
    cause; the environment starts a new episode at its next step. Environments whose worker process
    died raise `parallel_pool.errors.WorkerError`, or come back freshly seeded (on_error="restart").

    Attributes:
        backend, backend_reason: "process", and why it is that; a sentence.
        num_envs: environments, n below.
        single_observation_space, single_action_space: of one environment.
        observation_space, action_space: of all: the same with an axis of n in front.
        autoreset_mode: how episodes start again; also `metadata["autoreset_mode"]`.
        metadata: a copy of the first environment's.
        render_mode: of the first environment.
        spec: None, unless somebody made this of one.
        pool: the `ProcessPool` underneath.
    """

    backend = "process"
    backend_reason = "ProcessVectorEnv was asked for by name"
    # what is under way; None: nothing (and so if __init__ fails halfway)
    _pending: str | None = None
    # by an exception, Ctrl-C say, not by the caller
    _is_interrupted = False

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
    ) -> None:
        """Starts the worker processes and makes the environments in them.

        Args:
            env_fns: functions that make one environment each; they travel by cloudpickle.
            shared_memory: taken for AsyncVectorEnv's sake: observations lie in shared memory where
                their space has a fixed size, and travel as objects otherwise.
            copy: taken for its sake, too: results are the caller's own either way.
            context: how processes start: "forkserver", "spawn" or "fork"; None for the first.
            daemon: taken for its sake: workers end with this process, and may have children.
            worker: not taken.
            observation_mode: "same": all observation spaces are equal; "different": their shapes
                and dtypes are; or a tuple of a batched and a single space to show instead.
            autoreset_mode: NEXT_STEP: the step after the end of an episode ignores its action and
                resets; SAME_STEP: the step that ends an episode returns the first observation of
                the next; DISABLED: the caller resets, with options={"reset_mask": ...}.
            max_concurrency: environments that may be stepped at the same time: at most so many
                workers.
            num_workers: processes; None for the cores this process may use. Each has as many
                environments as any other.
            timeout: seconds that one environment's step or reset may take; then its worker is
                killed. None for no limit.
            start_timeout: seconds until a worker's environments must be made, at the beginning or
                again; None for no limit without a timeout, and a minute or more with one.
            on_error: "raise", or "restart": environments whose worker died, or that raised, are
                made anew with fresh seeds; their rows repeat the last observation, truncated, and
                infos say "worker_restarted" and "restart_seed".

        Raises:
            TypeError, ValueError: an argument is wrong.
            RuntimeError: the spaces of the environments differ.
            parallel_pool.errors.WorkerError: a worker died, or can't be started.
            Exception: what an environment raised when it was made.
        """
        if worker is not None:
            raise TypeError(
                f"worker={worker!r}: workers here are the engine's own: leave it out, or use"
                " gymnasium.vector.AsyncVectorEnv"
            )
        # what yields nothing is refused by the pool
        is_read = isinstance(env_fns, Sequence) or not isinstance(env_fns, Iterable)
        self.env_fns = env_fns if is_read else listed(env_fns)
        self.shared_memory, self.copy, self.context = shared_memory, copy, context
        self.daemon = daemon
        self.observation_mode = observation_mode
        self.autoreset_mode = _mode(autoreset_mode)
        self.max_concurrency = max_concurrency
        self.pool = ProcessPool(
            self.env_fns,
            num_workers=_limit(num_workers, max_concurrency, self.env_fns),
            autoreset=self.autoreset_mode.name.lower(),
            start_method=context,
            timeout=timeout,
            start_timeout=start_timeout,
            on_error=on_error,
            # SyncVectorEnv hands both on, always
            reset_arguments={"seed": None, "options": None},
            check_spaces=self._set_spaces,
        )
        self.num_envs = self.pool.num_envs
        self.metadata = {**self.pool.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self.pool.render_mode

        self._rows = RowReader(self.pool, self.single_observation_space)
        # not methods of this object, which would be a cycle: worker processes of one that is
        # dropped without close() would wait for the garbage collector
        self._show = self._rows.show
        self._sends_objects = self.pool.sends_objects
        self._is_disabled = self.autoreset_mode is AutoresetMode.DISABLED
        # DISABLED: whom the caller must reset
        self._ended = np.zeros(self.num_envs, np.bool_)
        self._was_reset = False
        self._mask: Array | None = None
        self._call: Call | None = None

    def _set_spaces(self, described: list[Description]) -> None:
        found = spaces.combine(
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
        """Steps every environment, or resets it, as the autoreset mode has it.

        Args:
            actions: an element of `action_space`, or anything that yields n actions.

        Returns:
            Observations, an array (n, ...) or a tree of them; rewards float64 (n,); terminations
            and truncations bool (n,); infos: for each key an array (n, ...) and a bool mask
            "_key" of who has it; with SAME_STEP also "final_obs", an object array of what ended
            episodes showed last, and "final_info".

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            NotResetError: an episode has ended, and with DISABLED the caller must reset it.
            PendingCallError: a result is waited for: a step is one call here.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: what an environment raised.
        """
        self._check_step("step")
        try:
            if self._sends_objects:
                actions = iterate_objects(self.action_space, actions, self.num_envs)
            shown: Shown = self.pool.step_shown(self._show, actions)
        except BaseException as error:
            self._note_failure(error, STEP)
            raise
        return self._step_result(shown)

    def step_async(self, actions: Any) -> None:
        """Begins a step; `step_wait` has its result. Raises as `step` does."""
        self._check_step("step_async")
        if self._sends_objects:
            actions = iterate_objects(self.action_space, actions, self.num_envs)
        self.pool.send(actions)
        self._pending = STEP

    def step_wait(self, timeout: float | None = None) -> Step:
        """Waits for a step that was begun and returns as `step` does.

        Raises:
            NoPendingCallError: none was.
            VectorTimeoutError: it is not done within `timeout` seconds; wait again.
        """
        return self._step_result(self._receive(STEP, timeout))

    def _check_step(self, what: str) -> None:
        if self.closed or self._pending is not None:
            self._check_idle(what)
        if self._is_disabled and self._ended.any():
            raise NotResetError(
                f"environment {int(np.argmax(self._ended))} has ended its episode or failed, and"
                ' autoreset is disabled: reset(options={"reset_mask": terminations | truncations})'
            )

    def _step_result(self, shown: Shown) -> Step:
        observations, infos = self._dress(shown)
        _, rewards, terminated, truncated, _ = shown
        if self._is_disabled:
            self._ended = terminated | truncated
        return observations, rewards, terminated, truncated, infos

    def _dress(self, shown: Shown) -> tuple[Any, dict[str, Any]]:
        """Returns the observations, and infos of what environments told beside their rows."""
        replies = self.pool.told()
        if not replies:
            return shown[0], {}
        infos = self._rows.infos(self._add_info, replies, shown)
        return (self._rows.batch(replies) if self._rows.has_objects else shown[0]), infos

    def _receive(self, kind: str, timeout: float | None) -> Shown:
        """Waits for what is under way, which must be of this kind."""
        self._check_open()
        if self._pending != kind:
            _refuse_wait(kind)
        try:
            shown: Shown = self.pool.recv_shown(self._show, timeout)
        except PoolTimeoutError as error:
            raise VectorTimeoutError(f"{kind}_wait(timeout={timeout}): {error}") from None
        except BaseException as error:
            self._note_failure(error, kind)
            raise
        self._pending = None
        return shown

    def _note_failure(self, error: BaseException, kind: str) -> None:
        """Learns from an exception what is still under way, and who must be reset."""
        if self.pool.in_flight and not isinstance(error, BrokenPoolError):
            self._pending = kind
            self._is_interrupted = True
            return
        self._pending = None
        failed = error if isinstance(error, EnvError) else error.__cause__
        if not isinstance(failed, EnvError) or not failed.batch:
            return
        if kind == STEP:
            self._ended = self._rows.ended(failed.batch)
        else:
            self._note_reset()
        self._ended[list(failed.env_ids)] = True

    def _drop_results(self) -> None:
        """Waits for what an exception kept from the caller, and forgets it."""
        wait = {STEP: self.step_wait, RESET: self.reset_wait, CALL: self.call_wait}
        while self._pending is not None:
            try:
                wait[self._pending]()
            except Exception:
                # nothing came: the pool is broken or a forked child's, or another thread receives
                if self._pending is not None:
                    raise
        self._is_interrupted = False

    # ----------------------------------------------------------------------------- resetting --

    def reset(
        self, *, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes.

        Args:
            seed: int: environment i gets seed + i; a sequence of n ints or Nones: one for each;
                None: the generators go on.
            options: the environments' reset options, and "reset_mask" (taken out of the dict): a
                bool array (n,) of the environments to reset; the others stay as they are.

        Returns:
            Observations of all environments, as of `step`; those not reset show what they showed
            last. Infos of those that are reset.

        Raises:
            TypeError: a seed or the mask has a wrong type.
            ValueError: a seed is negative, the mask has a wrong shape or names nobody.
            NotResetError: environments outside the mask were never reset.
            PendingCallError: a result is waited for.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: what an environment raised.
        """
        if self._is_interrupted and not self.closed:
            self._drop_results()
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(self, seed: seeds.Seed = None, options: dict[str, Any] | None = None) -> None:
        """Begins a reset; `reset_wait` has its result. Raises as `reset` does."""
        self._check_open()
        each = seeds.spread(seed, self.num_envs)
        self._check_idle("reset_async")
        mask = reset_mask.take(options, self.num_envs, self._was_reset)
        self.pool.send_reset(seed=each, options=options, mask=mask)
        self._mask = mask
        self._pending = RESET

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """Waits for a reset that was begun and returns as `reset` does.

        Raises:
            NoPendingCallError: none was.
            VectorTimeoutError: it is not done within `timeout` seconds; wait again.
        """
        result = self._dress(self._receive(RESET, timeout))
        self._was_reset = True
        self._note_reset()
        return result

    def _note_reset(self) -> None:
        """Environments that were asked to have begun an episode."""
        if self._mask is None:
            self._ended = np.zeros(self.num_envs, np.bool_)
        else:
            self._ended[self._mask] = False

    # ----------------------------------------------------------------------- what is in them --

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or gets an attribute; n results.

        Raises:
            ValueError: the name is reset, step or close: call these directly.
            PendingCallError: a result is waited for.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: what an environment raised.
        """
        self.call_async(name, *args, **kwargs)
        try:
            return self.call_wait()
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Begins a call; `call_wait` has its results. Raises as `call` does."""
        self._check_idle("call_async")
        if name in ("reset", "step", "close"):
            raise ValueError(f"call({name!r}): call {name} directly instead")
        self._call = self.pool.send_call(name, args, kwargs)
        self._pending = CALL

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Waits for a call that was begun and returns as `call` does.

        Raises:
            NoPendingCallError: none was.
            VectorTimeoutError: it is not done within `timeout` seconds; wait again.
        """
        self._check_open()
        if self._pending != CALL or self._call is None:
            _refuse_wait(CALL)
        try:
            results = self.pool.recv_call(self._call, timeout)
        except PoolTimeoutError as error:
            raise VectorTimeoutError(f"call_wait(timeout={timeout}): {error}") from None
        except Exception:
            self._pending = self._call = None
            raise
        self._pending = self._call = None
        return tuple(results)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Gets an attribute of every environment, as `call` does; n values."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment.

        Args:
            name: of the attribute, of the environment or of a wrapper that has it.
            values: a list or tuple with one value for each environment, or one for all.

        Raises:
            ValueError: there are too few or too many values.
            PendingCallError: a result is waited for.
        """
        self._check_open()
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(
                f"{len(values)} values for {self.num_envs} environments: give one for each"
            )
        self._check_idle("set_attr")
        self.pool.set_attr(name, values)

    def render(self) -> tuple[Any, ...]:
        """Returns what `render` of every environment returns."""
        return self.call("render")

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds that the environments' generators were made from."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Copies of the environments' generators."""
        return self.get_attr("np_random")

    # ----------------------------------------------------------------------------- its state --

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedVectorEnvError(f"{self} is closed: make a new one")

    def _check_idle(self, what: str) -> None:
        """Refuses a call while something is under way."""
        self._check_open()
        if self._pending is not None:
            cure = f"call {self._pending}_wait() first"
            if self._is_interrupted:
                cure += ", or reset()"
            raise PendingCallError(
                f"Calling `{what}` while waiting for a pending call to `{self._pending}` to"
                f" complete: {cure}",
                self._pending,
            )
        self._is_interrupted = False

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Ends the worker processes, each after the environment it is stepping; for `close`.

        Args:
            timeout: seconds until those that have not ended are killed; None for 5.
            terminate: kill them at once.
        """
        if self._pending is not None and not self._is_interrupted:
            logger.warn(
                f"Calling `close` while waiting for a pending call to `{self._pending}` to"
                " complete."
            )
        if hasattr(self, "pool"):
            self.pool.close(grace=0.0 if terminate else GRACE if timeout is None else timeout)


def _refuse_wait(kind: str) -> NoReturn:
    raise NoPendingCallError(
        f"Calling `{kind}_wait` without any prior call to `{kind}_async`. Call {kind}_async()"
        " first",
        kind,
    )


def _mode(autoreset_mode: AutoresetMode | str) -> AutoresetMode:
    return VectorOptions(autoreset_mode=autoreset_mode).mode()


def _limit(
    num_workers: int | None, max_concurrency: int | None, env_fns: Sequence[Any]
) -> int | None:
    """Returns how many workers there are to be, None for a choice of the pool's."""
    if max_concurrency is None:
        return num_workers
    # a ValueError for a wrong type, too: as AsyncVectorEnv
    if not isinstance(max_concurrency, (int, np.integer)) or max_concurrency < 1:
        raise ValueError(f"max_concurrency={max_concurrency!r}: choose 1 or more, or None")
    if num_workers is None:
        return min(int(max_concurrency), len(env_fns), lib.pp_usable_cores(ffi.NULL))
    if num_workers > max_concurrency:
        raise ValueError(
            f"num_workers={num_workers} > max_concurrency={max_concurrency}: each worker steps an"
            " environment: choose num_workers <= max_concurrency"
        )
    return num_workers
