"""Environments one at a time, with asyncio or threads: `LeasePool` and its leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease import AsyncLease, Lease
    from parallel_pool._apis.leases.lease_pool import LeasePool

__all__ = ["AsyncLease", "Lease", "LeasePool"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.leases.lease": ("AsyncLease", "Lease"),
        "parallel_pool._apis.leases.lease_pool": ("LeasePool",),
    },
)
