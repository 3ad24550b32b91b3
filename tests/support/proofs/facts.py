"""What else the bits of a proven test depend on: the machine, the compiler, installed packages.

The machine names a part of the table of proofs, so that several machines can have proofs. The rest
is hashed with the sources.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_features__ as cpu_features
from packaging.requirements import Requirement

import build_ffi
from tests.support.proofs import kept

# by which the C library, NumPy, MuJoCo and our own code choose instructions
FEATURES = ("SSE42", "AVX2", "FMA3", "AVX512F", "AVX512_SKX", "AVX512_ICL", "AVX512_SPR", "SVE")
# which run tests and change no bit
RUNNERS = {"pytest", "_pytest"}
# what packages import for some of their environments, by extras that have more than we install
ALSO = {"pettingzoo": ["multi_agent_ale_py"]}
# the Makefile installs references beside the environment, in folders of these names
BESIDE = (
    *("dm-control-*", "gymnasium-robotics-*", "mujoco-*", "procgen-reference", "rejax-*"),
    *("training-libraries", "meta-world-*/lib/python*/site-packages"),
)


@cache
def machine() -> str:
    """Returns the processor's kind, the C library, the compiler and Python, in words."""
    features = " ".join(name for name in FEATURES if cpu_features.get(name))
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    library = " ".join(platform.libc_ver()) or platform.platform()
    return f"{platform.machine()} {features}, {library}, {_compiler()}, {python}"


@cache
def _compiler() -> str:
    command = [*build_ffi.Toolchain({}).cc, "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said.partition("\n")[0]


@cache
def flags(sanitizers: str = "") -> str:
    """Returns the flags of the engine's build with sanitizers, without folders."""
    environ = {**os.environ, "PP_SANITIZE": sanitizers} if sanitizers else os.environ
    tools = build_ffi.Toolchain(environ)
    words = [*tools.cc, *tools.own_flags, *tools.link_flags]
    return " ".join(word for word in words if not word.startswith("-I") and word != "-Werror")


def packages(names: Iterable[str]) -> list[str]:
    """Returns names and versions of packages with what they need, and of those that lie beside.

    Args:
        names: of modules at the top level; those of Python's library do not count.
    """
    providers = _providers()
    found: set[str] = set()
    left = [each for name in {*names, "numpy"} - RUNNERS for each in providers.get(name, ())]
    while left:
        name = _normal(left.pop())
        if name in found or not _version(name):
            continue
        found.add(name)
        left += _needs(name)
    # our own version is no reason
    found.discard("parallel-pool")
    return [*(f"{name} {_version(name)}" for name in sorted(found)), *_beside()]


@cache
def _providers() -> dict[str, list[str]]:
    """Returns which packages have a module; it depends on which are installed."""
    folders = (Path(folder) for folder in sys.path)
    installed = sorted({path.name for folder in folders for path in folder.glob("*.dist-info")})
    found = kept.of_proofs.found(
        "providers", "\n".join(installed).encode(), lambda: dict(metadata.packages_distributions())
    )
    return dict(found)


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


@cache
def _needs(name: str) -> list[str]:
    every = [Requirement(each) for each in metadata.requires(name) or []]
    here = [each for each in every if not each.marker or each.marker.evaluate({"extra": ""})]
    return [*(each.name for each in here), *ALSO.get(name, ())]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def _beside() -> tuple[str, ...]:
    return tuple(sorted(_metadata()))


def _metadata() -> Iterator[str]:
    for pattern in BESIDE:
        for path in Path(sys.prefix).glob(f"{pattern}/*.dist-info"):
            yield f"{path.parent.name}/{path.stem}"
