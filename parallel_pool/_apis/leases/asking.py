"""Asking: what `LeasePool.lease` returns, whose `with` block has an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._apis.leases import waiting
from parallel_pool._apis.leases.lease import AsyncLease, Lease
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool.errors import StateError

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
        dispatcher = self._pool._dispatcher
        request = await waiting.for_task(dispatcher, dispatcher.ask, 1, self._timeout, self._late())
        self._lease = lease = AsyncLease(self._pool, dispatcher, request.slots[0], request)
        return lease

    async def __aexit__(self, *exception: object) -> None:
        # It awaits nothing: a task whose event loop is closed runs this too, when it is deleted.
        self._exit()

    def __enter__(self) -> Lease:
        self._enter()
        dispatcher = self._pool._dispatcher
        request = waiting.for_thread(dispatcher, dispatcher.ask, 1, self._timeout, self._late())
        try:
            self._lease = lease = Lease(self._pool, dispatcher, request.slots[0], request)
        except BaseException:
            dispatcher.withdraw(request)
            raise
        return lease

    def __exit__(self, *exception: object) -> None:
        try:
            self._exit()
        except BaseException:  # Ctrl-C, perhaps before it has done anything
            self._exit()
            raise

    def _enter(self) -> None:
        if self._was_entered:
            raise StateError("a lease begins once: call lease() for each with block")
        self._was_entered = True

    def _exit(self) -> None:
        if self._lease is not None:
            self._lease.close()

    def _late(self) -> str:
        return (
            f"no environment was free within timeout={self._timeout} s:"
            f" {self._pool.num_envs} are leased or being replaced"
        )
