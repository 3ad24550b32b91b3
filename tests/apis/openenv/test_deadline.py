"""Deadline: one timer for many things, none of which is called too early or twice."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from parallel_pool._apis.openenv.deadline import Deadline

pytestmark = pytest.mark.usefixtures("alarm")


def run(play: Any) -> list[str]:
    """Runs a coroutine function with a deadline and what it called."""

    async def main() -> list[str]:
        called: list[str] = []
        await play(Deadline(), called)
        return called

    return asyncio.run(main())


def test_what_takes_too_long_is_called_once() -> None:
    async def play(deadline: Deadline, called: list[str]) -> None:
        deadline.set(0.01, lambda: called.append("late"))
        await asyncio.sleep(0.1)

    assert run(play) == ["late"]


def test_what_was_replaced_is_never_called() -> None:
    """Whether what follows is due earlier or later."""

    async def play(deadline: Deadline, called: list[str]) -> None:
        for number, seconds in enumerate((0.02, 3600.0, 0.02, math.inf, 0.03)):
            deadline.set(seconds, lambda number=number: called.append(f"{number}"))
        await asyncio.sleep(0.15)

    assert run(play) == ["4"]


@pytest.mark.slow
def test_a_later_one_is_not_called_at_the_time_of_the_earlier() -> None:
    async def play(deadline: Deadline, called: list[str]) -> None:
        loop = asyncio.get_running_loop()
        deadline.set(0.01, lambda: called.append("early"))
        start = loop.time()
        done = loop.create_future()
        deadline.set(0.2, lambda: done.set_result(loop.time()))
        assert await done - start >= 0.2

    assert run(play) == []


@pytest.mark.quick(1)
@pytest.mark.parametrize("end", ["cancel", "never"])
def test_nothing_is_called_after_the_end(end: str) -> None:
    async def play(deadline: Deadline, called: list[str]) -> None:
        deadline.set(0.01, lambda: called.append("late"))
        if end == "cancel":
            deadline.cancel()
        else:
            deadline.set(math.inf, lambda: called.append("late"))
        await asyncio.sleep(0.05)
        assert called == []
        deadline.set(0.01, lambda: called.append("next"))
        await asyncio.sleep(0.1)

    assert run(play) == ["next"]


def test_a_deadline_that_is_set_all_the_time_makes_few_timers() -> None:
    async def play(deadline: Deadline, called: list[str]) -> None:
        loop = asyncio.get_running_loop()
        timers = 0
        call_at = loop.call_at

        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal timers
            timers += 1
            return call_at(*arguments, **options)

        loop.call_at = counted  # type: ignore[method-assign]
        for _ in range(1000):
            deadline.set(3600.0, lambda: called.append("idle"))
            deadline.set(60.0, lambda: called.append("slow"))
        assert timers == 2
        deadline.cancel()

    assert run(play) == []
