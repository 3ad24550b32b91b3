"""Finds the installed Procgen without importing it, and the addresses that C calls.

Importing procgen needs gym, gym3 and an old NumPy; its library needs none of them. The library ends
the process when it can't read a picture, so both it and the pictures must be those that were
tested.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool.errors import MissingDependencyError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

INSTALL = "pip install --no-deps procgen-mirror==0.10.7"

# SHA-256 of libenv.so in the wheels of procgen-mirror 0.10.7, by the Python that they are for
LIBRARIES = {
    "4ce4e3d8e4dcae5a112bfcd6f8ee910ab7a2183a1230f0cbec38502fb5e1b0e2": "3.11",
    "4cf5888b8537471e247d5ef78b72b7d253c24f510150f3d61787a32a5a820a44": "3.12",
}
# SHA-256 of the names and contents of all pictures; see `digest_of_pictures`
PICTURES = "7a59f069b01e2a9aef6089256332d03272e970eed95b0e428cd74f8a7df1201e"

# the members of C's procgen_library, in its order
NAMES = (
    *("libenv_version", "libenv_make", "libenv_get_tensortypes", "libenv_set_buffers"),
    *("libenv_observe", "libenv_act", "libenv_close", "get_state", "set_state"),
)

# addresses that were found here: others would crash the process
accepted_links: set[bytes] = set()


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the folder of pictures, and the addresses that C calls.

    Raises:
        TypeError: `_link` or `_assets` is given.
        MissingDependencyError: Procgen is not installed, or a library that it needs.
        UnprovenError: the installed Procgen is another build.
    """
    given = {name for name in ("_link", "_assets") if name in options}
    if given:
        if options.get("_link") in accepted_links and options.get("_assets") == assets():
            return dict(options)
        raise TypeError(f"{definition.id}: {min(given)} can't be given: leave it out")
    return {**options, "_link": link(), "_assets": assets()}


@cache
def link() -> bytes:
    """Returns the addresses of the library's functions, as C reads them.

    Raises:
        MissingDependencyError, UnprovenError: as `fill_options` does.
    """
    path = folder() / "data" / "prebuilt" / "libenv.so"
    _check(path)
    try:
        # the library stays loaded: nothing closes what ctypes opens
        library = ctypes.CDLL(os.fspath(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        addresses = [ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in NAMES]
    except OSError as error:
        raise MissingDependencyError(
            f"Procgen can't be loaded ({error}): apt install libgl1 libglib2.0-0"
        ) from error
    except AttributeError as error:
        raise UnprovenError(f"{path} is refused ({error}): {INSTALL}") from error
    found = struct.pack(f"{len(NAMES)}P", *addresses)
    accepted_links.add(found)
    return found


def assets() -> str:
    """Returns the folder of pictures as the library wants it, with a slash at its end."""
    return f"{folder() / 'data' / 'assets'}{os.sep}"


def folder() -> Path:
    # importing procgen would import gym
    spec = importlib.util.find_spec("procgen")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            f"Procgen's games need procgen-mirror, which is not installed: {INSTALL}"
        ) from ModuleNotFoundError("No module named 'procgen'", name="procgen")
    return Path(spec.submodule_search_locations[0]).absolute()


def _check(path: Path) -> None:
    """Refuses a library or pictures that are not those of the tested wheels."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        pictures = digest_of_pictures(Path(assets()))
    except OSError as error:
        raise MissingDependencyError(
            f"{error.filename} can't be read ({error.strerror}): {INSTALL} --force-reinstall"
        ) from error
    if digest not in LIBRARIES:
        raise UnprovenError(
            f"{path} is refused because it is not that of procgen-mirror 0.10.7 for Linux on x86-64"
            f" and Python {' or '.join(LIBRARIES.values())}: {INSTALL}"
        )
    if pictures != PICTURES:
        raise UnprovenError(
            f"the pictures in {assets()} are not those of procgen-mirror 0.10.7:"
            f" {INSTALL} --force-reinstall"
        )


def digest_of_pictures(folder: Path) -> str:
    """Returns a SHA-256 of the names and contents of all pictures below a folder."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*.png")):
        total.update(path.relative_to(folder).as_posix().encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
