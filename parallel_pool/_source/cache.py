"""Cache: keeps the libraries that were made of source files, safe for several processes at once.

A library's file name is the hash of its bytes. Beside it is an entry: a file that says from which
contents, with which compiler and flags the library was made. Both get their names only when they
are whole, so a reader sees all of a file or none of it. `folders` says which folders are safe.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from parallel_pool._engine.arguments import named
from parallel_pool._native import lib
from parallel_pool._source import files, folders, robot, toolchain
from parallel_pool.errors import SourceError

# libraries that are kept of one source file
MAX_KEPT = 16
# source files of which libraries are kept
MAX_FOLDERS = 2000
# what the folder of one source file is called
FOLDER = re.compile(r".+-[0-9a-f]{16}", re.DOTALL)
# compilations in a row during which the files were changed
MAX_TRIES = 5
# ns; temporary files older than this belong to no running compilation
SAFE_AGE = 3600 * 10**9
# bytes of an entry, which names some hundred files at most
MAX_ENTRY = 1 << 22
# what an entry that is damaged, or nested without end, can raise
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


class Built(NamedTuple):
    """A library made of a source file.

    Attributes:
        library: its path in the cache.
        warnings: of the compiler; "" if the library was there.
        was_cached: whether it was.
    """

    library: Path
    warnings: str
    was_cached: bool


def build(source: Path, *, sanitize: bool = False) -> Built:
    """Returns the library of a source file, which is compiled if the cache does not have it.

    Raises:
        SourceError: the file does not compile, is changed all the time, or no folder can hold it.
        MissingDependencyError: there is no compiler.
    """
    settings = _settings(source, sanitize)
    # the stem is for people only: some tools split names at commas, colons or spaces
    stem = re.sub(r"[^\w.-]", "_", source.stem[:40], flags=re.ASCII)
    place = f"{stem}-{_hash(os.fsencode(os.path.abspath(source)))[:16]}"
    for root in folders.roots():
        found = _find(root, root.path / place, settings)
        if found is not None:
            return Built(found, "", True)
    refused: list[str] = []
    for each in (*folders.roots(), None):
        try:
            # not before the others are refused: it is made for this process alone
            root = each or folders.fresh()
            folder = root.path / place
            is_new = not folder.exists()
            if reason := folders.make(folder, root):
                refused.append(reason)
                continue
            if is_new:
                _prune_root(root.path)
            with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as work:
                return _compile(source, folder, Path(work), settings, sanitize)
        except OSError as error:
            where = named(each.path / place if each else tempfile.gettempdir())
            refused.append(f"{where}: {error.strerror or error}")
    raise SourceError(
        f"no folder for compiled environments ({'; '.join(refused)}): let XDG_CACHE_HOME name one"
        " that can be written, by you alone"
    )


# ---------------------------------------------------------------------------------- entries --


def _settings(source: Path, sanitize: bool) -> str:
    """Returns the hash of all that a library depends on besides the contents of files."""
    found = toolchain.compiler(cpp=toolchain.is_cpp(source))
    flags = [*found.flags, *toolchain.link_flags()]
    # the user's flags may name folders from the current one on
    given = any(os.environ.get(name) for name in ("CFLAGS", "CXXFLAGS", "LDFLAGS"))
    folder = os.getcwd() if given else ""
    parts = [found.command, flags, found.version, sanitize, folder, lib.PP_ENV_ABI]
    own_robot = robot.find(source)
    if own_robot:
        parts += own_robot.settings()
    return _hash(repr([os.path.abspath(source), *parts]).encode())


def _find(root: folders.Root, folder: Path, settings: str) -> Path | None:
    """Returns the library that was made with these settings of what the files hold now."""
    if folders.refusal(folder, root):
        return None
    now: dict[str, str | None] = {}
    for path in filter(folders.is_own_file, _newest(folder)):
        try:
            entry = json.loads(files.read(path, MAX_ENTRY))
            if entry["settings"] != settings:
                continue
            library = folder / f"{entry['library']}.so"
            is_same = all(
                digest == now.setdefault(name, files.digest(Path(name)))
                for name, digest in entry["files"].items()
            )
            is_own = folders.is_own_file(library)
            if is_same and is_own and files.digest(library) == entry["library"]:
                with contextlib.suppress(OSError):
                    os.utime(path)
                    os.utime(folder)
                return library
        except DAMAGED:
            # or gone
            continue
    return None


def _newest(folder: Path) -> list[Path]:
    """Returns the entries of a folder, the one that was used last first."""
    dated = []
    with contextlib.suppress(OSError):
        for path in folder.glob("*.json"):
            with contextlib.suppress(OSError):
                dated.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(dated, reverse=True)]


def _compile(source: Path, folder: Path, work: Path, settings: str, sanitize: bool) -> Built:
    """Compiles, and adds the library to a folder of the cache."""
    before: Mapping[str, str | None] = {os.path.abspath(source): files.digest(source)}
    for _ in range(MAX_TRIES):
        # the time is that of the file system, which may not be this machine's
        (work / "started").write_text("")
        started = _changed(work / "started")
        library, depends, warnings = toolchain.build(source, work, sanitize=sanitize)
        after = {str(path): files.digest(path) for path in depends}
        # headers are known only now: those that are older than the compilation have not changed
        if all(
            before[name] == digest if name in before else _changed(Path(name)) < started
            for name, digest in after.items()
        ):
            break
        before = after
    else:
        raise SourceError(
            f"{named(source)} or a file that it includes changes while it is compiled"
        )
    name = _hash(library.read_bytes())
    target = folder / f"{name}.so"
    # the umask may leave others rights, and `_find` takes only what no one else can write
    library.chmod(0o700)
    put(library, target)
    entry = work / "entry"
    entry.write_text(json.dumps({"settings": settings, "files": after, "library": name}))
    entry.chmod(0o600)
    put(entry, folder / f"{_hash(repr((settings, sorted(after.items()))).encode())}.json")
    _prune(folder)
    return Built(target, warnings, False)


def put(made: Path, target: Path) -> None:
    """Gives a file its name in the cache; a folder that is damaged into having it is removed."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    made.replace(target)


def _changed(path: Path) -> int:
    """Returns when a file was written, in nanoseconds; a time to come if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 2**63


def _prune_root(root: Path) -> None:
    """Removes the folders of source files that were used least recently, beyond MAX_FOLDERS."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        found = [path for path in root.iterdir() if FOLDER.fullmatch(path.name)]
    dated = sorted(((_changed(path), path) for path in found), reverse=True)
    for changed, path in dated[MAX_FOLDERS:]:
        # another process may be about to load a library
        if changed <= time.time_ns() - SAFE_AGE:
            shutil.rmtree(path, ignore_errors=True)


def _prune(folder: Path) -> None:
    """Removes entries beyond the newest, their libraries, and folders of killed compilations."""
    entries = _newest(folder)
    kept = set()
    for path in entries[:MAX_KEPT]:
        with contextlib.suppress(*DAMAGED):
            kept.add(json.loads(files.read(path, MAX_ENTRY))["library"])
    libraries = [path for path in folder.glob("*.so") if path.stem not in kept]
    for path in [*entries[MAX_KEPT:], *libraries, *folder.glob(".build-*")]:
        # another process may be about to load or to finish a newer one
        if _changed(path) > time.time_ns() - SAFE_AGE:
            continue
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
