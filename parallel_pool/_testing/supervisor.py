"""Supervisor: starts the child process of the checks, and turns its end into sentences."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from parallel_pool._contract.check_names import ADD_CHECK, FORGED
from parallel_pool._contract.notes import NOTE_BYTES, Notes
from parallel_pool._prover.endings import signal_name
from parallel_pool._testing.messages import LOAD, Job
from parallel_pool._workers.start import anonymous_file

# seconds that the system's timeouts can count, some of them as nanoseconds
MAX_SECONDS = 1e9
# seconds in which the child must report that it has begun
START = 60.0
NO_START = f"the process of the checks has not begun within {START:g} s: the machine is very busy"
# lines of the child's stderr that a message repeats
SHOWN_LINES = 12
# bytes of it that are read, the last ones: a sanitizer's report is among them
MAX_ERRORS = 1 << 18
# the first line of a sanitizer's report, and a frame of it
ADDRESS = re.compile(r"ERROR: AddressSanitizer: ([^\n]*)")
FRAME = re.compile(r"^\s*#\d+ \S+ in (\S+) (.+?):(\d+)", re.MULTILINE)
UNDEFINED = re.compile(r"^(.+?:\d+:\d+): runtime error: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """What became of one check.

    Attributes:
        check: its name.
        passed: whether the environment passed it.
        text: why not, a sentence; or the result of a measurement.
    """

    check: str
    passed: bool
    text: str = ""


def run(
    job: Job,
    timeout: float,
    show: Callable[[Line], None],
    environment: Mapping[str, str] | None = None,
    source: Path | None = None,
) -> str:
    """Runs the checks of a job in a child process, and reports each when it is done.

    Args:
        job: what to check.
        timeout: seconds for one check.
        show: called with each check.
        environment: variables of the child, in addition to this process's.
        source: of the library; frames of a sanitizer's report that lie in it are shown.

    Returns:
        How the child ended: "", "crashed" or "endless".
    """
    shared = anonymous_file.create("notes")
    with os.fdopen(shared, "r+b") as memory, tempfile.TemporaryFile() as errors:
        memory.truncate(NOTE_BYTES)
        notes = Notes(memory.fileno())
        reader, writer = os.pipe()
        child = _start(job, (writer, memory.fileno()), errors, environment)
        os.close(writer)
        in_time = is_done = False
        try:
            with os.fdopen(reader, "rb", buffering=0) as pipe:
                check, in_time, is_done = _follow(pipe, timeout, show)
        finally:
            # in time: the pipe is closed, and the process ends
            if not (in_time and _has_ended(child)):
                child.kill()
            status = child.wait()
        cure = ADD_CHECK if check == FORGED else ""
        if not in_time:
            text = endless(notes.read(), timeout) + cure if check else NO_START
            show(Line(check or LOAD, False, text))
            return "endless"
        # the environment may have called exit(0)
        if status or not is_done:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - MAX_ERRORS))
            text = errors.read().decode(errors="replace")
            show(Line(check or LOAD, False, crash(status, notes.read(), text, source) + cure))
            return "crashed"
    return ""


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Returns whether a child ends within some seconds, in which a sanitizer writes its report."""
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        return False
    return True


def _start(
    job: Job, fds: tuple[int, int], errors: IO[bytes], environment: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    numbers = [str(number) for number in (*fds, os.getpid())]
    # the child finds this package where this process did, installed or not
    path = [entry for entry in sys.path if entry]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **(environment or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "parallel_pool._testing.child", job.text(), *numbers],
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stderr=errors,
        env=env,
    )


def _follow(
    pipe: IO[bytes], timeout: float, show: Callable[[Line], None]
) -> tuple[str, bool, bool]:
    """Shows the checks that are reported.

    Returns:
        The check that was running when the pipe was closed, whether that was in time, and whether
        all were done. The check is "" if the process has not begun with any.
    """
    check, rest, is_done = "", b"", False
    timeout = min(timeout, MAX_SECONDS)
    # until the first report Python starts, which the environment can't make faster
    deadline = time.monotonic() + max(timeout, START)
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return check, False, is_done
        data = pipe.read(65536)
        if not data:
            return check, True, is_done
        *lines, rest = (rest + data).split(b"\n")
        for each in map(json.loads, lines):
            if "end" in each:
                is_done = True
            elif "check" in each:
                check = each["check"]
            elif check != LOAD or not each["done"]:
                show(Line(check, each["done"], each.get("text", "")))
            deadline = time.monotonic() + timeout


# --------------------------------------------------------------------------------- sentences --


def endless(note: str, timeout: float) -> str:
    """Returns the sentence for a child that did not report in time."""
    where = f"{note} did not return" if note else "a step or a reset did not return"
    return (
        f"{where} within {timeout:g} s: look for a loop that never ends, or give it more time with"
        " --timeout"
    )


def crash(status: int, note: str, errors: str, source: Path | None) -> str:
    """Returns the sentence for a child that ended by itself."""
    found = sanitizer_report(errors, source)
    if found:
        return found
    where = f" in {note}" if note else ""
    if status < 0:
        name = signal_name(-status)
        return (
            f"the process ended with {name}{where}: look for a wrong pointer, an index beyond an"
            " array, or a call of abort; the sanitizers below name the line"
        )
    lines = "\n".join(errors.strip().splitlines()[-SHOWN_LINES:])
    return f"the process ended with status {status}{where}: nothing may call exit\n{lines}".rstrip()


def sanitizer_report(errors: str, source: Path | None) -> str:
    """Returns what a sanitizer found, with the line of the source; "" if it found nothing."""
    undefined = UNDEFINED.search(errors)
    address = ADDRESS.search(errors)
    if undefined and (not address or undefined.start() < address.start()):
        return f"{undefined[1]}: {undefined[2]}"
    if not address:
        return ""
    kind = re.split(r" on |:", address[1])[0].strip()
    access = re.search(r"^((?:READ|WRITE) of size \d+)", errors, re.MULTILINE)
    frames = [
        (function, f"{source}:{line}")
        for function, path, line in FRAME.findall(errors)
        if source is not None and Path(path).name == source.name
    ]
    at = f"{frames[0][1]}, in {frames[0][0]}: " if frames else ""
    return f"{at}{kind}{f' ({access[1]})' if access else ''}"
