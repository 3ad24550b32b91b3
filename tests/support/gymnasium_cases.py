"""What the tests of Gymnasium's API share."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from gymnasium.vector import AutoresetMode

MODES = list(AutoresetMode)


def name_of(mode: AutoresetMode) -> str:
    return mode.name


def run_python(script: str) -> str:
    """Runs a script in a fresh interpreter and returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
