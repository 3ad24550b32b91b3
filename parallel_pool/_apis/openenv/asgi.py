"""ASGI: the body of a request, and the answer to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from parallel_pool._apis.openenv import messages
from parallel_pool._apis.openenv.messages import INVALID_JSON, RequestError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]

# seconds in which the whole body of a request must have come
BODY_TIMEOUT = 10.0


async def read_body(receive: Receive, limit: int) -> bytes:
    """Returns the body of a request.

    Raises:
        RequestError: it has more bytes than the limit, or takes too long.
        ConnectionResetError: the client has gone.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ConnectionResetError("the client has gone")
                body += message.get("body", b"")
                if len(body) > limit:
                    raise RequestError(
                        INVALID_JSON, f"the body has more than {limit} bytes: send less", 413
                    )
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise RequestError(
            INVALID_JSON, f"the body took more than {BODY_TIMEOUT:g} s", 408
        ) from None


async def respond(send: Send, status: int, value: Any, *headers: Header) -> None:
    """Answers a request with JSON."""
    kind = (b"content-type", b"application/json")
    # what is left of a body that was refused must not be read as the next request
    end = [(b"connection", b"close")] if status in (408, 413) else []
    await send_body(send, status, messages.write(value).encode(), kind, *end, *headers)


async def send_body(send: Send, status: int, body: bytes, *headers: Header) -> None:
    """Answers a request with these bytes; the headers say of which kind they are."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def refuse(scope: Scope, send: Send, status: int, detail: str) -> None:
    """Refuses a request, or the handshake of a WebSocket."""
    known = (b"www-authenticate", b"Bearer")
    headers = [known] if status == 401 else []
    if scope["type"] == "http":
        await respond(send, status, {"detail": detail}, *headers)
    elif "websocket.http.response" in scope.get("extensions", {}):
        start = {"type": "websocket.http.response.start", "status": status}
        body = messages.write({"detail": detail}).encode()
        length = (b"content-length", str(len(body)).encode())
        await send({**start, "headers": [length, *headers]})
        await send({"type": "websocket.http.response.body", "body": body})
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": detail})
