"""Waiting: how tasks and threads wait until a request has its environments."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import TYPE_CHECKING

from parallel_pool._apis.leases.broker import Request
from parallel_pool._apis.leases.waiters import TaskWaiter, ThreadWaiter
from parallel_pool.errors import PoolTimeoutError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.dispatcher import Dispatcher

    Ask = Callable[[Request], None]


async def for_task(
    dispatcher: Dispatcher, ask: Ask, count: int, timeout: float | None, late: str
) -> Request:
    """Returns a request of this task that has its environments.

    Args:
        dispatcher: of the pool.
        ask: its method that takes the request.
        count: of environments.
        timeout: seconds to wait; None without a limit.
        late: message of the error when time is up.

    Raises:
        PoolTimeoutError: time is up.
        ClosedError, BusyError, WorkerError: as `ask`.
    """
    waiter = TaskWaiter()
    request = Request(waiter, count)
    ask(request)
    timer = None
    if timeout is not None:
        timer = waiter.loop.call_later(timeout, waiter.settle, None, PoolTimeoutError(late))
    try:
        await waiter.future
    except BaseException:
        dispatcher.withdraw(request)
        raise
    finally:
        if timer is not None:
            timer.cancel()
    return request


def for_thread(
    dispatcher: Dispatcher, ask: Ask, count: int, timeout: float | None, late: str
) -> Request:
    """Returns a request of this thread that has its environments; see `for_task`."""
    waiter = ThreadWaiter()
    request = Request(waiter, count)
    try:
        ask(request)
        _, error = waiter.outcome(timeout)
    except queue.Empty:
        dispatcher.withdraw(request)
        raise PoolTimeoutError(late) from None
    except BaseException:
        dispatcher.withdraw(request)
        dispatcher.mend_soon()
        raise
    if error is not None:
        raise error
    return request
