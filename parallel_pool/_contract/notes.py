"""Notes: what a process is doing, in a file in memory. A crash writes nothing any more."""

from __future__ import annotations

import mmap

# of the file
NOTE_BYTES = 256


class Notes:
    """What the child is doing, in memory that outlives it."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, NOTE_BYTES)

    def write(self, text: str) -> None:
        """Notes what is done from now on."""
        data = text.encode()[: NOTE_BYTES - 1]
        self._memory[: len(data) + 1] = data + b"\0"

    def read(self) -> str:
        """Returns the last note."""
        return bytes(self._memory[:]).partition(b"\0")[0].decode(errors="replace")

    def callback(self, name: str, env_id: int) -> None:
        """Notes the call of a callback; env_id -1: of no single environment."""
        self.write(name if env_id < 0 else f"{name} of environment {env_id}")
