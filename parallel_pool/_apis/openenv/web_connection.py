"""WebConnection: one of uvicorn's WebSockets, which reads on, and waits for no stuck client."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class WebConnection(WebSocketsSansIOProtocol):
    """Reads on as long as the app has taken all messages, and cuts off a client that takes none.

    uvicorn itself stops reading at each message and begins again once the app takes it: two system
    calls for each message of a client that waits for its answer, and so is never ahead. And it ends
    a connection by a close that waits until the client has taken what was sent, without a limit.
    """

    # answers to pings that wait until the client has taken what was sent before
    _pongs: Sequence[bytes] = ()

    def send_receive_event_to_app(self) -> None:
        reads_on = not self.read_paused and self.queue.empty()
        if reads_on:
            # it does not stop what it takes for stopped
            self.read_paused = True
        super().send_receive_event_to_app()
        if reads_on:
            self.read_paused = False

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        # of several pings only the last must be answered (RFC 6455, 5.5.3); the first of those that
        # came together has the answers to all
        elif pongs := self.conn.data_to_send():
            self._pongs = pongs

    def resume_writing(self) -> None:
        super().resume_writing()
        self.transport.write(b"".join(self._pongs))
        self._pongs = ()

    def keepalive_timeout(self) -> None:
        if self.read_paused:
            # the client is ahead, and its answer to the ping may be behind what was read
            assert self.ping_timeout is not None
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self.transport.abort()

    def eof_received(self) -> None:
        # the transport, which now closes, says so only once the client has taken what was sent
        self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006})

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if not self.disconnected:
            # time for a client that takes what was sent
            self.loop.call_later(self.close_timeout, self.transport.abort)
