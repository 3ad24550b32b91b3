"""PlayerProcess: a module of this folder that plays jobs in a process with other packages.

Its input has a line of JSON for each job, and it answers with a line. What it prints besides is
shown if it ends without an answer.
"""

from __future__ import annotations

import atexit
import functools
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SAME = "the same"
ANSWER = "answer: "


def has_packages(folder: Path, versions: Mapping[str, str]) -> bool:
    """Returns whether the packages are there, in their folder or on the path."""
    if folder.exists():
        return True
    try:
        return all(importlib.metadata.version(name) == it for name, it in versions.items())
    except importlib.metadata.PackageNotFoundError:
        return False


def ask(module: str, folder: Path, job: Mapping[str, Any], opengl: str = "disabled") -> str:
    """Returns the answer of a module to a job.

    Args:
        module: its name.
        folder: of packages that come before the environment's, if it exists.
        job: what it gets.
        opengl: MUJOCO_GL of the process.
    """
    player = _player(module, folder, opengl)
    assert player.stdin is not None and player.stdout is not None
    player.stdin.write(json.dumps(job) + "\n")
    player.stdin.flush()
    said = []
    for line in player.stdout:
        said.append(line)
        if line.startswith(ANSWER):
            return line.removeprefix(ANSWER).strip()
    raise AssertionError("".join(said))


@functools.cache
def _player(module: str, folder: Path, opengl: str) -> subprocess.Popen[str]:
    """Starts a process, which plays all that is asked for: importing takes seconds."""
    paths = [str(folder)] if folder.exists() else []
    paths += filter(None, (os.environ.get("PYTHONPATH"), str(ROOT)))
    player = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MUJOCO_GL": opengl},
    )
    # without input it ends
    assert player.stdin is not None
    atexit.register(player.stdin.close)
    return player


def answer_all(answer: Callable[[Any], str]) -> None:
    """Answers all jobs; in the other process."""
    for line in sys.stdin:
        print(ANSWER + " ".join(answer(json.loads(line)).split()), flush=True)
