"""Installs the packages that other Pythons need to run the wheel; the tests have no network.

python .ci/other_pythons.py FOLDER    makes FOLDER/3.12, FOLDER/3.13 ... if these Pythons exist
python .ci/other_pythons.py FOLDER VERSION PACKAGE ...    makes FOLDER for one Python

Each of these folders has a link `python` to its interpreter.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

VERSIONS = ("3.12", "3.13", "3.14")
# those of the package, and of the README's programs
PACKAGES = ("ale-py", "cffi >= 1.17", "cloudpickle >= 2.2", "gymnasium >= 1.1", "numpy >= 1.26")


def candidates(version: str) -> Iterator[Path]:
    """Yields the places where an interpreter may be: on the PATH, or in pyenv's folders."""
    found = shutil.which(f"python{version}")
    if found:
        yield Path(found)
    # if pyenv installed this interpreter, its siblings are in the same folder
    roots = [Path(sys.base_prefix).parent, Path.home() / ".pyenv" / "versions"]
    if "PYENV_ROOT" in os.environ:
        roots.append(Path(os.environ["PYENV_ROOT"]) / "versions")
    for root in roots:
        for folder in sorted(root.glob(f"{version}.*"), reverse=True):
            yield folder / "bin" / "python"


def find(version: str) -> Path | None:
    """Returns an interpreter of this version that runs, or None."""
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in candidates(version):
        try:
            # pyenv has shims on the PATH for versions that are not selected; those fail
            done = subprocess.run(
                [python, "-c", script], capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        if done.stdout.strip() == version:
            return python
    return None


def install(version: str, folder: Path, packages: Iterable[str]) -> None:
    """Installs packages for a Python into a new folder; without such a Python, makes none."""
    python = find(version)
    if python is None:
        print(f"no Python {version} was found: what needs it is left out")
        return
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    options = ["--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
    options.append("--root-user-action=ignore")
    subprocess.run([*pip, *options, "--target", folder, *packages], check=True)
    (folder / "python").symlink_to(python.resolve())


def main(folder: Path, version: str = "", *packages: str) -> None:
    """Installs the packages for one version, or those of the tests for each that is found."""
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    if version:
        install(version, partial, packages)
    else:
        partial.mkdir()
        for each in VERSIONS:
            install(each, partial / each, PACKAGES)
    # the final name exists only if everything succeeded
    if partial.exists():
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
