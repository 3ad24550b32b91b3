"""Leases that end early: cancelled tasks, closed pools and event loops, forks, Ctrl-C, exits."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parallel_pool.errors import (
    BusyError,
    ClosedError,
    ForkedError,
    NotResetError,
    PoolTimeoutError,
    StateError,
)
from parallel_pool.leases import LeasePool
from tests.faults.lease_envs import LONG_SECONDS, Gate, begins_again, begun, goes_on, pool_of, run
from tests.support.forked import in_child
from tests.support.programs import Program
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


async def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ------------------------------------------------------------------------------- cancellation --


def test_cancelling_who_waits_for_an_environment() -> None:
    async def play(pool: LeasePool) -> None:
        async def ask() -> None:
            async with pool.lease():
                raise AssertionError("nothing is free")

        async with pool.lease(), pool.lease():
            tasks = [asyncio.create_task(ask()) for _ in range(3)]
            await asyncio.sleep(0)
            assert pool.num_waiting == 3
            await cancel(tasks[1])
            assert pool.num_waiting == 2
            for task in (tasks[0], tasks[2]):
                await cancel(task)

    run(play)


def test_cancelling_who_has_just_got_an_environment() -> None:
    """The task was given one, and is cancelled before it has run again."""

    async def play(pool: LeasePool) -> None:
        async def ask() -> None:
            async with pool.lease():
                raise AssertionError("cancelled before")

        async with pool.lease():
            async with pool.lease():
                task = asyncio.create_task(ask())
                await asyncio.sleep(0)
            assert pool.num_free == pool.num_waiting == 0
            await cancel(task)
            assert pool.num_free == 1

    run(play)


@pytest.mark.quick(1)
@pytest.mark.parametrize("what", ["step", "reset", "call"])
def test_cancelling_a_call_lets_it_finish_and_frees_the_environment(
    what: str, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as other:
            await begun(other)
            pids = pool.worker_pids

            async def wait() -> None:
                async with pool.lease() as env:
                    await begun(env)
                    if what == "step":
                        await env.step(gate.trouble, timeout=LONG_SECONDS)
                    elif what == "reset":
                        await env.reset(options=gate.trouble, timeout=LONG_SECONDS)
                    else:
                        await env.call("have", gate.trouble, timeout=LONG_SECONDS)

            task = asyncio.create_task(wait())
            while not gate.is_reached:
                await asyncio.sleep(0.001)
            await cancel(task)
            assert pool.num_free == 0
            gate.open()
            # the next lease waits for it
            async with pool.lease() as env:
                with pytest.raises(NotResetError, match="not reset in this lease"):
                    await env.step("on")
                await begins_again(env)
            await goes_on(other)
            assert pool.worker_pids == pids

    run(play, grace=LONG_SECONDS)


@pytest.mark.sanitizers
def test_a_cancelled_call_that_never_ends_is_killed_after_the_grace() -> None:
    async def play(pool: LeasePool) -> None:
        async def spin() -> None:
            async with pool.lease() as env:
                await begun(env)
                await env.step("spin")

        tasks = [asyncio.create_task(spin()) for _ in range(2)]
        await asyncio.sleep(0.1)
        for task in tasks:
            await cancel(task)
        async with pool.lease() as env:
            await begins_again(env)

    run(play, grace=0.2)


@pytest.mark.sanitizers
def test_a_lease_goes_on_after_a_cancelled_call_with_a_reset(tmp_path: Path) -> None:
    async def play(pool: LeasePool) -> None:
        gates = iter([Gate(tmp_path / str(i)) for i in range(5)])
        async with pool.lease() as env:
            await begun(env)
            gate = next(gates)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(env.step(gate.trouble), 0.05)
            with pytest.raises(NotResetError, match="was cancelled"):
                await env.step("on")
            gate.open()
            # waits for the step
            await begins_again(env)
            for _ in range(3):
                gate = next(gates)
                # this reset waits behind the step, and is cancelled too
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(env.step(gate.trouble), 0.02)
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(env.reset(), 0.02)
                gate.open()
                await begins_again(env)
            gate = next(gates)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(env.step(gate.trouble), 0.02)
            with pytest.raises(PoolTimeoutError, match="waited behind"):
                await env.reset(timeout=0.02)
            gate.open()
            await begins_again(env)

    run(play, grace=LONG_SECONDS)


@pytest.mark.sanitizers
def test_tasks_cancelled_at_any_moment_lose_no_environment() -> None:
    draw = random.Random(1)

    async def play(pool: LeasePool) -> int:
        ended = 0

        async def steps() -> None:
            nonlocal ended
            while True:
                async with pool.lease() as env:
                    await env.reset()
                    for i in range(4):
                        observation, *_ = await env.step("on")
                        assert observation.tolist() == [env.env_id, i + 1]
                    ended += 1

        for _ in range(30):
            tasks = [asyncio.create_task(steps()) for _ in range(8)]
            for task in tasks:
                await asyncio.sleep(draw.random() * 0.004)
                await cancel(task)
        return ended

    assert run(play, 3) > 0


# ------------------------------------------------------------------------------------ order --


def test_leases_begin_in_the_order_in_which_they_were_asked_for() -> None:
    async def play(pool: LeasePool) -> None:
        order: list[int] = []

        async def ask(i: int) -> None:
            async with pool.lease() as env:
                order.append(i)
                await env.reset()

        await asyncio.gather(*[ask(i) for i in range(50)])
        assert order == list(range(50))

    run(play)


@pytest.mark.sanitizers
def test_thousands_of_leases_in_turn() -> None:
    async def play(pool: LeasePool) -> None:
        async def ask() -> None:
            async with pool.lease() as env:
                await env.reset()

        await asyncio.gather(*[ask() for _ in range(3000)])

    run(play, 2)


def test_waiting_for_an_environment_has_a_timeout() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease(), pool.lease():
            for _ in range(2):
                with pytest.raises(PoolTimeoutError, match="no environment was free"):
                    async with pool.lease(timeout=0.02):
                        pass
        async with pool.lease(timeout=0.02) as env:
            await asyncio.sleep(0.05)
            await begun(env)

    run(play)


# ------------------------------------------------------------------------------------ misuse --


def test_two_tasks_cannot_use_a_lease_at_once(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await begun(env)
            stepping = asyncio.create_task(env.step(gate.trouble))
            await asyncio.sleep(0)
            for _ in range(2):
                with pytest.raises(BusyError, match=f"a step of environment {env.env_id} is in"):
                    await env.reset()
            gate.open()
            observation, *_ = await stepping
            assert observation.tolist() == [env.env_id, 3]
            await goes_on(env, 3)

    run(play)


def test_a_lease_that_is_over() -> None:
    async def play(pool: LeasePool) -> None:
        asking = pool.lease()
        async with asking as env:
            await begun(env)
        for call in (env.step("on"), env.reset(), env.call("have", "nap")):
            with pytest.raises(ClosedError, match="the lease is over"):
                await call
        with pytest.raises(ClosedError, match="the lease is over"):
            env.kill()
        with pytest.raises(StateError, match=r"call lease\(\) for each"):
            async with asking:
                pass

    run(play)


# ----------------------------------------------------------------------------------- closing --


@pytest.mark.quick(1)
@pytest.mark.parametrize("waits", [False, True])
def test_closing_ends_calls_in_flight_and_waiting(waits: bool) -> None:
    async def main() -> None:
        pool = pool_of(2)
        pids = [pid for pid in pool.worker_pids if pid is not None]
        async with pool.lease() as a, pool.lease() as b:
            await begun(a)
            spinning = asyncio.create_task(a.step("spin"))
            asking = asyncio.create_task(pool.lease().__aenter__())
            await asyncio.sleep(0.02)
            closing = asyncio.create_task(asyncio.to_thread(pool.close, timeout=0.1))
            if waits:
                await closing
            for task in (spinning, asking):
                with pytest.raises(ClosedError, match="pool of leases was closed"):
                    await task
            with pytest.raises(ClosedError, match="closed"):
                await b.reset()
            with pytest.raises(ClosedError, match="closed"):
                async with pool.lease():
                    pass
            await closing
        assert pool.closed
        wait_for(lambda: all(map(has_ended, pids)))

    asyncio.run(main())


def test_async_with_closes_the_pool_and_lets_tasks_go_on() -> None:
    async def main() -> None:
        async with pool_of(1) as pool, pool.lease() as env:
            await begun(env)
        assert pool.closed

    asyncio.run(main())


def test_a_pool_that_is_dropped_ends_its_workers() -> None:
    async def main() -> list[int | None]:
        pool = pool_of(2)
        async with pool.lease() as env:
            await begun(env)
        return list(pool.worker_pids)

    pids = asyncio.run(main())
    gc.collect()
    wait_for(lambda: all(has_ended(pid) for pid in pids if pid is not None))


def test_an_event_loop_that_is_closed_with_leases_open(tmp_path: Path) -> None:
    gates = [Gate(tmp_path / str(env_id)) for env_id in range(2)]
    with pool_of(2, grace=LONG_SECONDS) as pool:
        loop = asyncio.new_event_loop()

        async def hold() -> None:
            async with pool.lease() as env:
                await begun(env)
                await env.step(gates[env.env_id].trouble)
                raise AssertionError("its loop is closed")

        async def ask() -> None:
            async with pool.lease():
                raise AssertionError("its loop is closed")

        async def reached() -> None:
            while not all(gate.is_reached for gate in gates):
                await asyncio.sleep(0.001)

        tasks = [loop.create_task(each()) for each in (hold, hold, ask, ask)]
        loop.run_until_complete(reached())
        assert pool.num_waiting == 2
        loop.close()
        for gate in gates:
            gate.open()
        assert not any(task.done() for task in tasks)
        wait_for(lambda: pool.num_free == 2)
        assert pool.num_waiting == 0
        with pool.lease() as env:
            env.reset()


def test_a_task_without_a_loop_passes_its_environment_on() -> None:
    """A request of a closed loop is still in the queue when an environment becomes free."""
    with pool_of(1) as pool:
        loop = asyncio.new_event_loop()
        with pool.lease():
            asking = pool.lease()
            task = loop.create_task(asking.__aenter__())
            loop.run_until_complete(asyncio.sleep(0.01))
            loop.close()
            assert pool.num_waiting == 1 and not task.done()
        assert pool.num_free == 1
        with pool.lease(timeout=LONG_SECONDS) as env:
            env.reset()


def test_two_event_loops_and_threads_share_a_pool() -> None:
    with pool_of(3) as pool:
        failures: list[BaseException] = []

        async def play() -> None:
            for _ in range(10):
                async with pool.lease() as env:
                    await begun(env)
                    await goes_on(env)

        def loops() -> None:
            async def main() -> None:
                await asyncio.gather(*[play() for _ in range(4)])

            asyncio.run(main())

        def threads() -> None:
            for _ in range(10):
                with pool.lease() as env:
                    env.reset()
                    assert env.step("on")[0].tolist() == [env.env_id, 1]

        def note(function: Callable[[], None]) -> None:
            try:
                function()
            except BaseException as error:
                failures.append(error)

        there = [threading.Thread(target=note, args=(each,)) for each in (loops, threads) * 2]
        for thread in there:
            thread.start()
        for thread in there:
            thread.join()
        assert not failures and pool.num_free == 3


def test_a_forked_child_has_no_leases() -> None:
    with pool_of(2) as pool, (asking := pool.lease()) as env:
        env.reset()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                for call in (lambda: env.step("on"), lambda: pool.lease().__enter__(), env.kill):
                    with pytest.raises(ForkedError):
                        call()
                asking.__exit__()
                pool.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        assert env.step("on")[0].tolist() == [env.env_id, 1]


def test_a_forked_child_of_a_task_has_no_leases() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            await env.reset()

            def refused() -> None:
                for call in (lambda: env.step("on"), env.reset, lambda: env.call("have", "nap")):
                    with pytest.raises(ForkedError):
                        asyncio.run(call())
                with pytest.raises(ForkedError):
                    env.kill()

            in_child(refused)
            assert (await env.step("on"))[0].tolist() == [env.env_id, 1]

    run(play)


def test_closing_twice() -> None:
    pool = pool_of(1)
    asking = pool.lease()
    env = asking.__enter__()
    asking.__exit__()
    for _ in range(2):
        asking.__exit__()
        with pytest.raises(ClosedError, match=r"is over|is closed"):
            env.step("on")
        pool.close()


# --------------------------------------------------------------------------------- programs --

INTERRUPTED = """
from tests.faults.lease_envs import Gate, pool_of

def interrupt_when(is_so):
    def work():
        while not is_so():
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=work, daemon=True).start()

gate = Gate(MEETING / "gate")
with pool_of(2) as pool:
    with pool.lease() as env, pool.lease() as other:
        env.reset(); other.reset()
        try:
            interrupt_when(lambda: gate.is_reached)
            env.step(gate.trouble)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert other.step("on")[0].tolist() == [other.env_id, 1]
        assert env.kill()
        env.reset()
        assert env.step("on")[0].tolist() == [env.env_id, 1]
    with pool.lease(), pool.lease():
        try:
            interrupt_when(lambda: pool.num_waiting)
            with pool.lease():
                pass
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    assert pool.num_waiting == 0
print("over", flush=True)
"""

LEFT_OPEN = """
import asyncio
from tests.faults.lease_envs import pool_of

async def main():
    pool = pool_of(2)
    env = await pool.lease().__aenter__()
    await env.reset()
    asyncio.create_task(env.step("nap"))
    await asyncio.sleep(0.05)
    print(*pool.worker_pids, flush=True)
    globals()["kept"] = pool, env

asyncio.run(main())
"""


@pytest.mark.sanitizers
def test_ctrl_c_ends_the_wait_of_a_thread(program: Callable[..., Program]) -> None:
    done = program(INTERRUPTED).end()
    assert done.out.split() == ["interrupted", "interrupted", "over"]


@pytest.mark.sanitizers
def test_a_program_ends_with_leases_open(program: Callable[..., Program]) -> None:
    # waits for the end of all its processes
    done = program(LEFT_OPEN).end()
    assert done.code == 0 and len(done.out.split()) == 2, done


# ---------------------------------------------------------------------------------- natives --


@pytest.mark.sanitizers
def test_a_native_step_that_never_ends_keeps_its_environment_only() -> None:
    from parallel_pool._engine import closing

    before, closing.CLOSE_TIMEOUT = closing.CLOSE_TIMEOUT, 0.05

    async def main(pool: LeasePool) -> None:
        async with pool.lease() as a, pool.lease() as b:
            envs = sorted((a, b), key=lambda env: env.env_id)
            for env in envs:
                await env.reset()
            with pytest.raises(PoolTimeoutError, match="a thread can't be ended"):
                await envs[1].step(0, timeout=0.1)
            for _ in range(5):
                await envs[0].step(0, timeout=LONG_SECONDS)
            assert not envs[1].kill()
            with pytest.raises(PoolTimeoutError, match="waited behind"):
                await envs[1].reset(timeout=0.1)
        assert pool.num_free == 1

    try:
        options = {"spin": 10**15, "slow_env": 1}
        with (
            pytest.warns(RuntimeWarning, match="did not return"),
            LeasePool("test/Fault-v0", 2, num_threads=3, **options) as pool,
        ):
            asyncio.run(main(pool))
    finally:
        closing.CLOSE_TIMEOUT = before
