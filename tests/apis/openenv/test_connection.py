"""Connection: clients that take no answers are cut off, and an app that takes its time is not."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra openenv")

import uvicorn
from uvicorn.server import ServerState

from parallel_pool._apis.openenv import connection
from parallel_pool._apis.openenv.connection import Connection

pytestmark = pytest.mark.usefixtures("alarm")

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
UPGRADE = b"GET /ws HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n"
# seconds of a timeout, and until both are over, and nothing more can come
TIMEOUT, OVER = 0.05, 0.2


class Transport(asyncio.Transport):
    """To a client that takes nothing, so that `close` waits for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = self.is_cut_off = False
        self.protocol: Any = None
        # for its protocol, which a timeout does first
        self.was_asked = False
        # bytes of an answer after which the protocol is told to wait
        self.full_at = math.inf

    def write(self, data: Any) -> None:
        self.written += data
        if len(self.written) > self.full_at:
            self.protocol.pause_writing()

    def get_protocol(self) -> Any:
        self.was_asked = True
        return self.protocol

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_cut_off = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


Play = Callable[[Connection, Transport], Awaitable[None]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Transport]:
    """Runs a coroutine function with a connection whose app answers after some seconds."""
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", TIMEOUT)
    monkeypatch.setattr(connection, "SEND_TIMEOUT", TIMEOUT)

    async def main(play: Play, seconds: float) -> Transport:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(seconds)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"a"})

        config = uvicorn.Config(app, lifespan="off", timeout_keep_alive=60)
        config.load()
        made, transport = Connection(config, ServerState(), {}), Transport()
        transport.protocol = made
        made.connection_made(transport)
        await play(made, transport)
        transport.abort()
        made.connection_lost(None)
        return transport

    return lambda play, seconds=0.0: asyncio.run(main(play, seconds))


async def cut_off(transport: Transport) -> None:
    while not transport.is_cut_off:
        await asyncio.sleep(0.01)


def test_a_client_that_takes_no_answer_is_cut_off(run: Callable[..., Transport]) -> None:
    async def play(made: Connection, transport: Transport) -> None:
        made.data_received(GET * 3)
        # its first answer fills what the system keeps for it
        made.pause_writing()
        await cut_off(transport)
        assert transport.written == b""

    run(play)


@pytest.mark.quick(1)
@pytest.mark.parametrize("sent", [LAST, GET, b"", b"nonsense\r\n\r\n"])
def test_a_close_does_not_wait_for_a_client_that_takes_nothing(
    sent: bytes, run: Callable[..., Transport]
) -> None:
    async def play(made: Connection, transport: Transport) -> None:
        if sent:
            made.data_received(sent)
        await cut_off(transport)

    run(play)


@pytest.mark.slow
def test_an_app_that_takes_its_time_is_waited_for(run: Callable[..., Transport]) -> None:
    async def play(made: Connection, transport: Transport) -> None:
        made.data_received(GET)
        await asyncio.sleep(OVER)
        assert not transport.is_closed
        while not transport.written:
            await asyncio.sleep(0.01)
        assert transport.written.startswith(b"HTTP/1.1 200")

    run(play, OVER + 0.1)


@pytest.mark.slow
def test_a_client_that_reads_on_is_not_cut_off(run: Callable[..., Transport]) -> None:
    async def play(made: Connection, transport: Transport) -> None:
        made.data_received(GET)
        made.pause_writing()
        while not transport.was_asked:
            await asyncio.sleep(0)
        made.resume_writing()
        await asyncio.sleep(OVER)
        assert not transport.is_closed

    # it does not answer before the end of the test
    run(play, 3600.0)


def test_a_client_with_answers_to_take_gets_no_web_socket(run: Callable[..., Transport]) -> None:
    """It would be written to without end, as nothing tells it that the client takes nothing."""

    async def play(made: Connection, transport: Transport) -> None:
        transport.full_at = len(b"HTTP/1.1 200")
        made.data_received(GET + UPGRADE)
        while not transport.is_closed:
            await asyncio.sleep(0)
        assert transport.is_cut_off and transport.protocol is made

    run(play)


def test_a_web_socket_that_was_refused_does_not_wait_for_its_client(
    run: Callable[..., Transport],
) -> None:
    async def play(made: Connection, transport: Transport) -> None:
        made.data_received(UPGRADE)
        assert transport.protocol is not made and transport.is_closed
        await cut_off(transport)

    run(play)


@pytest.mark.slow
def test_a_web_socket_is_not_ended(run: Callable[..., Transport]) -> None:
    async def play(made: Connection, transport: Transport) -> None:
        transport.set_protocol(asyncio.Protocol())
        await asyncio.sleep(OVER)
        assert not transport.is_closed

    run(play)
