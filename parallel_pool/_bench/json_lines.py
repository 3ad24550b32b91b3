"""Lets a child process answer its parent in lines of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any


@contextmanager
def only_json() -> Iterator[Callable[[Any], None]]:
    """Yields a function that writes a line of JSON to stdout; other output goes to stderr."""
    out = sys.stdout
    with redirect_stdout(sys.stderr):
        yield lambda data: print(json.dumps(data), file=out, flush=True)
