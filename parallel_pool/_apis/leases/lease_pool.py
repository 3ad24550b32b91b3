"""LeasePool: environments that tasks and threads have one at a time."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.leases.asking import Asking
from parallel_pool._apis.leases.dispatcher import Dispatcher
from parallel_pool._apis.leases.native_envs import NativeEnvs
from parallel_pool._apis.leases.worker_envs import WorkerEnvs
from parallel_pool._engine.arguments import check_count, seconds
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool._workers.pool_arguments import MAX_WORKERS, check_functions, check_timeouts

if TYPE_CHECKING:
    from typing import Self

    from gymnasium import Space

# seconds that a call may go on for which nobody waits any more
GRACE = 5.0


@public("leases")
class LeasePool(Uncopied):
    """Environments that callers have one at a time, each with its own calls and deadlines.

    `lease` gives an environment to a task of asyncio (`async with`) or to a thread (`with`). If
    more are asked for than there are, they wait, and are served in the order in which they asked.

    Attributes:
        num_envs: environments.
        observation_space: of one environment.
        action_space: of one environment.
        closed: whether `close` was called.

    Example:
        >>> env_fns = [lambda: gymnasium.make("CartPole-v1")] * 2
        >>> with parallel_pool.leases.LeasePool(env_fns, timeout=60) as pool:
        ...     with pool.lease() as env:
        ...         observation, info = env.reset(seed=1)
        ...         observation, reward, terminated, truncated, info = env.step(1)
        >>> reward, terminated
        (1.0, False)
    """

    # what it holds, for the message of copies
    _holds = "threads or processes"

    def __init__(
        self,
        envs: Sequence[Callable[[], Any] | str] | str,
        num_envs: int | None = None,
        *,
        timeout: float | None = None,
        start_timeout: float | None = None,
        num_workers: int | None = None,
        start_method: str | None = None,
        python: Any = None,
        num_threads: int = 0,
        grace: float = GRACE,
        max_branches: int = 0,
        **options: Any,
    ) -> None:
        """Makes the environments.

        Args:
            envs: functions that make one environment each, or their names, "module:function": they
                run in worker processes. Or the id of native environments, which threads step.
            num_envs: of an id; functions are counted.
            timeout: seconds that a call may take which has no timeout of its own; None for no
                limit.
            start_timeout: seconds in which a worker's environments must be made, at the start and
                when it is replaced. None means no limit if there is no timeout either, else 60
                seconds or the timeout, whichever is longer.
            num_workers: worker processes; None for one for each environment. With fewer,
                environments share workers: while one is stepped the others of its worker wait, and
                they are lost with it when it is killed.
            start_method: as for `parallel_pool.ProcessPool`.
            python: as for `parallel_pool.ProcessPool`.
            num_threads: threads that step native environments; 0 for the cores that this process
                may use.
            grace: seconds that a call may go on after its task was cancelled, or its lease was
                over, before its worker is killed; less if the call's own timeout ends earlier.
            max_branches: how many branches there may be at once, besides the environments: see
                `AsyncLease.branches`. Each environment must then have a worker of its own.
            options: of native environments, and max_episode_steps.

        Raises:
            TypeError, ValueError: an argument is wrong.
            WorkerError: a worker died, or could not be started.
            Exception: what an environment raised when it was made.
        """
        self.closed = False
        call_limit, start_limit = check_timeouts(timeout, start_timeout)
        grace_limit = seconds(grace, "grace")
        if grace_limit is None:
            raise ValueError("grace=None: choose seconds, or math.inf for no limit")
        spare = check_count("max_branches", max_branches, 0, MAX_WORKERS)
        made: WorkerEnvs | NativeEnvs
        if isinstance(envs, str):
            given: dict[str, Any] = {"num_workers": num_workers, "start_method": start_method}
            given["python"] = python
            given["start_timeout"] = start_timeout
            self._refuse(given, "functions, and an id's environments have threads")
            self.num_envs = check_count("num_envs", 1 if num_envs is None else num_envs, 1)
            made = NativeEnvs(envs, self.num_envs, num_threads, spare, **options)
        else:
            given = {"num_envs": num_envs, "num_threads": num_threads or None, **options}
            self._refuse(given, "an id, and functions were given")
            fns = check_functions(envs)
            self.num_envs = len(fns)
            made = WorkerEnvs(
                fns,
                num_workers=num_workers,
                start_method=start_method,
                start_timeout=start_limit,
                python=python,
                max_branches=spare,
            )
        self.observation_space: Space[Any] = made.observation_space
        self.action_space: Space[Any] = made.action_space
        self._envs = made
        self._dispatcher = Dispatcher(made, self.num_envs, spare, call_limit, grace_limit)
        # the thread refers to the dispatcher, and that to the environments' pool
        weakref.finalize(self, self._dispatcher.close).atexit = False

    @staticmethod
    def _refuse(given: dict[str, Any], reason: str) -> None:
        for name, value in given.items():
            if value is not None:
                raise TypeError(f"{name}={value!r} is for {reason}: leave it out")

    def lease(self, *, timeout: float | None = None) -> Asking:
        """Returns what begins a lease: `async with pool.lease() as env`, or `with`.

        The block has an `AsyncLease` or a `Lease`; its end gives the environment back.

        Args:
            timeout: seconds to wait for an environment; None for no limit.

        Raises:
            TypeError, ValueError: timeout is wrong.
            PoolTimeoutError, at the beginning of the block: no environment was free in time.
            ClosedError, at the beginning of the block: the pool is closed.
            WorkerError, at the beginning of the block: no environment is left, as none of their
                workers could be started again.
        """
        return Asking(self, seconds(timeout))

    @property
    def num_free(self) -> int:
        """The number of environments that nobody has, and that no call is in."""
        return len(self._dispatcher.broker.free)

    @property
    def num_waiting(self) -> int:
        """The number of leases that wait for an environment."""
        return len(self._dispatcher.broker.waiting)

    @property
    def num_branches(self) -> int:
        """The number of branches that are in use, or have not yet ended."""
        spares = self._dispatcher.spares
        return self._dispatcher.max_branches - len(spares.free)

    @property
    def worker_pids(self) -> tuple[int | None, ...]:
        """The process ids of the workers, () for native environments; see `ProcessPool`.

        Those of branches follow those of the environments.
        """
        return self._envs.pool.worker_pids

    def close(self, *, timeout: float | None = None) -> None:
        """Ends all leases and the environments; calls in flight and waiting raise ClosedError.

        Args:
            timeout: seconds until workers that have not ended are killed; None for 5.

        Raises:
            TypeError, ValueError: timeout is wrong.
        """
        limit = seconds(timeout)
        self.closed = True
        self._dispatcher.close()
        self._envs.pool.close(timeout=limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # closing may wait for workers, and other tasks go on meanwhile
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        return f"LeasePool(num_envs={self.num_envs}, closed={self.closed})"
