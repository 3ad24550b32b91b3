"""Branching: what `branches` of a lease returns, whose `with` block has branches of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parallel_pool._apis.leases import waiting
from parallel_pool._apis.leases.slot import BRANCH, Copies
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease import AsyncLease, Lease


class _AnyBranching(Uncopied):
    """Branches that are still to be made, once; what those for tasks and threads have in common."""

    def __init__(self, seeds: Sequence[int | None], timeout: float | None) -> None:
        """
        Args:
            seeds: of each branch; None: its generators go on.
            timeout: of the call, None for the pool's.
        """
        self._seeds = seeds
        self._timeout = timeout
        self._was_entered = False

    def _enter(self) -> None:
        if self._was_entered:
            raise StateError("branches are made once: call branches() for each with block")
        self._was_entered = True

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
        self._branches: list[AsyncLease] = []

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
            self._branches = [lease._branch(slot, request) for slot in request.slots]
        except BaseException:
            lease._give_up(copies, request)
            raise
        return list(self._branches)

    async def __aexit__(self, *exception: object) -> None:
        # it awaits nothing, as that of leases
        for branch in self._branches:
            branch.close()


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
        self._branches: list[Lease] = []

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
            self._branches = [lease._branch(slot, request) for slot in request.slots]
        except BaseException:
            lease._give_up(copies, request)
            raise
        return list(self._branches)

    def __exit__(self, *exception: object) -> None:
        try:
            self._exit()
        except BaseException:  # Ctrl-C, perhaps before it has done anything
            self._exit()
            raise

    def _exit(self) -> None:
        for branch in self._branches:
            branch.close()
