"""Broker: says who has which environment; who asks for one waits in fair order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from parallel_pool._apis.leases.slot import NEW, Slot
from parallel_pool._apis.leases.waiters import Deliveries, Waiter
from parallel_pool.errors import WorkerError


class Request:
    """Somebody who asks for environments.

    Attributes:
        waiter: gets the slots, once there are enough.
        count: of environments.
        slots: what it has got.
    """

    __slots__ = ("count", "slots", "waiter")

    def __init__(self, waiter: Waiter, count: int = 1) -> None:
        self.waiter = waiter
        self.count = count
        self.slots: list[Slot] = []


class Broker:
    """The environments that are free, and the requests that wait. All calls hold the pool's lock.

    Attributes:
        free: environments, that of the longest rest first.
        waiting: requests, the oldest first.
    """

    def __init__(self, slots: Sequence[Slot], loss: Callable[[int], str | None]) -> None:
        """
        Args:
            slots: of all environments.
            loss: says why an environment can't be used any more; None: it can.
        """
        self.free = deque(slots)
        self.waiting: deque[Request] = deque()
        self._loss = loss
        self._num_left = len(slots)
        self._why_lost = ""

    def ask(self, request: Request, deliveries: Deliveries) -> None:
        """Gives environments to a request, or lets it wait behind the others."""
        self.waiting.append(request)
        self.match(deliveries)

    def withdraw(self, request: Request) -> None:
        """Takes back a request if it waits; it keeps the environments that it has got."""
        # it is not there if it has all, or has failed
        if request in self.waiting:
            self.waiting.remove(request)

    def put_back(self, slot: Slot, deliveries: Deliveries) -> None:
        """Takes an environment that nobody holds, and with nothing in flight."""
        self.free.append(slot)
        self.match(deliveries)

    def match(self, deliveries: Deliveries) -> None:
        """Gives free environments to those who wait."""
        while self.waiting and (slot := self._next_free()) is not None:
            request = self.waiting[0]
            request.slots.append(slot)
            slot.holder, slot.refusal = request, NEW
            if len(request.slots) == request.count:
                self.waiting.popleft()
                request.waiter.leases = [(each, request) for each in request.slots]
                deliveries.add(request.waiter, request.slots, None)
        if self.waiting and not self._num_left:
            self.fail_all(WorkerError(self._why_lost, (), ()), deliveries)

    def fail_all(self, error: BaseException, deliveries: Deliveries) -> None:
        """Ends all requests that wait."""
        while self.waiting:
            deliveries.add(self.waiting.popleft().waiter, None, error)

    def _next_free(self) -> Slot | None:
        while self.free:
            slot = self.free.popleft()
            why = self._loss(slot.env_id)
            if why is None:
                return slot
            self._num_left -= 1
            self._why_lost = f"no environment is left; environment {slot.env_id}: {why}"
        return None
