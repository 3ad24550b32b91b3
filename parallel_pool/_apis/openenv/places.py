"""Places: how many sessions and requests may have an environment at once."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from parallel_pool._apis.openenv import messages
from parallel_pool._apis.openenv.messages import (
    CAPACITY_REACHED,
    FACTORY_ERROR,
    SESSION_ERROR,
    RequestError,
)
from parallel_pool.errors import ClosedError, PoolError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease import AsyncLease
    from parallel_pool._apis.leases.lease_pool import LeasePool


class Places:
    """The environments of a pool, each for one session or request at a time."""

    def __init__(self, pool: LeasePool, timeout: float) -> None:
        """
        Args:
            pool: of the environments.
            timeout: seconds to wait for one whose worker is being replaced.
        """
        self._pool, self._timeout = pool, timeout
        self._taken = 0

    @contextlib.asynccontextmanager
    async def take(self) -> AsyncIterator[AsyncLease]:
        """Gives an environment to the block.

        Raises:
            RequestError: all are taken, or none can be started again.
        """
        most = self._pool.num_envs
        if self._taken >= most:
            counts = {"active_sessions": self._taken, "max_sessions": most}
            message = f"all {most} sessions are in use: try again later"
            raise RequestError(CAPACITY_REACHED, message, 503, **counts)
        self._taken += 1
        try:
            async with self._pool.lease(timeout=self._timeout) as lease:
                yield lease
        except ClosedError:
            raise RequestError(SESSION_ERROR, "the server is closing", 503) from None
        except PoolError as error:
            # the block itself raises no such error
            raise RequestError(FACTORY_ERROR, messages.reason(error), 503) from error
        finally:
            self._taken -= 1
