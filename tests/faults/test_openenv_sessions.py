"""Served sessions whose environments or clients fail: the others never notice."""

from __future__ import annotations

import asyncio
import json
import math
import time
from pathlib import Path

import pytest

from parallel_pool._apis.openenv import web_socket
from parallel_pool.compat.openenv import OpenEnvApp
from tests.apis.openenv.served_envs import pool_of, run
from tests.faults.lease_envs import Gate
from tests.support.asgi import Peer
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")

TROUBLES = [
    ("raise", "ValueError: as asked"),
    ("kill", "SIGKILL"),
    ("exit", "exit code 3"),
    ("spin", "took longer than timeout=5.0 s"),
    ("sleep", "took longer than timeout=5.0 s"),
    ("eat", "MemoryError"),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize("what", ["step", "reset"])
@pytest.mark.parametrize(("trouble", "text"), TROUBLES)
def test_a_trouble_is_an_error_of_its_session(trouble: str, text: str, what: str) -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as one, Peer(app) as other:
            await one.reset()
            await other.reset()
            asking = one.step(trouble) if what == "step" else one.reset(trouble=trouble)
            trying = asyncio.create_task(asking)
            steps = 0
            while not trying.done():
                answer = await other.step("on")
                steps += 1
                assert answer["data"]["observation"]["observation"][1] == steps
            error = (await trying)["data"]
            assert error["code"] == "EXECUTION_ERROR" and text in error["message"]
            assert (await one.step("on"))["data"]["code"] == "EXECUTION_ERROR"
            assert (await one.reset())["type"] == "observation"
            assert (await one.step("on"))["data"]["observation"]["observation"][1] == 1

    limit = 5.0 if trouble in ("spin", "sleep") else 30.0
    run(play, step_timeout=limit, reset_timeout=limit if what == "reset" else 30.0)


@pytest.mark.slow
def test_a_client_that_leaves_in_a_step_frees_its_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv("TEST_GATE", str(tmp_path / "gate"))

    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as one:
            await one.reset()
            pid = app.pool.worker_pids[0]
            assert pid is not None
            one.send('{"type": "step", "data": {"action": "gate"}}')
            while not gate.is_reached:
                await asyncio.sleep(0.001)
            one.leave()
            await asyncio.wait_for(one.task, 30)
            wait_for(lambda: has_ended(pid))
            async with Peer(app) as next_one:
                assert (await next_one.reset())["type"] == "observation"

    # which would free it, too
    run(play, 1, step_timeout=math.inf)


def test_messages_ahead_are_answered_in_order() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            for _ in range(20):
                peer.send('{"type": "step", "data": {"action": "on"}}')
            for steps in range(1, 21):
                answer = json.loads((await peer.receive())["text"])
                assert answer["data"]["observation"]["observation"][1] == steps

    run(play)


@pytest.mark.slow
def test_a_session_that_sends_too_fast_waits() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            start = time.monotonic()
            await peer.reset()
            for _ in range(59):
                await peer.ask({"type": "state"})
            # 40 at once, and 20 more in half a second
            assert 0.35 < time.monotonic() - start < 20

    run(play, rate=40)


def test_a_session_without_limits() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            for _ in range(3):
                await peer.reset()
                assert (await peer.step("on"))["type"] == "observation"

    limits = dict.fromkeys(("rate", "step_timeout", "reset_timeout", "idle_timeout"), math.inf)
    run(play, **limits)


@pytest.mark.slow
def test_an_idle_session_ends() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            assert (await peer.receive())["type"] == "websocket.close"

    run(play, idle_timeout=1.0)


@pytest.mark.slow
def test_an_idle_timeout_does_not_end_a_long_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv("TEST_GATE", str(tmp_path / "gate"))

    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            stepping = asyncio.create_task(peer.step("gate"))
            while not gate.is_reached:
                await asyncio.sleep(0.001)
            await asyncio.sleep(1.5)
            gate.open()
            assert (await stepping)["type"] == "observation"

    run(play, idle_timeout=1.0)


@pytest.mark.slow
def test_a_pool_that_is_closed() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            peer.send('{"type": "step", "data": {"action": "sleep"}}')
            await asyncio.sleep(0.05)
            await asyncio.to_thread(app.pool.close, timeout=0.1)
            error = json.loads((await peer.receive())["text"])["data"]
            assert error == {"message": "the server is closing", "code": "SESSION_ERROR"}
        async with Peer(app) as peer:
            error = json.loads((await peer.receive())["text"])["data"]
            assert error["code"] == "SESSION_ERROR"

    with pool_of(1) as pool:
        asyncio.run(play(OpenEnvApp(pool, token=None)))


@pytest.mark.slow
def test_a_client_that_takes_no_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_socket, "SEND_TIMEOUT", 1.0)

    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            peer.stop_taking()
            peer.send('{"type": "step", "data": {"action": "on"}}')
            await asyncio.wait_for(peer.task, 30)
            async with Peer(app) as next_one:
                assert (await next_one.reset())["type"] == "observation"

    run(play, 1)


def test_a_client_that_leaves_between_two_quick_steps() -> None:
    async def play(app: OpenEnvApp) -> None:
        for _ in range(3):
            async with Peer(app) as one:
                await one.reset()
                for _ in range(5):
                    await one.step("on")
                one.send('{"type": "step", "data": {"action": "on"}}')
                one.leave()
                await asyncio.wait_for(one.task, 30)

    run(play, 1)
