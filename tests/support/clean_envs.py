"""Virtual environments with a wheel and its declared dependencies, and nothing else.

They equal what `pip install 'parallel_pool[extra]'` makes, but need no network: packages are linked
from this interpreter's own environment. What is not declared can't be imported.
"""

from __future__ import annotations

import email
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from email.message import Message
from functools import cache
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SITE = Path(sysconfig.get_path("purelib"))


@cache
def metadata_of(wheel: Path) -> Message:
    """Returns what a wheel says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def wanted(requirements: Iterable[str], extras: Iterable[str]) -> Iterator[Requirement]:
    """Yields the requirements that apply to this interpreter, with these extras."""
    environments = [{"extra": extra} for extra in ("", *extras)]
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is None or any(marker.evaluate(environment) for environment in environments):
            yield requirement


def closure(metadata: Message, extras: Iterable[str]) -> dict[str, Distribution]:
    """Returns all distributions that a wheel with these extras installs, by name.

    Extras may refer to other extras, in the wheel as in its dependencies.
    """
    own = canonicalize_name(metadata["Name"])
    lists: dict[str, list[str]] = {own: metadata.get_all("Requires-Dist", [])}
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    open_ = [(own, frozenset(extras))]
    while open_:
        name, its_extras = open_.pop()
        if (name, its_extras) in seen:
            continue
        seen.add((name, its_extras))
        for requirement in wanted(lists[name], its_extras):
            needed = canonicalize_name(requirement.name)
            if needed != own and needed not in found:
                found[needed] = distribution(needed)
                lists[needed] = found[needed].requires or []
            if needed != own:
                version = found[needed].version
                assert requirement.specifier.contains(version, prereleases=True), requirement
            open_.append((needed, frozenset(requirement.extras)))
    return found


def parts(found: Distribution) -> set[tuple[str, ...]]:
    """Returns the files of a distribution, as parts of paths, without scripts and bytecode."""
    paths = (path.parts for path in found.files or ())
    return {path for path in paths if path[0] not in ("..", "__pycache__")}


@cache
def owners() -> Counter[str]:
    """Counts the installed distributions that have files in each folder of site-packages."""
    return Counter(name for each in distributions() for name in {path[0] for path in parts(each)})


def link(found: Distribution, site: Path) -> None:
    """Links a distribution into another site-packages."""
    for path in parts(found):
        # a folder that several share is linked file by file
        shared = len(path) > 1 and owners()[path[0]] > 1
        there = site.joinpath(*path) if shared else site / path[0]
        if not there.is_symlink():
            there.parent.mkdir(parents=True, exist_ok=True)
            there.symlink_to(Path(str(found.locate_file(""))).joinpath(there.relative_to(site)))


def bare(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """Makes an environment with only a wheel; returns its Python and its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--quiet", wheel], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    return python, site


def clean(folder: Path, wheel: Path, metadata: Message, extras: Iterable[str]) -> Path:
    """Makes an environment as pip would with these extras; returns its Python."""
    python, site = bare(folder, wheel)
    for each in closure(metadata, extras).values():
        link(each, site)
    return python


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs another Python without the PYTHON* variables of this process, at home in `cwd`.

    What programs write to the user's home, such as Minari's datasets, would change later runs.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"HOME": str(cwd)}
    return subprocess.run(
        [python, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
