"""Runs tests of a wheel where it must work and this machine is not: on aarch64, on an old Linux.

    python .ci/foreign_tests.py prepare PLACE        downloads what the place needs, and builds it
    python .ci/foreign_tests.py PLACE TREE ARG ...   runs pytest in a tree with an unpacked wheel
    python .ci/foreign_tests.py c PLACE ARG ...      runs pytest here, on C programs for the place

    aarch64     Debian 12 under qemu
    bullseye    Debian 11, whose C library is of 2020, with a Python 3.11 that is built there

A test that needs a package which has no wheel for the place, or takes a gigabyte, is skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import foreign_root
import wheels

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    *("numpy", "gymnasium", "cffi", "cloudpickle", "mujoco", "imageio", "packaging", "ale-py"),
    *("pettingzoo", "mpe2", "dm-env", "pytest", "pytest-xdist", "hypothesis"),
)
# tests that import one of these are skipped; those that compile our sources import setuptools
MISSING = (
    *("Box2D", "cv2", "dm_control", "envpool", "gymnasium_robotics", "jax", "minigrid"),
    *("multi_agent_ale_py", "procgen", "ray", "rich", "setuptools", "stable_baselines3", "torch"),
)
# Debian 12's
PYTHON_SOURCE = f"{foreign_root.MIRROR}/pool/main/p/python3.11/python3.11_3.11.2.orig.tar.gz"
PYTHON_SHA256 = "2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849"
BUILD_PYTHON = """
set -e
cd "$0" && ./configure --quiet --prefix=/usr/local --without-ensurepip && make --silent -j2
make --silent install
"""


@dataclass(frozen=True)
class Place:
    """Another system.

    Attributes:
        name: of the place.
        suite: the Debian.
        architecture: Debian's name of the processor.
        machine: Python's.
        glibc: the minor version of its C library 2.
        packages: Debian's, beside what `variant` has.
        variant: mmdebstrap's: "extract" runs no script of a package.
        qemu: the emulator, "" if this processor runs the programs.
        python: the path of the interpreter, which is built if no package has it.
    """

    name: str
    suite: str
    architecture: str
    machine: str
    glibc: int
    packages: tuple[str, ...]
    variant: str
    qemu: str
    python: str

    @property
    def folder(self) -> Path:
        return Path(sys.prefix) / self.name


def build_python(folder: Path) -> None:
    """Builds Debian 12's Python from its source in the root folder of an older Debian."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        archive = Path(name, "python.tar.gz")
        try:
            urllib.request.urlretrieve(PYTHON_SOURCE, archive)
        except OSError as error:
            raise foreign_root.Unavailable(f"{PYTHON_SOURCE}: {error}") from None
        if hashlib.sha256(archive.read_bytes()).hexdigest() != PYTHON_SHA256:
            raise foreign_root.Unavailable(f"{PYTHON_SOURCE} is another file than it was")
        shutil.unpack_archive(archive, Path(name, "python"), filter="data")
        (tree,) = Path(name, "python").iterdir()
        command = ["/bin/sh", "-c", BUILD_PYTHON, str(tree)]
        if foreign_root.run(folder / "root", command, ROOT, tree, {}, None):
            raise foreign_root.Unavailable("Python 3.11 could not be built")


PLACES = {
    place.name: place
    for place in (
        Place(
            name="aarch64",
            suite="bookworm",
            architecture="arm64",
            machine="aarch64",
            glibc=36,
            # its Python is the oldest that we support
            packages=("python3", "libstdc++6", "gcc", "libc6-dev", "coreutils", "dash"),
            variant="extract",
            qemu="qemu-aarch64-static",
            python="/usr/bin/python3",
        ),
        Place(
            name="bullseye",
            suite="bullseye",
            architecture="amd64",
            machine="x86_64",
            glibc=31,
            packages=("gcc", "make", "libc6-dev", "libffi-dev", "zlib1g-dev", "libstdc++6"),
            variant="minbase",
            qemu="",
            python="/usr/local/bin/python3.11",
        ),
    )
}


def prepare(place: Place) -> None:
    """Downloads what the tests need, unless it is there.

    Raises Unavailable if it can't be had.
    """
    if place.folder.exists():
        return
    partial = place.folder.with_name(f"{place.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    tools = partial / "tools"
    if place.qemu:
        foreign_root.tool(place.qemu, "qemu-user-static", tools)
    root = partial / "root"
    foreign_root.make(root, place.suite, place.architecture, place.packages, place.variant, tools)
    if not (root / place.python.lstrip("/")).exists():
        build_python(partial)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # pip takes no range of platforms
    platforms = [f"manylinux_2_{minor}_{place.machine}" for minor in range(place.glibc, 4, -1)]
    platforms += [f"manylinux{year}_{place.machine}" for year in (2014, 2010, 1)]
    only = [f"--platform={platform}" for platform in platforms]
    only += ["--python-version=3.11", "--only-binary=:all:"]
    wanted = [f"{name}=={version(name)}" for name in PACKAGES]
    target = ["--target", partial / "packages", "--no-compile"]
    subprocess.run([*pip, *only, *target, *wanted], check=True)
    partial.rename(place.folder)


def test(place: Place, tree: Path, arguments: list[str]) -> int:
    """Runs pytest in the tree; returns its exit status.

    Raises Unavailable if this machine can't.
    """
    qemu = emulator(place)
    env = {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": f"{tree}:{place.folder / 'packages'}:{ROOT / '.ci'}",
        "PP_MISSING": ",".join(MISSING),
    }
    options = ["-p", "no:cacheprovider", "-p", "skip_missing", f"--rootdir={tree}"]
    command = [place.python, "-m", "pytest", *options, *arguments]
    return foreign_root.run(place.folder / "root", command, ROOT, tree, env, qemu)


def emulator(place: Place) -> Path | None:
    """Returns the path of the emulator of a place that was prepared; None if it needs none.

    Raises Unavailable if there is none.
    """
    if not place.folder.exists():
        raise foreign_root.Unavailable(f"{place.folder} is missing, which `prepare` makes")
    if not place.qemu:
        return None
    return foreign_root.tool(place.qemu, "qemu-user-static", place.folder / "tools")


def test_c(place: Place, arguments: list[str]) -> int:
    """Runs pytest with a compiler for the place, whose programs run there; returns its status.

    Raises Unavailable if this machine can't.
    """
    qemu = emulator(place)
    try:
        env = wheels.environment(wheels.TARGETS[place.machine], ROOT)
    except wheels.CannotBuild as reason:
        raise foreign_root.Unavailable(str(reason)) from None
    # the stubs of an old C library are for the wheel; a program runs with the root's library
    del env["LDFLAGS"]
    runner = {"PP_RUNNER": f"{qemu} -L {place.folder / 'root'}" if qemu else ""}
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, env={**os.environ, **env, **runner}, check=False).returncode


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["prepare", name] if name in PLACES:
                prepare(PLACES[name])
                return 0
            case ["c", name, *others] if name in PLACES:
                return test_c(PLACES[name], others)
            case [name, tree, *others] if name in PLACES:
                return test(PLACES[name], Path(tree).resolve(), others)
    except foreign_root.Unavailable as reason:
        print(f"skipped: {reason}")
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
