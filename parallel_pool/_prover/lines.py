"""Lines: which lines and branches of a source in C the played scripts reached, by gcov."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parallel_pool._prover.match import CHUNK
from parallel_pool._prover.player import ERROR, PROCESS
from parallel_pool._prover.remote import Remote
from parallel_pool._prover.script import Script
from parallel_pool._prover.target import Native
from parallel_pool._source import program, toolchain
from parallel_pool.errors import MissingDependencyError, SourceError


@dataclass(frozen=True)
class Lines:
    """What was reached.

    Attributes:
        reason: why nothing was measured, a clause; "": it was.
        source: the file.
        total, reached: lines with code.
        branches, branches_reached: directions that conditions can take.
        missed: number and text of each line that was not reached.
    """

    reason: str = ""
    source: str = ""
    total: int = 0
    reached: int = 0
    branches: int = 0
    branches_reached: int = 0
    missed: tuple[tuple[int, str], ...] = ()


def measure(target: Native, scripts: Sequence[Script], timeout: float, deadline: float) -> Lines:
    """Plays scripts again, with a library that counts; returns what they reach.

    Args:
        target: our side.
        scripts: what was played.
        timeout: seconds for a part of a script.
        deadline: on the clock of time.monotonic, after which no other script is begun.
    """
    source = target.source()
    if source is None:
        return Lines("the source is needed: name the .c file")
    try:
        command = gcov_command(toolchain.is_cpp(source))
        if command is None:
            return Lines("there is no gcov beside the compiler: install gcc, or let CC name it")
        with tempfile.TemporaryDirectory(prefix="pp-lines-") as name:
            folder = Path(name)
            library, _, _ = toolchain.build(source, folder, coverage=True)
            reason = _play(replace(target, library=str(library)), scripts, timeout, deadline)
            if reason:
                return Lines(reason)
            done = program.run([*command, "--json-format", "-b", "own.gcda"], folder)
            if done.status:
                return Lines(f"{command[0]} failed: {done.err.strip()[:200]}")
            with gzip.open(folder / "own.gcov.json.gz") as file:
                return _read(json.load(file), source)
    except (SourceError, MissingDependencyError, ValueError, OSError) as error:
        return Lines(str(error))


def gcov_command(cpp: bool) -> list[str] | None:
    """Returns the gcov of the compiler, None if it has none that writes JSON."""
    compiler = toolchain.compiler(cpp=cpp)
    if "clang" in compiler.version:
        return None
    done = program.run([*compiler.command, "-print-prog-name=gcov"])
    found = shutil.which(done.out.strip()) if done.status == 0 else None
    return [found] if found else None


def _play(target: Native, scripts: Sequence[Script], timeout: float, deadline: float) -> str:
    """Plays scripts; returns why that is no use, "" if it is."""
    side = Remote(target, 10 * timeout)
    try:
        for script in scripts:
            if time.monotonic() > deadline:
                break
            if side.open(script.case, script.num_envs):
                continue
            for start in range(0, len(script.events), CHUNK):
                side.begin(script.events[start : start + CHUNK])
                last = side.finish()[-1]
                if PROCESS in last:
                    return "the process ended before it had written its counters"
                if ERROR in last:
                    # on both sides: the rest was not played either
                    break
    finally:
        side.close()
    return ""


def _read(found: Any, source: Path) -> Lines:
    """Returns what gcov says of the source; lines of several functions are added up."""
    counts: dict[int, int] = {}
    branches: dict[tuple[int, int], int] = {}
    for file in found["files"]:
        if Path(file["file"]).name != source.name:
            continue
        for line in file["lines"]:
            number = line["line_number"]
            counts[number] = counts.get(number, 0) + line["count"]
            for at, branch in enumerate(line["branches"]):
                branches[number, at] = branches.get((number, at), 0) + branch["count"]
    text = source.read_text(errors="replace").splitlines()
    missed = tuple((n, text[n - 1].strip()) for n in sorted(counts) if not counts[n])
    return Lines(
        source=str(source),
        total=len(counts),
        reached=len(counts) - len(missed),
        branches=len(branches),
        branches_reached=sum(map(bool, branches.values())),
        missed=missed,
    )
