"""Asking: what `LeasePool.lease` returns, whose `with` block has an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._apis.leases import waiting
from parallel_pool._apis.leases.lease import AsyncLease, Lease
from parallel_pool._apis.leases.once import Once

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease_pool import LeasePool


class Asking(Once):
    """A lease that is still to begin: `async with` or `with` waits for it, once."""

    _again = "a lease begins once: call lease() for each with block"

    def __init__(self, pool: LeasePool, timeout: float | None) -> None:
        """
        Args:
            pool: the pool.
            timeout: seconds to wait for an environment.
        """
        super().__init__(timeout)
        self._pool = pool
        self._lease: AsyncLease | Lease | None = None

    async def __aenter__(self) -> AsyncLease:
        self._enter()
        dispatcher = self._pool._dispatcher
        request = await waiting.for_task(dispatcher, dispatcher.ask, 1, self._timeout, self._late())
        self._lease = lease = AsyncLease(self._pool, dispatcher, request.slots[0], request)
        return lease

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

    def _exit(self) -> None:
        if self._lease is not None:
            self._lease.close()

    def _late(self) -> str:
        return (
            f"no environment was free within timeout={self._timeout} s:"
            f" {self._pool.num_envs} are leased or being replaced"
        )
