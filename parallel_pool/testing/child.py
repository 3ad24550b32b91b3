"""Child: the process that runs the checks, so that a crash or an endless step ends only it.

The parent process reads lines of JSON from a pipe, and from a file in memory what the child is
doing: a crash writes nothing any more.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from parallel_pool import registry
from parallel_pool.errors import EnvError, PoolError
from parallel_pool.specs import Definition
from parallel_pool.testing import guards, speed, suite
from parallel_pool.testing.play import ContractError

# of the file in memory
NOTE_BYTES = 256
# names of what is reported besides the checks
LOAD, SPEED = "the definition can be loaded", "speed"
# the check after whose failure no other makes sense
STOPPING = suite.NATIVE_CHECKS[0].name


@dataclass(frozen=True)
class Job:
    """What a child checks.

    Attributes:
        env_id: of the environment, if it is not loaded from a library.
        library, symbol: where the definition is, else "".
        options: of the environment.
        sanitized: whether the library reports its errors itself: rows have no zones then.
        speed: whether to measure the speed.
    """

    env_id: str = ""
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


def main(job_text: str, pipe: int, note_file: int) -> None:
    """Runs the checks of a job, and reports each to the parent process."""
    job = Job(**json.loads(job_text))
    notes = Notes(note_file)

    def report(**line: Any) -> None:
        os.write(pipe, (json.dumps(line) + "\n").encode())

    report(check=LOAD)
    notes.write("the library's constructors" if job.library else "")
    options = dict(job.options or {})
    found = outcome(lambda: find(job).configure(registry.complete(find(job), options)))
    if not found["done"]:
        report(**found)
        return
    definition = find(job)
    report(done=True)
    few = job.sanitized
    for check in suite.NATIVE_CHECKS:
        notes.write("")
        report(check=check.name)
        more: dict[str, Any] = {"few": few}
        if check.name == STOPPING:
            more |= {"told": notes.callback, "zone": 0 if job.sanitized else guards.ZONE}
        found = outcome(partial(check, definition, options=options, **more))
        report(**found)
        if check.name == STOPPING:
            if not found["done"]:
                return
            few = few or suite.is_expensive(definition, options=options)
    if job.speed:
        report(check=SPEED)
        report(done=True, text=speed.report(definition, options))


def find(job: Job) -> Definition:
    """Returns the definition of a job."""
    if not job.library:
        return registry.find(job.env_id)
    return registry.open_library(job.library, job.symbol)[0]


def outcome(run: Callable[[], Any]) -> dict[str, Any]:
    """Runs a check; returns the line that reports it."""
    try:
        run()
    except (ContractError, EnvError) as error:
        return {"done": False, "text": str(error)}
    except (ValueError, TypeError) as error:
        return {"done": False, "text": str(error)}
    except (PoolError, MemoryError) as error:
        return {"done": False, "text": f"{type(error).__name__}: {error}"}
    return {"done": True}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
