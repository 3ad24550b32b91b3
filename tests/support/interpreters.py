"""Other interpreters: virtual environments in which tests run workers.

`make` makes those of Python 3.9 and 3.13, if it finds these, which tests use without OTHER_PYTHONS.
`python -m tests.support.interpreters FOLDER [VERSION ...]` makes those of these versions, or of
all that it finds (it needs pip's index), and prints the value of OTHER_PYTHONS that names them.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# environment variable: paths of interpreters, separated as in PATH
VARIABLE = "OTHER_PYTHONS"
# what make has made
MADE = Path(sys.prefix) / "worker-pythons"
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
    """Returns the interpreters that OTHER_PYTHONS names; without it, those that make has made."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return [str(path) for path in sorted(MADE.glob("*/bin/python"))]
    return [path for path in named.split(os.pathsep) if path]


def main(folder: Path, *versions: str) -> None:
    """Makes an environment for each of these versions, or of all, whose Python is found."""
    # the search that make uses: it skips pyenv's shims of versions that are not selected
    find = runpy.run_path(str(ROOT / ".ci" / "other_pythons.py"))["find"]
    made = []
    for version in versions or WANTED:
        python = find(version)
        if python is None:
            print(f"no Python {version}", file=sys.stderr)
            continue
        there = folder / version
        try:
            subprocess.run([python, "-m", "venv", str(there)], check=True)
            subprocess.run([str(there / "bin/pip"), "install", "-q", *WANTED[version]], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            # such as a system's Python without the module venv
            shutil.rmtree(there, ignore_errors=True)
            print(f"no environment of Python {version}: {error}", file=sys.stderr)
            continue
        made.append(str(there / "bin/python"))
    print(f"{VARIABLE}={os.pathsep.join(made)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
