"""Messages: what the process of the checks and its parent tell each other.

The parent process reads lines of JSON from a pipe, and the child's `Notes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# names of what is reported besides the checks
LOAD, SPEED = "the definition can be loaded", "speed"


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
