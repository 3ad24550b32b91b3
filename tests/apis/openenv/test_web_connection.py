"""WebConnection: stops reading only while the app is behind its client, and waits for no client
that takes nothing."""

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


def ping(name: bytes) -> bytes:
    return b"\x89\x81\0\0\0\0" + name


def pong(name: bytes) -> bytes:
    """Returns the answer of a server."""
    return b"\x8a\x01" + name


class Transport(asyncio.Transport):
    """Counts how often reading was stopped and begun again; a close waits for ever."""

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

    def abort(self) -> None:
        self.calls.append("abort")

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


def test_of_pings_whose_answers_are_not_taken_the_last_is_answered() -> None:
    """Answers to all would fill the memory of the server."""

    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        connection.pause_writing()
        before = len(transport.written)
        for name in (b"a", b"b", b"c"):
            connection.data_received(ping(name))
        connection.data_received(ping(b"d") + ping(b"e"))
        assert len(transport.written) == before
        connection.resume_writing()
        connection.data_received(ping(b"f"))
        assert transport.written[before:] == pong(b"d") + pong(b"e") + pong(b"f")

    run(play)


def test_a_client_that_answers_no_ping_is_cut_off() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        connection.send_keepalive_ping()
        connection.keepalive_timeout()

    assert run(play).calls == ["abort"]


def test_a_client_that_is_ahead_is_not_cut_off_for_an_answer_that_was_not_read() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        for _ in range(3):
            connection.data_received(MESSAGE)
            await settled()
        connection.send_keepalive_ping()
        connection.keepalive_timeout()
        may_answer.set()
        await settled()
        assert transport.calls == ["pause", "resume"]
        # it is read again, and has its time to answer
        assert connection.pong_timer is not None
        connection.keepalive_timeout()

    assert run(play).calls == ["pause", "resume", "abort"]


def test_a_client_that_sends_no_more_ends_its_session() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        (session,) = connection.tasks
        connection.eof_received()
        await settled()
        assert session.done()

    run(play)


def test_a_close_does_not_wait_for_a_client_that_takes_nothing() -> None:
    async def play(connection: WebConnection, transport: Transport, may_answer: Any) -> None:
        connection.close_timeout = 0.01
        connection.eof_received()
        while transport.calls != ["abort"]:
            await asyncio.sleep(0.001)

    run(play)
