"""Leases: one environment of a pool, for a task of asyncio (`AsyncLease`) or a thread (`Lease`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.leases.branching import AsyncBranching, Branching
from parallel_pool._apis.leases.broker import Request
from parallel_pool._apis.leases.slot import CALL, RESET, STEP, Call
from parallel_pool._apis.leases.waiters import TaskWaiter, ThreadWaiter
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import check_count, seconds
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import PoolTimeoutError, StateError, WorkerError

if TYPE_CHECKING:
    from typing import Self

    from gymnasium import Space

    from parallel_pool._apis.leases.dispatcher import Dispatcher
    from parallel_pool._apis.leases.slot import Copies, Slot
    from parallel_pool._apis.leases.waiters import Waiter

    Step = tuple[Any, float, bool, bool, dict[str, Any]]
    Reset = tuple[Any, dict[str, Any]]


class _AnyLease(Uncopied):
    """What leases of tasks and of threads have in common."""

    def __init__(
        self, pool: Uncopied, dispatcher: Dispatcher, slot: Slot, request: Request
    ) -> None:
        # which must not be closed as long as there are leases of it
        self._pool = pool
        self._dispatcher = dispatcher
        self._slot = slot
        self._request = request
        self.env_id = slot.env_id
        self.observation_space: Space[Any] = dispatcher.envs.observation_space
        self.action_space: Space[Any] = dispatcher.envs.action_space

    def kill(self) -> bool:
        """Kills the environment's worker process, which is replaced; the lease goes on.

        A call in flight raises a WorkerError. The next call must be `reset`. It does not wait, and
        any thread may call it.

        Returns:
            Whether there was a process to kill: False for native environments, and while a process
            that has died is being replaced.

        Raises:
            ClosedError: the lease or the pool is over.
        """
        reason = f"environment {self.env_id} was killed by its lease"
        return self._dispatcher.kill(self._slot, self._request, reason)

    def close(self) -> None:
        """Ends the lease, as the end of its `with` block does; a branch ends with its process.

        Ending it again has no effect. It does not wait, and any thread may call it.
        """
        self._dispatcher.release(self._slot, self._request)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(env_id={self.env_id})"

    def _made(self, kind: int, argument: Any, waiter: Waiter, timeout: float | None) -> Call:
        """Returns a call that is still to begin; `timeout` as users give it."""
        limit = seconds(timeout)
        return Call(kind, argument, waiter, self._dispatcher.timeout if limit is None else limit)

    def _branch(self, slot: Slot, request: Request) -> Self:
        """Returns the lease of a branch that was made."""
        return type(self)(self._pool, self._dispatcher, slot, request)

    def _give_up(self, copies: Copies, request: Request) -> None:
        """Ends branches that could not be made, or that nobody wants any more."""
        self._dispatcher.discard(copies)
        self._dispatcher.withdraw(request)

    def _branch_seeds(self, count: int, seed: seeds.Seed) -> list[int | None]:
        """Returns the seed of each branch; raises TypeError or ValueError."""
        most = self._dispatcher.max_branches
        if not most:
            raise StateError("the pool was made without branches: give it max_branches")
        return seeds.spread(seed, check_count("count", count, 1, most))

    def _turn_call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._dispatcher.envs.turn_call(name, args, kwargs)


def _reset_arguments(seed: Any, options: Any) -> dict[str, Any]:
    """Returns the keyword arguments of a reset; raises TypeError or ValueError."""
    arguments: dict[str, Any] = {}
    if seed is not None:
        arguments["seed"] = seeds.check(seed)
    if options is not None:
        arguments["options"] = options
    return arguments


@public("leases")
class AsyncLease(_AnyLease):
    """One environment of a `LeasePool`, for a task of asyncio.

    It returns what the environment itself returns, in memory of the caller's own.

    Attributes:
        env_id: its number in the pool.
        observation_space: of the environment.
        action_space: of the environment.

    Example:
        >>> async def play():
        ...     with parallel_pool.leases.LeasePool("CartPole-v1", 4) as pool:
        ...         async with pool.lease() as env:
        ...             observation, info = await env.reset(seed=1)
        ...             observation, reward, *ends, info = await env.step(0, timeout=5)
        ...     return observation.shape, reward
        >>> asyncio.run(play())
        ((4,), 1.0)
    """

    async def reset(
        self,
        *,
        seed: int | None = None,
        options: Any = None,
        timeout: float | None = None,
        retries: int = 0,
    ) -> Reset:
        """Starts an episode.

        It first waits for what may still be in flight: a cancelled call, the replacement of a
        worker.

        Args:
            seed: of the environment's generator; None: the environment decides.
            options: passed to the environment's reset.
            timeout: seconds, after which the worker is killed; None for the pool's, math.inf for
                none. Each attempt has as many.
            retries: how often it tries again after a timeout, or when the worker has died.

        Returns:
            The observation (its arrays have the shapes and dtypes of `observation_space`), and the
            infos.

        Raises:
            TypeError, ValueError: an argument is wrong.
            BusyError: a call of this lease is in flight.
            ClosedError: the lease or the pool is over.
            PoolTimeoutError: it took too long.
            WorkerError: the worker died.
            Exception: what the environment raised.
        """
        arguments = _reset_arguments(seed, options)
        for _ in range(check_count("retries", retries, 0)):
            try:
                result: Reset = await self._call(RESET, arguments, timeout)
                return result
            except (PoolTimeoutError, WorkerError):
                pass
        result = await self._call(RESET, arguments, timeout)
        return result

    async def step(self, action: Any, *, timeout: float | None = None) -> Step:
        """Advances the episode by one action, which the environment gets a copy of.

        Args:
            action: of any type that can be pickled.
            timeout: seconds, after which the worker is killed; None for the pool's, math.inf for
                none.

        Returns:
            The observation (its arrays have the shapes and dtypes of `observation_space`), the
            reward, whether the episode was terminated, whether it was truncated, and the infos.

        Raises:
            TypeError: the action can't be sent.
            NotResetError: the environment must be reset first.
            BusyError: a call of this lease is in flight.
            ClosedError: the lease or the pool is over.
            PoolTimeoutError: it took too long.
            WorkerError: the worker died.
            Exception: what the environment raised.
        """
        result: Step = await self._call(STEP, action, timeout)
        return result

    async def call(self, name: str, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Calls a method of the environment, or gets an attribute, in its worker.

        Args:
            name: of the method or attribute.
            args: for the method.
            timeout: as for `step`.
            kwargs: for the method.

        Raises:
            StateError: a native environment has no methods.
            Exception: as for `step`; what the method raised. The episode goes on.
        """
        return await self._call(CALL, self._turn_call(name, args, kwargs), timeout)

    def branches(
        self, count: int = 1, *, seed: seeds.Seed = None, timeout: float | None = None
    ) -> AsyncBranching:
        """Returns what makes branches: `async with env.branches(8) as copies`.

        Each branch is an environment of its own that goes on from the state of this one, and a
        lease with all calls of leases. It is independent of this lease, and may be branched, too.
        Its end, or that of the block, ends its process; the environment is not closed, as what it
        has besides its memory is that of the original. If its process dies before, the branch is
        over: all its calls raise a WorkerError.

        The pool must have been made with `max_branches`.

        Args:
            count: how many.
            seed: an integer, which seeds the random generators of the i-th branch with seed + i, or
                a sequence of one for each; None: all go on with the stream of the original. Seeded
                are the generators in attributes of the environment, its wrappers and its task, and
                the global ones of Python, NumPy and torch.
            timeout: as for `step`: seconds for the copies, and for branches that are about to end.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: the pool was made without `max_branches`.
            StateError, at the beginning of the block: the environment can't be copied, as it has
                threads, child processes, sockets, a GPU or shared memory; the message names them.
            BusyError, at the beginning of the block: too many branches are in use, or a call of
                this lease is in flight.
            OSError, at the beginning of the block: there are too many processes or files.
            WorkerError, PoolTimeoutError, ClosedError, at the beginning of the block: as `step`.
        """
        return AsyncBranching(self, self._branch_seeds(count, seed), seconds(timeout))

    async def _call(self, kind: int, argument: Any, timeout: float | None) -> Any:
        waiter = TaskWaiter()
        call = self._made(kind, argument, waiter, timeout)
        try:
            self._dispatcher.begin(self._slot, self._request, call)
        except BaseException:
            self._dispatcher.abandon(self._slot, call)
            raise
        try:
            return await waiter.future
        except (asyncio.CancelledError, GeneratorExit):
            self._dispatcher.abandon(self._slot, call)
            raise


@public("leases")
class Lease(_AnyLease):
    """One environment of a `LeasePool`, for a thread: `AsyncLease` says what its calls do.

    Attributes:
        env_id: its number in the pool.
        observation_space: of the environment.
        action_space: of the environment.

    Example:
        >>> with parallel_pool.leases.LeasePool("CartPole-v1", 4) as pool:
        ...     with pool.lease() as env:
        ...         observation, info = env.reset(seed=1)
        ...         observation, reward, *ends, info = env.step(0, timeout=5)
        >>> observation.shape, reward
        ((4,), 1.0)
    """

    def reset(
        self,
        *,
        seed: int | None = None,
        options: Any = None,
        timeout: float | None = None,
        retries: int = 0,
    ) -> Reset:
        """Starts an episode; see `AsyncLease.reset`."""
        arguments = _reset_arguments(seed, options)
        for _ in range(check_count("retries", retries, 0)):
            try:
                result: Reset = self._call(RESET, arguments, timeout)
                return result
            except (PoolTimeoutError, WorkerError):
                pass
        result = self._call(RESET, arguments, timeout)
        return result

    def step(self, action: Any, *, timeout: float | None = None) -> Step:
        """Advances the episode by one action; see `AsyncLease.step`."""
        result: Step = self._call(STEP, action, timeout)
        return result

    def call(self, name: str, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Calls a method of the environment, or gets an attribute; see `AsyncLease.call`."""
        return self._call(CALL, self._turn_call(name, args, kwargs), timeout)

    def branches(
        self, count: int = 1, *, seed: seeds.Seed = None, timeout: float | None = None
    ) -> Branching:
        """Returns what makes branches, `with env.branches(8)`; see `AsyncLease.branches`."""
        return Branching(self, self._branch_seeds(count, seed), seconds(timeout))

    def _call(self, kind: int, argument: Any, timeout: float | None) -> Any:
        waiter = ThreadWaiter()
        call = self._made(kind, argument, waiter, timeout)
        try:
            self._dispatcher.begin(self._slot, self._request, call)
            value, error = waiter.outcome()
        except BaseException:
            self._dispatcher.abandon(self._slot, call)
            raise
        if error is not None:
            raise error
        return value
