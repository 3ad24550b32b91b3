"""AsyncCalls: the halves of calls, such as step_async and step_wait, of vector environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from gymnasium import logger

from parallel_pool._apis.common import reset_mask
from parallel_pool._apis.common.rollout_method import RolloutMethod
from parallel_pool._apis.common.vector_errors import (
    ClosedVectorEnvError,
    NoPendingCallError,
    PendingCallError,
    VectorTimeoutError,
    check_call,
)
from parallel_pool._apis.gymnasium.vector_env import PoolVectorEnv
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import seconds
from parallel_pool._engine.env_errors import env_error_of
from parallel_pool._engine.pool_checks import check_reset
from parallel_pool.errors import BrokenPoolError, PoolTimeoutError, StateError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array, Observations
    from parallel_pool.errors import EnvError

    Step = tuple[Observations, Array, Array, Array, dict[str, Any]]
    Reset = tuple[Observations, dict[str, Any]]

# kinds of pending calls
STEP, RESET, CALL = "step", "reset", "call"


class ResetRequest:
    """A reset whose arguments were checked.

    Attributes:
        seeds: one for each environment, None for no new one.
        is_seeded: whether the caller gave seeds.
        mask: which environments are reset, bool (n,); None: all.
        options: of the environments, without the mask; None for none.
    """

    def __init__(
        self, seed: seeds.Seed, options: dict[str, Any] | None, num_envs: int, was_reset: bool
    ) -> None:
        """Checks the arguments of `AsyncCalls.reset`; raises as that does."""
        self.seeds = seeds.spread(seed, num_envs)
        self.is_seeded = seed is not None
        self.mask, self.options = reset_mask.split(options, num_envs, was_reset)


class AsyncCalls(RolloutMethod, PoolVectorEnv):
    """The halves of calls that `gymnasium.vector.AsyncVectorEnv` has, and `reset` and `call`.

    A call is pending from the moment at which the pool accepts it until its result is returned, or
    until it fails. A call that is refused changes nothing; in particular another thread's call
    stays as it is. An exception that ends a wait (Ctrl-C) leaves the call pending: its wait
    continues, and `reset` drops its result.

    A derived class sends and receives: the methods below that raise NotImplementedError. It sets
    `pool`, and `_was_reset` to whether all environments were reset. `_send_call` sets `_call`.
    """

    _was_reset = False
    # the kind of the pending call; None: no call is pending, also after __init__ failed halfway
    _pending: str | None = None
    # whether the call is pending because an exception (Ctrl-C) ended the wait
    _is_interrupted = False
    # the reset in flight
    _request: ResetRequest
    # the call of environments that was sent last
    _call: Any = None

    # ------------------------------------------------------------------------------ stepping --

    def step_async(self, actions: Any) -> None:
        """Begins a step; `step_wait` returns its result. Raises as `step` does."""
        self._check_idle("step_async")
        try:
            self._send_step(actions)
        except BaseException as error:
            self._note_cut_send(error, STEP)
            raise
        self._pending = STEP

    def step_wait(self, timeout: float | None = None) -> Step:
        """Waits for the step of `step_async` and returns what `step` returns.

        Raises:
            NoPendingCallError: no step is pending.
            VectorTimeoutError: it is not done within `timeout` seconds; wait again.
            parallel_pool.errors.BusyError: another thread is waiting.
        """
        step: Step = self._wait_for(STEP, timeout, self._receive_step)
        return step

    # ----------------------------------------------------------------------------- resetting --

    def reset(self, *, seed: seeds.Seed = None, options: dict[str, Any] | None = None) -> Reset:
        """Starts new episodes.

        Args:
            seed: an integer of any size: environment i gets seed + i; a sequence of n integers or
                Nones: one per environment; None: the generators continue.
            options: the environments' reset options, and "reset_mask" (removed from the dict): a
                bool array (n,) of the environments to reset; the others stay as they are.

        Returns:
            Observations of all environments, as `step` returns them; environments that are not
            reset repeat their last one. Infos of those that are reset.

        Raises:
            TypeError: a seed or the mask has a wrong type.
            ValueError: a seed is negative, the mask has a wrong shape or no True, an option is
                outside its range.
            NotResetError: environments outside the mask were never reset, or failed.
            PendingCallError: another call is pending.
            parallel_pool.errors.EnvError: environments failed, or a worker process died.
            Exception: raised by a Python environment.
        """
        self._check_open()
        request = self._checked_reset(seed, options)
        if self._is_interrupted:
            self._check_reset(request)
            self._drop_results()
            request = self._checked_reset(seed, options)
        self._check_idle("reset")
        try:
            result = self._reset_now(request)
        except BaseException as error:
            self._note_failure(error, RESET, request)
            raise
        # no function call since the pool has handed it over: Ctrl-C would lose it
        self._was_reset = True
        if options and reset_mask.KEY in options:
            del options[reset_mask.KEY]
        return result

    def reset_async(self, seed: seeds.Seed = None, options: dict[str, Any] | None = None) -> None:
        """Begins a reset; `reset_wait` returns its result. Raises as `reset` does."""
        self._check_open()
        request = self._checked_reset(seed, options)
        self._check_idle("reset_async")
        try:
            self._send_reset(request)
        except BaseException as error:
            self._note_cut_send(error, RESET, request)
            raise
        self._request = request
        self._pending = RESET
        if options and reset_mask.KEY in options:
            del options[reset_mask.KEY]

    def reset_wait(self, timeout: float | None = None) -> Reset:
        """Waits for the reset of `reset_async` and returns what `reset` returns.

        Raises:
            NoPendingCallError: no reset is pending.
            VectorTimeoutError: it is not done within `timeout` seconds; wait again.
            parallel_pool.errors.BusyError: another thread is waiting.
        """
        result: Reset = self._wait_for(RESET, timeout, self._receive_reset)
        # no function call since the pool has handed it over: Ctrl-C would lose it
        self._was_reset = True
        return result

    def _check_reset(self, request: ResetRequest) -> None:
        """Raises what the pool would raise for the arguments of a reset."""
        check_reset(self.pool, seed=request.seeds, options=request.options)

    def _checked_reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> ResetRequest:
        was_reset = self._is_interrupted or self._has_begun()
        return ResetRequest(seed, options, self.num_envs, was_reset)

    def _has_begun(self) -> bool:
        """Returns whether all environments may be stepped: they were reset before."""
        return self._was_reset

    # --------------------------------------------------------------------------------- calls --

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or gets an attribute; returns n results.

        Raises:
            ValueError: the name is reset, step or close: call these directly.
            AttributeError: there is no such method or attribute.
            PendingCallError: another call is pending.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: raised by an environment.
        """
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Begins a call; `call_wait` returns its results. Raises as `call` does."""
        self._check_idle("call_async")
        check_call(name)
        self._call = None
        try:
            self._send_call(name, args, kwargs)
        except BaseException as error:
            if not isinstance(error, Exception) and self._is_call_sent():
                # an exception such as Ctrl-C came when the first environments had got the call
                self._pending = CALL
                self._is_interrupted = True
            raise
        self._pending = CALL

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Waits for the call of `call_async` and returns what `call` returns.

        Raises:
            NoPendingCallError: no call is pending.
            VectorTimeoutError: it is not done within `timeout` seconds; wait again.
            parallel_pool.errors.BusyError: another thread is waiting.
        """
        results: tuple[Any, ...] = self._wait_for(CALL, timeout, self._receive_call)
        return results

    # ------------------------------------------------------------------- of the derived class --

    def _send_step(self, actions: Any) -> None:
        raise NotImplementedError

    def _receive_step(self, timeout: float | None) -> Step:
        raise NotImplementedError

    def _reset_now(self, request: ResetRequest) -> Reset:
        """Sends and receives as one call: if it is refused, nothing was sent."""
        raise NotImplementedError

    def _send_reset(self, request: ResetRequest) -> None:
        raise NotImplementedError

    def _receive_reset(self, timeout: float | None) -> Reset:
        """Receives the reset of `_request`."""
        raise NotImplementedError

    def _send_call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _is_call_sent(self) -> bool:
        """Returns whether environments have got `_call`, which has not been received."""
        return False

    def _receive_call(self, timeout: float | None) -> tuple[Any, ...]:
        """Receives `_call`; after an exception it may be called again."""
        raise NotImplementedError

    def _note_failed(self, error: EnvError, kind: str) -> None:
        """Remembers environments that failed in a step or a reset (`_request`)."""

    # --------------------------------------------------------------------------------- state --

    def _wait_for(
        self, kind: str, timeout: float | None, receive: Callable[[float | None], Any]
    ) -> Any:
        """Returns the result of the pending call, which must be of this kind."""
        self._check_open()
        if self._pending != kind:
            _refuse_wait(kind)
        limit = seconds(timeout)
        try:
            result = receive(limit)
        except PoolTimeoutError as error:
            raise VectorTimeoutError(f"{kind}_wait(timeout={timeout}): {error}") from None
        except BaseException as error:
            self._note_failure(error, kind)
            raise
        # no function call since then
        self._pending = None
        return result

    def _note_failure(
        self, error: BaseException, kind: str, request: ResetRequest | None = None
    ) -> None:
        """Updates the pending call after an exception of a call of this kind.

        Args:
            error: the exception.
            kind: of the call.
            request: of a reset that was not pending.
        """
        failed = env_error_of(error)
        is_refused = isinstance(error, StateError) and failed is None
        if is_refused and not isinstance(error, BrokenPoolError):
            # Ctrl-C came as the exception of an environment was noted: nothing is in flight
            if type(error) is StateError and self._pending == kind != CALL:
                self._pending = self._pending if self.pool.in_flight else None
            return
        if request is not None:
            self._request = request
        is_cut = not isinstance(error, Exception)
        is_open = is_cut
        if kind != CALL:
            # Ctrl-C may also have come before the pool was asked for its results
            is_open = self.pool.was_interrupted or (is_cut and self.pool.in_flight > 0)
        if is_open and not is_refused:
            self._pending = kind
            self._is_interrupted = True
            return
        self._pending = None
        if failed is not None and failed.batch:
            self._note_failed(failed, kind)

    def _note_cut_send(
        self, error: BaseException, kind: str, request: ResetRequest | None = None
    ) -> None:
        """Notes a call that the pool has accepted before an exception such as Ctrl-C came.

        That comes in the middle of a send where this process steps Python environments.
        """
        if not isinstance(error, Exception) and self.pool.in_flight:
            if request is not None:
                self._request = request
            self._pending = kind
            self._is_interrupted = True

    def _drop_results(self) -> None:
        """Waits for the call that an exception left pending, and drops its result."""
        wait = {STEP: self.step_wait, RESET: self.reset_wait, CALL: self.call_wait}
        while self._pending is not None:
            try:
                wait[self._pending]()
            except Exception:
                # no result: the pool is broken or a forked child's, or another thread receives
                if self._pending is not None:
                    raise
        self._is_interrupted = False

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedVectorEnvError(f"{self} is closed: make a new one")

    def _check_idle(self, what: str) -> None:
        """Refuses a call while another is pending."""
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

    def _warn_of_pending(self) -> None:
        """Warns, as AsyncVectorEnv does, if `close` ends a call that is pending."""
        if self._pending is not None and not self._is_interrupted:
            logger.warn(
                f"Calling `close` while waiting for a pending call to `{self._pending}` to"
                " complete."
            )


def _refuse_wait(kind: str) -> NoReturn:
    raise NoPendingCallError(
        f"Calling `{kind}_wait` without any prior call to `{kind}_async`. Call {kind}_async()"
        " first",
        kind,
    )
