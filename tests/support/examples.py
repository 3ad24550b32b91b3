"""The programs of examples/, run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))
# needs a cluster: tests/apis/cluster runs it
CLUSTER = "ray_cluster"


def output_of(name: str, folder: Path, **variables: str) -> str:
    """Runs an example in a folder; returns what it prints."""
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=folder,
        # the package beside the examples; a cache of libraries of the test's own
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "XDG_CACHE_HOME": str(folder),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout
