"""The soak test of leases loses no call, and finds those that are lost or done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.scenes import leasing
from benchmarks.scenes.leasing import Leasing
from benchmarks.studies import soak
from parallel_pool.leases import AsyncLease, LeasePool

pytestmark = pytest.mark.usefixtures("alarm")


@pytest.mark.slow
def test_a_soak_of_leases_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest uses the same alarm
    monkeypatch.setattr(soak, "alive", lambda: None)
    with LeasePool(leasing.factories(4, crash_every=300)) as pool:
        result = asyncio.run(soak.soak_leases(pool, 3000, event_every=300, sample_every=300))
    assert result.faults == []
    assert result.rows >= 3000
    assert all(result.events[event] > 0 for event in ("kills", "missed", "cancelled", "deaths"))
    assert "events of leases" in result.summary()


def doubled(result: Any) -> Any:
    """What a step that was done twice returns."""
    observation, reward, *ends, info = result
    observation["count"][leasing.TOTAL] += 1
    observation["picture"] += 1
    return observation, reward, *ends, {**info, "total": info["total"] + 1}


def torn(result: Any) -> Any:
    result[0]["picture"][3, 20] ^= 1
    return result


def of_another_action(result: Any) -> Any:
    result[0]["count"][leasing.ACTION] += 1
    return result


def with_another_info(result: Any) -> Any:
    return *result[:4], {**result[4], "total": -5}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (doubled, "of which 0 were given up"),
        (torn, "a torn result"),
        (of_another_action, "follows"),
        (with_another_info, "a torn result"),
    ],
)
def test_a_soak_of_leases_finds_faults(
    spoil: Callable[[Any], Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, calls = AsyncLease.step, 0

    async def spoiled(self: AsyncLease, action: Any, **options: Any) -> Any:
        nonlocal calls
        number = calls = calls + 1
        result = await step(self, action, **options)
        return spoil(result) if number == 5 else result

    monkeypatch.setattr(AsyncLease, "step", spoiled)
    with LeasePool(leasing.factories(2, crash_every=10**9), start_method="fork") as pool:
        play = Leasing(pool, event_every=10**9)
        asyncio.run(play.play(100))
    assert any(expected in fault for fault in play.faults)
