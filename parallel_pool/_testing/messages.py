"""Messages: what the process of the checks and its parent tell each other.

The parent process reads lines of JSON from a pipe, and from a file in memory what the child is
doing: a crash writes nothing any more.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# of the file in memory
NOTE_BYTES = 256
# names of what is reported besides the checks
LOAD, SPEED = "the definition can be loaded", "speed"
# the check after whose failure no other makes sense
STOPPING = "callbacks write all of their rows, and nothing else"
# the check after which an environment should get a check_state, and the words that say so
FORGED = "forged snapshots are refused or do no harm"
ADD_CHECK = ". Add check_state, which refuses states that no environment can have"


@dataclass(frozen=True)
class Job:
    """What a child checks.

    Attributes:
        task_id: of the environment, if it is not loaded from a library.
        library, symbol: where the definition is, else "".
        options: of the environment.
        sanitized: whether the library reports its errors itself: rows have no zones then.
        speed: whether to measure the speed.
    """

    task_id: str = ""
    library: str = ""
    symbol: str = ""
    options: Mapping[str, Any] | None = None
    sanitized: bool = False
    speed: bool = False

    def text(self) -> str:
        """Returns the job as an argument of a command."""
        return json.dumps(asdict(self))


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
