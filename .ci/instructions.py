"""Counts the instructions of a part of a program, with valgrind's callgrind.

The program marks the part with `counted`. What comes before and after it, such as imports, is not
counted, and runs ten times as fast. Unlike a time, the number does not depend on what else the
machine does: that of a pool's step differs by half a percent at most. valgrind shows programs a
processor with AVX2 and without AVX-512.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

# what the program loads; callgrind notices the calls
MARKS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; }
void end(void) { CALLGRIND_DUMP_STATS; CALLGRIND_STOP_INSTRUMENTATION; }
"""
# the variable with the path of that library
LIBRARY = "PP_CALLGRIND_MARKS"


class Unavailable(Exception):
    """Says in one sentence what is missing."""


def count(command: Sequence[str | Path], **env: str) -> int:
    """Runs a program under valgrind; returns the number of instructions of the part that it marks.

    Raises:
        Unavailable: valgrind or its header is missing.
        RuntimeError: the program failed, or marked no part.
    """
    if shutil.which("valgrind") is None:
        raise Unavailable("valgrind was not found, which counts instructions: install valgrind")
    with tempfile.TemporaryDirectory(prefix="callgrind-") as name:
        folder = Path(name)
        out = folder / "out"
        options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        words = ["valgrind", *options, *(str(word) for word in command)]
        # the order of sets of strings must not differ between runs
        env = {**os.environ, "PYTHONHASHSEED": "0", LIBRARY: str(compile_marks(folder)), **env}
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        counts = folder / "out.1"
        if done.returncode or not counts.exists():
            raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return total(counts.read_text())


def compile_marks(folder: Path) -> Path:
    source, library = folder / "marks.c", folder / "marks.so"
    source.write_text(MARKS)
    compiler = os.environ.get("CC", "gcc")
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", source, "-o", library],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"{compiler} can't compile with valgrind/callgrind.h:\n{done.stderr}")
    return library


def total(text: str) -> int:
    """Returns the sum of a file of callgrind's."""
    (found,) = re.findall(r"^totals: (\d+)$", text, re.MULTILINE)
    return int(found)


# ---------------------------------------------------------------------------- in the program --


@contextlib.contextmanager
def counted() -> Iterator[None]:
    """Marks what is counted, in a program that `count` runs; otherwise does nothing."""
    path = os.environ.get(LIBRARY)
    marks = ctypes.CDLL(path) if path else None
    if marks:
        marks.begin()
    yield
    if marks:
        marks.end()
