"""Leases whose environments die, spin, sleep, raise or take all memory: others never notice."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._workers.start import startup
from parallel_pool.errors import NotResetError, PoolTimeoutError, WorkerError
from parallel_pool.leases import AsyncLease, LeasePool
from tests.faults.lease_envs import (
    LONG_SECONDS,
    Asked,
    Gate,
    OnlyOnce,
    begins_again,
    begun,
    goes_on,
    run,
)
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


async def kill(pool: LeasePool, env_id: int) -> None:
    """Kills a worker from outside, and waits until it has ended."""
    pid = pool.worker_pids[env_id]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while not has_ended(pid):
        await asyncio.sleep(0.001)


async def noticed(pool: LeasePool, env_id: int, pid: int | None) -> None:
    while pool.worker_pids[env_id] == pid:
        await asyncio.sleep(0.001)


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_noticed", [False, True])
@pytest.mark.parametrize("steps", [-1, 0, 2])
def test_a_worker_killed_between_two_calls(steps: int, is_noticed: bool) -> None:
    """Steps -1: before the first reset, which then needs no second attempt."""

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(other)
            if steps >= 0:
                await begun(env, steps)
            pid = pool.worker_pids[env.env_id]
            await kill(pool, env.env_id)
            if is_noticed:
                await noticed(pool, env.env_id, pid)
            if steps >= 0:
                with pytest.raises(WorkerError, match="SIGKILL") as caught:
                    await env.step("on", timeout=LONG_SECONDS)
                assert caught.value.env_ids == (env.env_id,)
                with pytest.raises(NotResetError, match=r"call reset\(\) first"):
                    await env.step("on")
            await begins_again(env)
            await goes_on(other)

    run(play)


def test_a_worker_killed_before_a_reset_of_a_running_episode() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            await kill(pool, env.env_id)
            await begins_again(env)

    run(play)


@pytest.mark.slow
def test_a_worker_killed_before_each_of_many_calls_is_always_replaced() -> None:
    """The engine gives up a worker that dies in each start, but not for kills."""

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(other)
            for i in range(8):
                await kill(pool, env.env_id)
                await env.reset(timeout=LONG_SECONDS)
                if i % 2:
                    await env.step("on", timeout=LONG_SECONDS)
            await goes_on(other)

    run(play)


async def call_with(env: AsyncLease, what: str, trouble: str, timeout: float) -> Any:
    if what == "step":
        return await env.step(trouble, timeout=timeout)
    if what == "reset":
        return await env.reset(options=trouble, timeout=timeout)
    return await env.call("have", trouble, timeout=timeout)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["step", "reset", "call"])
@pytest.mark.parametrize(("trouble", "text"), [("kill", "SIGKILL"), ("exit", "exit code 3")])
def test_an_environment_that_kills_its_worker(what: str, trouble: str, text: str) -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(other)
            for _ in range(5):
                await begun(env)
                with pytest.raises(WorkerError, match=text) as caught:
                    await call_with(env, what, trouble, LONG_SECONDS)
                assert caught.value.env_ids == (env.env_id,)
                with pytest.raises(NotResetError):
                    await env.step("on")
            await begins_again(env)
            await goes_on(other)

    run(play)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["step", "reset", "call"])
@pytest.mark.parametrize("trouble", ["spin", "sleep"])
def test_a_deadline_ends_what_would_last_for_ever(what: str, trouble: str) -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(other)
            for _ in range(3):
                await begun(env)
                pid = pool.worker_pids[env.env_id]
                began = time.monotonic()
                with pytest.raises(PoolTimeoutError) as caught:
                    await call_with(env, what, trouble, 0.1)
                assert 0.1 <= time.monotonic() - began < LONG_SECONDS / 2
                text = str(caught.value)
                assert f"environment {env.env_id}: {what} took longer than timeout=0.1 s" in text
                assert pid is not None
                wait_for(lambda pid=pid: has_ended(pid))
            await begins_again(env)
            await goes_on(other)

    run(play)


@pytest.mark.slow
def test_the_pools_timeout_is_for_calls_without_their_own() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            with pytest.raises(PoolTimeoutError, match=r"timeout=0\.3 s"):
                await env.step("sleep")
            await env.reset(timeout=LONG_SECONDS)
            await env.step("nap", timeout=LONG_SECONDS)

    run(play, timeout=0.3)


@pytest.mark.slow
def test_others_step_on_while_one_spins() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(env)
            await begun(other)
            spinning = asyncio.create_task(env.step("spin"))
            for steps in range(2, 10):
                await goes_on(other, steps)
            assert not spinning.done()
            assert env.kill()
            with pytest.raises(WorkerError, match="was killed by its lease"):
                await spinning

    run(play)


@pytest.mark.slow
def test_a_reset_is_tried_again() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            with pytest.raises(WorkerError):
                await env.reset(options="kill", retries=2, timeout=LONG_SECONDS)
            with pytest.raises(PoolTimeoutError):
                await env.reset(options="sleep", retries=1, timeout=0.05)
            with pytest.raises(ValueError, match="retries=-1"):
                await env.reset(retries=-1)
            await begins_again(env)

    run(play)


@pytest.mark.slow
def test_kill_ends_the_call_in_flight_and_nothing_else() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(other)
            for _ in range(5):
                await begun(env)
                spinning = asyncio.create_task(env.step("spin"))
                await asyncio.sleep(0.02)
                assert env.kill()
                with pytest.raises(WorkerError, match="was killed by its lease"):
                    await spinning
                with pytest.raises(NotResetError):
                    await env.step("on")
            await begins_again(env)
            await goes_on(other)

    run(play)


@pytest.mark.slow
def test_kill_ends_a_process_that_has_just_replaced_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread that has started it may not have noticed yet that it works."""
    noticed, assign = threading.Event(), startup.assign

    def late(*arguments: Any) -> None:
        assign(*arguments)
        assert noticed.wait(TEST_TIMEOUT)

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            monkeypatch.setattr(startup, "assign", late)
            await kill(pool, env.env_id)
            await begun(env)
            spinning = asyncio.create_task(env.step("spin"))
            await asyncio.sleep(0)
            is_killed = env.kill()
            noticed.set()
            assert is_killed
            with pytest.raises(WorkerError, match="was killed by its lease"):
                await spinning
            await begins_again(env)

    run(play)


def test_an_exception_costs_only_the_episode() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(env)
            await begun(other)
            pids = pool.worker_pids
            with pytest.raises(ValueError, match="as asked") as caught:
                await env.step("raise")
            assert caught.value.__cause__.env_ids == (env.env_id,)  # type: ignore[union-attr]
            with pytest.raises(NotResetError, match="its last call failed"):
                await env.step("on")
            with pytest.raises(ValueError, match="as asked"):
                await env.reset(options="raise")
            await begins_again(env)
            # a method's exception does not even cost that
            with pytest.raises(ValueError, match="as asked"):
                await env.call("have", "raise")
            await goes_on(env, 3)
            await goes_on(other)
            assert pool.worker_pids == pids

    run(play)


def test_results_that_cannot_be_pickled() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            with pytest.raises(TypeError, match="can't be pickled"):
                await env.step("unpicklable")
            await begun(env)
            with pytest.raises(TypeError, match="can't be pickled"):
                await env.call("give", "unpicklable")
            await goes_on(env)
            with pytest.raises(TypeError, match="can't be sent"):
                await env.step(i for i in range(3))
            await goes_on(env, 3)

    run(play)


@pytest.mark.slow
def test_an_environment_that_takes_all_memory() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env, pool.lease() as other:
            await begun(env)
            await begun(other)
            with pytest.raises((MemoryError, WorkerError)):
                await env.step("eat", timeout=LONG_SECONDS)
            await goes_on(other)

    run(play)


@pytest.mark.slow
def test_a_call_waits_for_the_replacement_of_a_worker_no_longer_than_its_timeout(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", Gate(tmp_path / "second")

    class Slow(Asked):
        def __init__(self) -> None:
            super().__init__()
            if first.exists():
                second.wait()
            first.touch()

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            pid = pool.worker_pids[env.env_id]
            await kill(pool, env.env_id)
            await noticed(pool, env.env_id, pid)
            began = time.monotonic()
            with pytest.raises(PoolTimeoutError, match="is being replaced"):
                await env.reset(timeout=0.1)
            assert time.monotonic() - began < LONG_SECONDS
            second.open()
            await begins_again(env)

    with LeasePool([Slow], start_method="fork") as pool:
        asyncio.run(play(pool))


@pytest.mark.slow
def test_environments_that_cannot_be_made_again(tmp_path: Path) -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            await kill(pool, env.env_id)
            with pytest.raises(Exception, match=r"File exists|no other could be started"):
                await env.reset(timeout=LONG_SECONDS)
        with pytest.raises(WorkerError, match="no environment is left"):
            async with pool.lease():
                pass

    with LeasePool([lambda: OnlyOnce(str(tmp_path / "made"))], start_method="fork") as pool:
        asyncio.run(play(pool))


@pytest.mark.slow
def test_environments_of_one_worker_are_lost_together() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as a, pool.lease() as b, pool.lease() as c:
            for env in (a, b, c):
                await begun(env)
            # the first worker has one environment, the second has two
            with pytest.raises(PoolTimeoutError):
                await c.step("spin", timeout=0.1)
            with pytest.raises(WorkerError, match="took longer than timeout"):
                await b.step("on", timeout=LONG_SECONDS)
            await goes_on(a)
            await begins_again(b)
            await begins_again(c)

    run(play, 3, num_workers=2)
