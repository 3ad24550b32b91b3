"""WebConnection: stops reading only while the app is behind its client."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra openenv")

import uvicorn
from uvicorn.server import ServerState

from parallel_pool._apis.openenv.web_connection import WebConnection

pytestmark = pytest.mark.usefixtures("alarm")

HEAD = (
    "GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    f"sec-websocket-key: {base64.b64encode(bytes(16)).decode()}\r\n"
    "sec-websocket-version: 13\r\n\r\n"
)
# "a" in a text frame of a client
MESSAGE = b"\x81\x81\0\0\0\0a"


class Transport(asyncio.Transport):
    """Counts how often reading was stopped and begun again."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def run(play: Callable[[WebConnection, Transport, Any], Awaitable[None]]) -> Transport:
    """Runs a coroutine function with a connection whose app answers once `may_answer` is set."""

    async def main() -> Transport:
        may_answer = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            while (await receive())["type"] == "websocket.receive":
                await may_answer.wait()
                await send({"type": "websocket.send", "text": "b"})

        config = uvicorn.Config(app, ws_per_message_deflate=False, lifespan="off")
        config.load()
        connection, transport = WebConnection(config, ServerState(), {}), Transport()
        connection.connection_made(transport)
        connection.data_received(HEAD.encode())
        await settled()
        await play(connection, transport, may_answer)
        connection.connection_lost(None)
        await settled()
        return transport

    return asyncio.run(main())


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_client_that_waits_for_answers_is_always_read() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        may_answer.set()
        for _ in range(5):
            connection.data_received(MESSAGE)
            await settled()

    transport = run(play)
    assert transport.calls == []
    assert transport.written.endswith(b"\x81\x01b" * 5)


def test_a_client_that_is_ahead_is_not_read_until_the_app_has_caught_up() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        for _ in range(2):
            connection.data_received(MESSAGE)
            await settled()
        # one is being answered, and one is there
        assert transport.calls == []
        connection.data_received(MESSAGE)
        await settled()
        assert transport.calls == ["pause"]
        may_answer.set()
        await settled()
        assert transport.calls == ["pause", "resume"]

    assert run(play).written.endswith(b"\x81\x01b" * 3)


def test_many_messages_at_once_stop_the_reading_once() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        may_answer.set()
        connection.data_received(MESSAGE * 9)
        await settled()

    transport = run(play)
    assert transport.calls == ["pause", "resume"]
    assert transport.written.endswith(b"\x81\x01b" * 9)
