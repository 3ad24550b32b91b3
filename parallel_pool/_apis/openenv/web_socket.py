"""WebSocket: a connection whose messages are answered one after the other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from parallel_pool._apis.openenv.asgi import Receive, Send
from parallel_pool._apis.openenv.deadline import Deadline
from parallel_pool._apis.openenv.rate import Rate

# seconds in which a client must take a message
SEND_TIMEOUT = 60.0
# Seconds of an answer after which the connection is read meanwhile. That takes a task of its own,
# which would cost most answers more than the rest of their way through the event loop.
PATIENCE = 0.1
GOING_AWAY = 1000

# Answers a message, or returns None: the socket is to be closed.
Answer = Callable[[str | bytes], Awaitable[str | None]]


class WebSocket:
    """A WebSocket that was accepted. It is read while an answer takes long, so that the end of the
    connection ends the call, but no more than one message ahead."""

    def __init__(self, receive: Receive, send: Send, rate: float, idle_timeout: float) -> None:
        """
        Args:
            receive, send: of ASGI.
            rate: messages per second; a client that sends more waits.
            idle_timeout: seconds without a message after which the socket is closed.
        """
        self._receive, self._send = receive, send
        self._rate = Rate(rate)
        # seconds until the next message may be read
        self._pause = 0.0
        self._idle_timeout = idle_timeout
        self._deadline = Deadline()
        self._ahead: asyncio.Task[str | bytes | None] | None = None
        self._end = asyncio.get_running_loop().create_future()

    async def send(self, text: str) -> None:
        """Sends a message; raises TimeoutError if the client does not take it."""
        async with asyncio.timeout(SEND_TIMEOUT):
            await self._send({"type": "websocket.send", "text": text})

    async def answer_all(self, answer: Answer) -> None:
        """Answers messages until the client, `answer` or the idle timeout ends it."""
        answering = asyncio.create_task(self._answer(answer))
        answering.add_done_callback(lambda task: self._stop())
        try:
            await self._end
        finally:
            self._deadline.cancel()
            tasks: list[asyncio.Task[Any]] = [answering]
            if self._ahead is not None:
                tasks.append(self._ahead)
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            # neither ended by us, nor by a client that is slow or gone
            if isinstance(end, Exception) and not isinstance(end, OSError):
                raise end

    async def close(self) -> None:
        """Closes the socket, if the client has not done so."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(SEND_TIMEOUT):
                await self._send({"type": "websocket.close", "code": GOING_AWAY})

    def _stop(self) -> None:
        if not self._end.done():
            self._end.set_result(None)

    async def _answer(self, answer: Answer) -> None:
        while True:
            self._deadline.set(self._idle_timeout, self._stop)
            text = await self._next()
            if text is None:
                return
            self._deadline.set(PATIENCE, self._read_ahead)
            found = await answer(text)
            if found is None:
                return
            self._deadline.set(SEND_TIMEOUT, self._stop)
            await self._send({"type": "websocket.send", "text": found})

    async def _next(self) -> str | bytes | None:
        if self._ahead is None:
            return await self._read()
        text = await self._ahead
        self._ahead = None
        return text

    async def _read(self) -> str | bytes | None:
        """Returns the next message; None at the end of the connection."""
        if self._pause:
            await asyncio.sleep(self._pause)
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            return None
        self._pause = self._rate.take()
        text: str | bytes | None = message.get("text")
        return message.get("bytes", b"") if text is None else text

    def _read_ahead(self) -> None:
        self._ahead = asyncio.create_task(self._read())
        self._ahead.add_done_callback(self._look_ahead)

    def _look_ahead(self, task: asyncio.Task[str | bytes | None]) -> None:
        """Ends the call in progress if the client has gone."""
        if task.cancelled() or task.exception() is not None or task.result() is None:
            self._stop()
