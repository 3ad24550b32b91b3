"""A client of an ASGI application in this process, without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any


def scope_of(kind: str, path: str, headers: Mapping[str, str], **more: Any) -> dict[str, Any]:
    path, _, query = path.partition("?")
    sent = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
    given = {"type": kind, "path": path, "query_string": query.encode(), "headers": sent}
    return {**given, "extensions": {"websocket.http.response": {}}, **more}


LOCAL = {"host": "127.0.0.1:8000"}


async def request(
    app: Any, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = LOCAL
) -> tuple[int, Any]:
    """Makes a request; returns the status and the JSON of the answer."""
    status, _, answer = await exchange(app, method, path, body, headers)
    return status, json.loads(answer)


async def exchange(
    app: Any, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = LOCAL
) -> tuple[int, dict[str, str], bytes]:
    """Makes a request; returns status, headers and body of the answer."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope_of("http", path, headers, method=method), receive, send)
    answered = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
    return sent[0]["status"], answered, sent[1]["body"]


class Peer:
    """A WebSocket: `async with Peer(app) as peer`."""

    def __init__(
        self, app: Any, path: str = "/ws", headers: Mapping[str, str] = LOCAL, **more: Any
    ) -> None:
        self._app, self._scope = app, scope_of("websocket", path, headers, **more)
        self._to_app: asyncio.Queue[Any] = asyncio.Queue()
        self._from_app: asyncio.Queue[Any] = asyncio.Queue()

    async def __aenter__(self) -> Peer:
        self._to_app.put_nowait({"type": "websocket.connect"})
        call = self._app(self._scope, self._to_app.get, self._put)
        self.task = asyncio.create_task(call)
        self.first = await self.receive()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.leave()
        await asyncio.wait_for(self.task, 30)

    async def _put(self, message: Any) -> None:
        await self._from_app.put(message)

    def leave(self) -> None:
        """Ends the connection, as a client that dies does."""
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": 1006})

    def stop_taking(self) -> None:
        """Takes no message any more, as a client that does not read."""
        self._from_app = asyncio.Queue(1)
        self._from_app.put_nowait(None)

    def send(self, text: str | bytes) -> None:
        name = "text" if isinstance(text, str) else "bytes"
        self._to_app.put_nowait({"type": "websocket.receive", name: text})

    async def receive(self) -> Any:
        """Returns the next message of the application, that of a close included."""
        return await asyncio.wait_for(self._from_app.get(), 30)

    async def ask(self, message: Any) -> Any:
        """Sends JSON, or text as it is; returns the answer."""
        self.send(message if isinstance(message, (str, bytes)) else json.dumps(message))
        return json.loads((await self.receive())["text"])

    async def step(self, action: Any) -> Any:
        return await self.ask({"type": "step", "data": {"action": action}})

    async def reset(self, **data: Any) -> Any:
        return await self.ask({"type": "reset", "data": data})
