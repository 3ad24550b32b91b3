"""Runs a program that compares us with EnvPool's wheel on the newest one, in a newer Python.

    python -m integration.compare.newest_envpool envpool_api
    python -m integration.compare.newest_envpool envpool_atari --subject parallel_pool

EnvPool from 1.2.6 on needs Python 3.12. `make .venv/envpool-1.2.7` installs it, if it finds such a
Python, with all that the programs import into a folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.scenes.newest_envpool import newest_envpool
from parallel_pool._bench.player_proxy import environment

FOLDER = newest_envpool.place
HERE = Path(__file__).resolve().parent


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of this folder; its output is captured."""
    command = [FOLDER / "python", "-m", f"integration.compare.{program}", *arguments]
    env = {**environment(FOLDER.name), "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def main(words: Sequence[str]) -> int:
    if not words or not (HERE / f"{words[0]}.py").exists():
        print(__doc__)
        return 2
    if not FOLDER.exists():
        print(f"{FOLDER} is not there: make {os.path.relpath(FOLDER)}")
        return 2
    done = run(*words)
    print(done.stdout + done.stderr, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
