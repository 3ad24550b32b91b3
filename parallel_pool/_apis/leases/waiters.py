"""Waiters: tasks and threads that wait for a result, and its delivery to them."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parallel_pool._apis.leases.slot import Slot


class _AnyWaiter:
    """What waiters have in common.

    Attributes:
        leases: environment and holder of the leases that it waits for, or for a call of which.
    """

    __slots__ = ("leases",)

    def __init__(self) -> None:
        self.leases: list[tuple[Slot, object]] = []


class TaskWaiter(_AnyWaiter):
    """An asyncio task that waits; to be made in its event loop.

    Attributes:
        future: what the task awaits.
        loop: the event loop.
    """

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Gives the task its result; in the event loop's thread."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(error)


class ThreadWaiter(_AnyWaiter):
    """A thread that waits."""

    __slots__ = ("_outcomes",)

    def __init__(self) -> None:
        super().__init__()
        # a signal handler may interrupt both of its ends
        self._outcomes = queue.SimpleQueue[tuple[Any, BaseException | None]]()

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Gives the thread its result; in any thread."""
        self._outcomes.put((value, error))

    def outcome(self, timeout: float | None = None) -> tuple[Any, BaseException | None]:
        """Waits for the result; raises `queue.Empty` after the timeout, which may be math.inf."""
        if timeout is not None and timeout > threading.TIMEOUT_MAX:
            timeout = None
        return self._outcomes.get(timeout=timeout)


Waiter = TaskWaiter | ThreadWaiter


class Deliveries:
    """Results for waiters, which are delivered together: one wake for each event loop."""

    __slots__ = ("_by_loop",)

    def __init__(self) -> None:
        self._by_loop: dict[
            asyncio.AbstractEventLoop, list[tuple[TaskWaiter, Any, BaseException | None]]
        ] = {}

    def add(self, waiter: Waiter, value: Any, error: BaseException | None) -> None:
        """Takes a result; a thread gets it at once."""
        if isinstance(waiter, ThreadWaiter):
            waiter.settle(value, error)
        else:
            self._by_loop.setdefault(waiter.loop, []).append((waiter, value, error))

    def send(self) -> list[TaskWaiter]:
        """Delivers what was taken; returns the waiters whose event loop is closed."""
        if not self._by_loop:
            return []
        by_loop, self._by_loop = self._by_loop, {}
        lost: list[TaskWaiter] = []
        for loop, results in by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle_all, results)
            except RuntimeError:
                lost += [waiter for waiter, _, _ in results]
        return lost


def _settle_all(results: list[tuple[TaskWaiter, Any, BaseException | None]]) -> None:
    for waiter, value, error in results:
        waiter.settle(value, error)
