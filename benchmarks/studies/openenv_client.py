"""Clients of OpenEnv servers that cost little: many sessions on plain sockets, in one loop.

A client library takes longer for a message than a server, and so would be what is measured. Here
the bytes of messages are made once, and of an answer only the step's number is read.
"""

from __future__ import annotations

import base64
import re
import selectors
import socket
import struct
import time
from urllib.parse import urlsplit

HEAD = (
    "GET /ws HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n"
)
KEY = base64.b64encode(bytes(16)).decode()
# the first number of the observation, which is the only list of this name
NUMBER = re.compile(rb'"observation": ?\[([-+.0-9e]+)')
# first bytes of frames (RFC 6455), and what stands for the answer that opens the WebSocket
TEXT, CLOSE, PING, PONG, OPENING = 0x81, 0x88, 0x89, 0x8A, 0
MASK_BIT, NO_MASK = 0x80, bytes(4)
# a longer payload has its size elsewhere
MAX_SHORT_BYTES = 125
# seconds without any answer after which a server is taken for dead
PATIENCE = 60.0
CHUNK = 1 << 16


def frame(kind: int, payload: bytes) -> bytes:
    """Returns a client's frame of a short payload; its mask changes no byte."""
    if len(payload) > MAX_SHORT_BYTES:
        raise ValueError(f"{len(payload)} bytes: give {MAX_SHORT_BYTES} or fewer")
    return bytes((kind, MASK_BIT | len(payload))) + NO_MASK + payload


RESET = frame(TEXT, b'{"type": "reset", "data": {"seed": 1}}')
STEP = frame(TEXT, b'{"type": "step", "data": {"action": 0}}')
# the server closes the WebSocket once it has ended the session, so that there is room for the next
END, CLOSED = frame(TEXT, b'{"type": "close"}'), frame(CLOSE, struct.pack("!H", 1000))


class Stream:
    """A connection, and the frames that the server sends on it."""

    def __init__(self, url: str) -> None:
        """Connects and asks for a WebSocket; the answer is the first thing to read."""
        parts = urlsplit(url)
        assert parts.hostname is not None and parts.port is not None
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self._received = bytearray()
        self._is_open = False
        self.send(HEAD.format(parts.netloc, KEY).encode())

    def send(self, data: bytes) -> None:
        """Sends bytes, so few that the system takes them at once."""
        self.socket.sendall(data)

    def read(self) -> list[tuple[int, bytes]]:
        """Returns kinds and payloads of what has arrived; waits until some bytes are there.

        Raises:
            ConnectionError: the server refused the WebSocket, or has gone.
        """
        received = self.socket.recv(CHUNK)
        if not received:
            raise ConnectionError("the server has closed the connection")
        self._received += received
        found = [] if self._is_open else self._opening()
        while self._is_open and (one := self._next()) is not None:
            found.append(one)
        return found

    def _opening(self) -> list[tuple[int, bytes]]:
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return []
        if b" 101 " not in head:
            raise ConnectionError(bytes(head).decode())
        self._received, self._is_open = rest, True
        return [(OPENING, b"")]

    def _next(self) -> tuple[int, bytes] | None:
        received = self._received
        if len(received) < 2:
            return None
        kind, size, start = received[0], received[1], 2
        if size > MAX_SHORT_BYTES:
            start = 4 if size == MAX_SHORT_BYTES + 1 else 10
            size = int.from_bytes(received[2:start], "big")
        if len(received) < start + size:
            return None
        payload = bytes(received[start : start + size])
        del received[: start + size]
        return kind, payload


class Players:
    """Plays sessions with a server, on several connections at once.

    Attributes:
        sessions: how many were completed.
        latencies: seconds of all steps.
    """

    def __init__(self, url: str, steps: int) -> None:
        """
        Args:
            url: of the server's WebSockets.
            steps: of a session.
        """
        self._url, self._steps = url, steps
        self._selector = selectors.DefaultSelector()
        self._end = 0.0
        self.sessions = 0
        self.latencies: list[float] = []

    def play(self, connections: int, seconds: float) -> None:
        """Plays until the time is up, a session is complete, and all answers due have come."""
        self._end = time.perf_counter() + seconds
        for _ in range(connections):
            self._begin()
        try:
            while self._selector.get_map():
                ready = self._selector.select(PATIENCE)
                if not ready:
                    raise TimeoutError(f"the server has not answered for {PATIENCE:g} s")
                for key, _ in ready:
                    key.data.read()
        finally:
            for key in list(self._selector.get_map().values()):
                key.data.stream.socket.close()
            self._selector.close()

    def _begin(self) -> None:
        player = _Player(Stream(self._url), self)
        self._selector.register(player.stream.socket, selectors.EVENT_READ, player)

    def is_over(self, steps: int) -> bool:
        """Returns whether a session with so many steps ends here; counts one that is complete."""
        is_complete = steps == self._steps
        self.sessions += is_complete
        is_late = self.sessions > 0 and time.perf_counter() > self._end
        return is_complete or is_late

    def leave(self, stream: Stream) -> None:
        """Ends a connection, and begins another unless the time is up."""
        self._selector.unregister(stream.socket)
        stream.socket.close()
        if time.perf_counter() < self._end:
            self._begin()


class _Player:
    """Plays one session: resets, makes steps, closes."""

    def __init__(self, stream: Stream, players: Players) -> None:
        self.stream, self._players = stream, players
        self._sent = 0.0
        # number of the last answer; that of a reset is 0
        self._steps = -1

    def read(self) -> None:
        """Does what follows from what has arrived."""
        for kind, payload in self.stream.read():
            if kind == TEXT:
                self._on_answer(payload)
            elif kind == OPENING:
                self.stream.send(RESET)
            elif kind == PING:
                self.stream.send(frame(PONG, payload))
            elif kind == CLOSE:
                self.stream.send(CLOSED)
                self._players.leave(self.stream)
                return
            else:
                raise AssertionError(f"a frame that begins with {kind:#x}")

    def _on_answer(self, payload: bytes) -> None:
        now = time.perf_counter()
        self._steps += 1
        found = NUMBER.search(payload)
        if found is None or float(found[1]) != self._steps:
            raise AssertionError(f"expected an observation of {self._steps}: {payload!r}")
        if self._steps:
            self._players.latencies.append(now - self._sent)
        if self._players.is_over(self._steps):
            self.stream.send(END)
            return
        self._sent = time.perf_counter()
        self.stream.send(STEP)


def spin(url: str, action: int) -> Stream:
    """Returns a session whose step has begun and will not end; its socket ends it."""
    stream = Stream(url)
    for message in (RESET, frame(TEXT, b'{"type": "step", "data": {"action": %d}}' % action)):
        while not stream.read():
            pass
        stream.send(message)
    return stream
