"""Excerpt: what is kept of a stream that may be long: its beginning, and its first error."""

from __future__ import annotations

import re

# bytes that are kept of each part
PART = 8192
# of a line before the words that make it an error
LINE = 512
# of gcc, clang and the linkers
ERROR = re.compile(rb"error: |undefined reference|undefined symbol")


class Excerpt:
    """Keeps at most twice `PART` bytes of what it is given.

    Attributes:
        size: bytes that it was given.
    """

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        # from the line of the first error on, if that is not in the head
        self._error = bytearray()
        # the end of what was searched: an error may begin in it
        self._searched = b""

    def add(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        self.size += len(data)
        room = PART - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        if self._error:
            self._error += rest[: PART - len(self._error)]
        elif rest and not ERROR.search(self._head):
            self._search(rest)

    def _search(self, data: bytes) -> None:
        joined = self._searched + data
        found = ERROR.search(joined)
        if found:
            begin = joined.rfind(b"\n", max(0, found.start() - LINE), found.start()) + 1
            self._error += joined[begin or found.start() :][:PART]
        self._searched = joined[-LINE:]

    def text(self) -> str:
        """Returns what was kept; a line says how much was left out.

        Bytes that are not UTF-8 are shown as \\xff.
        """
        if self.size <= PART:
            return _decoded(self._head)
        parts = [_whole_lines(self._head)]
        if self._error:
            parts.append(_whole_lines(self._error))
        kept = sum(map(len, parts))
        dots = f"[... {self.size - kept} bytes are left out ...]\n"
        return dots.join([*map(_decoded, parts), *([] if self._error else [""])])


def _whole_lines(data: bytearray) -> bytearray:
    """Leaves out the last line, which may be cut; keeps it if it is the only one."""
    end = data.rfind(b"\n") + 1
    return data[:end] if end else data + b"\n"


def _decoded(data: bytes | bytearray) -> str:
    return data.decode(errors="backslashreplace")
