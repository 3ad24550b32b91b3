"""Connection: one of uvicorn's, which is closed if a request does not come in time."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

# seconds in which the head of a request must have come
HEAD_TIMEOUT = 10.0


class Connection(H11Protocol):
    """Closes a connection that sends no request, or sends one slowly: uvicorn itself would wait."""

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

    def _await_request(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(HEAD_TIMEOUT, self._end_if_idle)

    def _end_if_idle(self) -> None:
        is_web_socket = self.transport.get_protocol() is not self
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if not is_web_socket and not is_answering:
            self.transport.close()
