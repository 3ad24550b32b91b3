"""WebConnection: one of uvicorn's WebSockets, which stops reading only while the app is behind."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class WebConnection(WebSocketsSansIOProtocol):
    """Reads on as long as the app has taken all messages.

    uvicorn itself stops reading at each message and begins again once the app takes it: two system
    calls for each message of a client that waits for its answer, and so is never ahead.
    """

    def send_receive_event_to_app(self) -> None:
        reads_on = not self.read_paused and self.queue.empty()
        if reads_on:
            # it does not stop what it takes for stopped
            self.read_paused = True
        super().send_receive_event_to_app()
        if reads_on:
            self.read_paused = False
