"""Connection: one of uvicorn's, which ends if a request comes late, or its answer is taken late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# seconds in which the head of a request must have come
HEAD_TIMEOUT = 10.0
# seconds after that in which the client must have taken what was sent
SEND_TIMEOUT = 50.0


class Connection(H11Protocol):
    """Closes a connection that sends no request, or sends one slowly, and cuts off a client that
    does not take its answers: uvicorn itself would wait."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def on_response_complete(self) -> None:
        # before uvicorn reads the next request, which may be there already
        self._await_request()
        super().on_response_complete()

    def resume_writing(self) -> None:
        super().resume_writing()
        # the client takes its answers: it is not to be cut off for the time before
        self._await_request()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        if self.flow.write_paused:
            # The WebSocket would not know, and write on. Who waits for answers has taken them.
            self.transport.abort()
            return
        super().handle_websocket_upgrade(event)

    def _await_request(self) -> None:
        self._wait(HEAD_TIMEOUT, self._end_if_idle)

    def _end_if_idle(self) -> None:
        is_web_socket = self.transport.get_protocol() is not self
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if not self.transport.is_closing():
            if is_web_socket:
                return
            if is_answering and not self.flow.write_paused:
                # the app takes its time
                self._await_request()
                return
            if not is_answering:
                self.transport.close()
        # which waits, as an answer does, for a client that takes nothing
        self._wait(SEND_TIMEOUT, self.transport.abort)

    def _wait(self, seconds: float, callback: Callable[[], object]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, callback)
