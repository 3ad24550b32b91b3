"""Other interpreters: virtual environments in which tests run workers.

`python -m tests.support.interpreters FOLDER` makes them, for each Python that it finds (it needs
pip's index), and prints the value of OTHER_PYTHONS with which tests use them.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# environment variable: paths of interpreters, separated as in PATH
VARIABLE = "OTHER_PYTHONS"
# for each version of Python, what its virtual environment has
WANTED = {
    "3.9": ("numpy<2", "gymnasium==0.29.1", "cffi"),
    "3.10": ("numpy<2", "gymnasium==1.1.1", "cffi"),
    "3.11": ("numpy<2", "gymnasium==0.29.1", "cffi"),
    "3.12": ("numpy<2", "gymnasium==0.29.1", "cffi"),
    "3.13": ("numpy>=2", "gymnasium>=1.4", "cffi"),
    "3.14": ("numpy>=2", "gymnasium>=1.4", "cffi"),
}


def others() -> list[str]:
    """Returns the interpreters that OTHER_PYTHONS names."""
    return [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]


def main(folder: Path) -> None:
    # the search that make uses: it skips pyenv's shims of versions that are not selected
    find = runpy.run_path(str(ROOT / ".ci" / "other_pythons.py"))["find"]
    made = []
    for version, packages in WANTED.items():
        python = find(version)
        if python is None:
            print(f"no Python {version}", file=sys.stderr)
            continue
        there = folder / version
        subprocess.run([python, "-m", "venv", str(there)], check=True)
        subprocess.run([str(there / "bin/pip"), "install", "-q", *packages], check=True)
        made.append(str(there / "bin/python"))
    print(f"{VARIABLE}={os.pathsep.join(made)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
