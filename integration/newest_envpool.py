"""Runs a program of this folder on the newest EnvPool, in a newer Python.

    python -m integration.newest_envpool compare.envpool_api
    python -m integration.newest_envpool compare.envpool_atari --subject parallel_pool
    python -m integration.newest_envpool training.jax_ppo Pong-v5 --seeds 5

EnvPool from 1.2.6 on needs Python 3.12. `make .venv/envpool-1.2.7` installs it, if it finds such a
Python, with all that the programs import into a folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scenes.newest_envpool import newest_envpool
from parallel_pool._bench.player_proxy import environment

FOLDER = newest_envpool.place
HERE = Path(__file__).resolve().parent


def run(program: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program; `options` are those of `subprocess.run`."""
    command = [FOLDER / "python", "-m", f"integration.{program}", *arguments]
    env = {**environment(FOLDER.name), "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, env=env, text=True, check=False, **options)


def main(words: Sequence[str]) -> int:
    if not words or not HERE.joinpath(*words[0].split(".")).with_suffix(".py").exists():
        print(__doc__)
        return 2
    if not FOLDER.exists():
        print(f"{FOLDER} is not there: make {os.path.relpath(FOLDER)}")
        return 2
    return run(*words).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
