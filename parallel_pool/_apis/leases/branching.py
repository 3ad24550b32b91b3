"""Branching: what `branches` of a lease returns, whose `with` block has branches of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parallel_pool._apis.leases import waiting
from parallel_pool._apis.leases.once import Once
from parallel_pool._apis.leases.slot import BRANCH, Copies

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease import AsyncLease, Lease


class _AnyBranching(Once):
    """Branches that are still to be made, once; what those for tasks and threads have in common."""

    _again = "branches are made once: call branches() for each with block"
    _branches: Sequence[AsyncLease | Lease] = ()

    def __init__(self, seeds: Sequence[int | None], timeout: float | None) -> None:
        """
        Args:
            seeds: of each branch; None: its generators go on.
            timeout: of the call, None for the pool's.
        """
        super().__init__(timeout)
        self._seeds = seeds

    def _exit(self) -> None:
        for branch in self._branches:
            branch.close()

    def _late(self) -> str:
        return (
            f"earlier branches have not ended within timeout={self._timeout} s:"
            f" {len(self._seeds)} were asked for"
        )


class AsyncBranching(_AnyBranching):
    """Branches that are still to be made: `async with` makes them."""

    def __init__(
        self, lease: AsyncLease, seeds: Sequence[int | None], timeout: float | None
    ) -> None:
        """
        Args:
            lease: of which.
            seeds, timeout: as for all.
        """
        super().__init__(seeds, timeout)
        self._lease = lease

    async def __aenter__(self) -> list[AsyncLease]:
        self._enter()
        lease, dispatcher = self._lease, self._lease._dispatcher
        copies = Copies((), self._seeds)
        request = await waiting.for_task(
            dispatcher, dispatcher.ask_branches, len(self._seeds), self._timeout, self._late()
        )
        try:
            copies.slots = request.slots
            await lease._call(BRANCH, copies, self._timeout)
            self._branches = branches = [lease._branch(slot, request) for slot in request.slots]
        except BaseException:
            lease._give_up(copies, request)
            raise
        return list(branches)


class Branching(_AnyBranching):
    """Branches that are still to be made: `with` makes them."""

    def __init__(self, lease: Lease, seeds: Sequence[int | None], timeout: float | None) -> None:
        """
        Args:
            lease: of which.
            seeds, timeout: as for all.
        """
        super().__init__(seeds, timeout)
        self._lease = lease

    def __enter__(self) -> list[Lease]:
        self._enter()
        lease, dispatcher = self._lease, self._lease._dispatcher
        copies = Copies((), self._seeds)
        request = waiting.for_thread(
            dispatcher, dispatcher.ask_branches, len(self._seeds), self._timeout, self._late()
        )
        try:
            copies.slots = request.slots
            lease._call(BRANCH, copies, self._timeout)
            self._branches = branches = [lease._branch(slot, request) for slot in request.slots]
        except BaseException:
            lease._give_up(copies, request)
            raise
        return list(branches)
