"""Asking: what `LeasePool.lease` returns, whose `with` block has an environment."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

from parallel_pool._apis.leases.broker import Request
from parallel_pool._apis.leases.lease import AsyncLease, Lease
from parallel_pool._apis.leases.waiters import TaskWaiter, ThreadWaiter
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool.errors import PoolTimeoutError, StateError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease_pool import LeasePool


class Asking(Uncopied):
    """A lease that is still to begin: `async with` or `with` waits for it, once."""

    def __init__(self, pool: LeasePool, timeout: float | None) -> None:
        """
        Args:
            pool: the pool.
            timeout: seconds to wait for an environment.
        """
        self._pool = pool
        self._timeout = timeout
        self._lease: AsyncLease | Lease | None = None
        self._was_entered = False

    async def __aenter__(self) -> AsyncLease:
        self._enter()
        dispatcher, waiter = self._pool._dispatcher, TaskWaiter()
        request = Request(waiter)
        dispatcher.ask(request)
        timer = None
        if self._timeout is not None:
            late = self._late()
            timer = waiter.loop.call_later(self._timeout, waiter.settle, None, late)
        try:
            slot = await waiter.future
        except BaseException:
            dispatcher.withdraw(request)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        self._lease = AsyncLease(self._pool, dispatcher, slot, request)
        return self._lease

    async def __aexit__(self, *exception: object) -> None:
        # It awaits nothing: a task whose event loop is closed runs this too, when it is deleted.
        self._exit()

    def __enter__(self) -> Lease:
        self._enter()
        dispatcher, waiter = self._pool._dispatcher, ThreadWaiter()
        request = Request(waiter)
        try:
            dispatcher.ask(request)
            slot, error = waiter.outcome(self._timeout)
        except queue.Empty:
            dispatcher.withdraw(request)
            raise self._late() from None
        except BaseException:
            dispatcher.withdraw(request)
            raise
        if error is not None:
            raise error
        self._lease = Lease(self._pool, dispatcher, slot, request)
        return self._lease

    def __exit__(self, *exception: object) -> None:
        self._exit()

    def _enter(self) -> None:
        if self._was_entered:
            raise StateError("a lease begins once: call lease() for each with block")
        self._was_entered = True

    def _exit(self) -> None:
        if self._lease is not None:
            self._lease._release()

    def _late(self) -> PoolTimeoutError:
        return PoolTimeoutError(
            f"no environment was free within timeout={self._timeout} s:"
            f" {self._pool.num_envs} are leased or being replaced"
        )
