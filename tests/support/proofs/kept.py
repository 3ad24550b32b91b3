"""What takes long to find out of a text, kept between runs, and for all pytest workers.

It is found again by the hash of the text, and of the code that found it out. So neither the time of
a file nor its size matters: a file that has changed in any way has other answers.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import parallel_pool._prove_atari.sources as atari_sources

# answers in the file; a run asks for two thousand
MAX_ANSWERS = 10_000


class Kept:
    """Answers in a file.

    Attributes:
        path: of the file, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.new: dict[str, Any] = {}

    def found(self, question: str, content: bytes, find: Callable[[], Any]) -> Any:
        """Returns what is kept for a text, or calls `find` for it.

        Args:
            question: what is found out.
            content: all on which the answer depends.
            find: returns the answer, of which JSON can write every part.
        """
        parts = code(), question.encode(), content
        key = hashlib.sha256(b"\0".join(parts)).hexdigest()
        if key not in self.known:
            self.known[key] = self.new[key] = find()
        return self.known[key]

    def write(self) -> None:
        """Keeps what is new; of processes that write at the same time, the last one's."""
        if not self.new:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        every = {**self.read(), **self.new}
        with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False) as file:
            json.dump(dict(list(every.items())[-MAX_ANSWERS:]), file)
        Path(file.name).replace(self.path)
        self.new.clear()

    @cached_property
    def known(self) -> dict[str, Any]:
        return self.read()

    def read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.path.read_text()))
        except (OSError, ValueError):
            # there is none yet, or it is damaged
            return {}


@cache
def code() -> bytes:
    """Returns the hash of the code that finds out; Python's version decides what it parses."""
    files = [*sorted(Path(__file__).parent.glob("*.py")), Path(atari_sources.__file__)]
    parts = [sys.version.encode(), *(file.read_bytes() for file in files)]
    return hashlib.sha256(b"\0".join(parts)).digest()


# make clean removes it
of_proofs = Kept(Path(__file__).resolve().parents[3] / "build" / "proofs.json")
