"""Folders: where libraries are kept, so that no other user can change what this one loads.

A library is code that runs with this user's rights. So a folder holds libraries only if it is this
user's own, up to the cache's root, and if nobody else but root can replace one of the folders that
lead to it. A check then holds until the library is loaded: only this user and root can undo it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from parallel_pool._engine.arguments import named

# others can write
SHARED = stat.S_IWGRP | stat.S_IWOTH


class Root(NamedTuple):
    """A folder for libraries, which may not exist.

    Attributes:
        path: the folder.
        top: the folder above it, or itself, from which on all must be this user's own.
    """

    path: Path
    top: Path


# the folders that `fresh` has made, by process: a forked child makes its own
fresh_folders: dict[int, Path] = {}


def roots() -> list[Root]:
    """Returns the user's cache, a folder in /tmp that outlives this process, and `fresh`'s."""
    found = []
    given = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):
        top = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
        found.append(Root(top / "parallel_pool" / "source", top))
    with contextlib.suppress(OSError):
        temporary = Path(tempfile.gettempdir())
        spare = temporary / f"parallel_pool-{os.geteuid()}"
        if temporary.is_dir():
            found.append(Root(spare / "source", spare))
    made = fresh_folders.get(os.getpid())
    return [*found, Root(made, made)] if made else found


def fresh() -> Root:
    """Returns a new folder in /tmp that is this process's own, and is removed when it ends.

    Raises:
        OSError: it can't be made.
    """
    pid = os.getpid()
    if pid not in fresh_folders:
        fresh_folders[pid] = Path(tempfile.mkdtemp(prefix="parallel_pool-"))
        atexit.register(remove_fresh)
    return Root(fresh_folders[pid], fresh_folders[pid])


def remove_fresh() -> None:
    made = fresh_folders.pop(os.getpid(), None)
    if made is not None:
        shutil.rmtree(made, ignore_errors=True)


def refusal(folder: Path, root: Root) -> str:
    """Returns why a folder in a root may not hold libraries, a clause; "" if it may.

    Folders that do not exist are no reason: `make` makes them for this user alone.
    """
    own = [folder, *folder.parents]
    # the outermost first: once it is found to be safe, those inside it can't be replaced
    for path in reversed(own[: own.index(root.top) + 1]):
        # a link may lead out of the root
        real = Path(os.path.realpath(path))
        for above in reversed(real.parents):
            if reason := _refusal(above, is_own=False):
                return reason
        if reason := _refusal(real, is_own=True):
            return reason
    return _refusal_of_mount(folder)


def _refusal_of_mount(folder: Path) -> str:
    """Returns why libraries can't be loaded from a folder's file system; "" if they can."""
    # macOS does not say
    if not hasattr(os, "ST_NOEXEC"):
        return ""
    real = Path(os.path.realpath(folder))
    existing = next(path for path in (real, *real.parents) if path.exists())
    with contextlib.suppress(OSError):
        if os.statvfs(existing).f_flag & os.ST_NOEXEC:
            return f"{named(existing)} is on a file system that is mounted noexec"
    return ""


def _refusal(path: Path, *, is_own: bool) -> str:
    """Returns why one folder is not safe; is_own: it must be this user's, and no one else's."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"{named(path)}: {getattr(error, 'strerror', error)}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{named(path)} is no folder"
    user = os.geteuid()
    if found.st_uid != user and (is_own or found.st_uid != 0):
        return f"{named(path)} belongs to user {found.st_uid}, and this is user {user}"
    # in a folder with the sticky bit others can't replace what is not theirs
    if found.st_mode & SHARED and (is_own or not found.st_mode & stat.S_ISVTX):
        return f"{named(path)} can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
    return ""


def make(folder: Path, root: Root) -> str:
    """Makes a folder in a root, for this user alone, if it does not exist.

    Returns:
        Why it may not hold libraries, a clause; "" if it may.

    Raises:
        OSError: it can't be made.
    """
    if reason := refusal(folder, root):
        return reason
    for path in reversed([folder, *folder.parents]):
        # whatever the umask is, and whoever makes it at the same time: it is checked below
        with contextlib.suppress(FileExistsError):
            if not path.exists():
                path.mkdir(mode=0o700)
    return refusal(folder, root)


def is_own_file(path: Path) -> bool:
    """Returns whether a path is a regular file that only this user can have written."""
    with contextlib.suppress(OSError):
        found = path.lstat()
        is_own = found.st_uid == os.geteuid() and not found.st_mode & SHARED
        return stat.S_ISREG(found.st_mode) and is_own
    return False
