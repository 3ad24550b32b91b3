"""Leases: environments of a pool that callers have one at a time, with asyncio or threads."""
