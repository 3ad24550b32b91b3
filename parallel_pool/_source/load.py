"""Load: builds a source file and registers the environments that it defines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import named, quote
from parallel_pool._source import cache, toolchain
from parallel_pool.errors import SourceError


def load_source(path: str | os.PathLike[str]) -> list[str]:
    """Compiles a C or C++ file, and loads all environments that it defines.

    The library is kept in the user's cache (`$XDG_CACHE_HOME`, or `~/.cache`), and is compiled
    again only if the file, a header that it includes, the compiler, CFLAGS (CXXFLAGS), LDFLAGS or
    parallel_pool's headers have changed. The compiler is that of CC (CXX), or the system's. What it
    warns of goes to stderr. A cache in which another user could put a library is not used;
    `folders` says what is checked. A compiler has 120 seconds, or those of PP_COMPILE_TIMEOUT.

    If the file has changed since it was loaded, its environments replace the older ones in pools
    that are made from now on. Pools that exist keep the code that they were made with.

    Args:
        path: the file, with a definition whose line begins `const pp_env_def pp_env_NAME = {` (in
            C++ `extern "C" const pp_env_def pp_env_NAME = {`).

    Returns:
        The ids, which every API takes, in the order of the file.

    Raises:
        SourceError: the file can't be read, is no regular file, does not compile (the message ends
            in what the compiler printed), or defines no environment; or the compiler does not end.
        ValueError: a definition is invalid, or its id is taken.
        MissingDependencyError: there is no compiler.
        TypeError: path is not a string or a path.

    Example:
        >>> parallel_pool.load_source("corridor.c")
        ['Corridor-v0']
        >>> envs = parallel_pool.make_vec("Corridor-v0", 4)
        >>> envs.backend
        'native'
        >>> envs.close()
    """
    source = Path(os.fsdecode(path))
    # before the compiler runs: a file without a definition is an error of its own
    toolchain.symbols(source)
    built = cache.build(source)
    if built.warnings:
        print(built.warnings, file=sys.stderr, end="")
    return load_built(source, built.library)


def load_built(source: Path, built: Path) -> list[str]:
    """Loads the definitions of a source file from the library that was made of it.

    Raises:
        SourceError, ValueError: as `load_source` does.
    """
    where = os.path.abspath(source)
    found = {}
    for name in toolchain.symbols(source):
        definition, library = registry.open_library(built, name)
        found[registry.Origin(definition.id, library, name, where)] = definition
    ids = [origin.id for origin in found]
    for env_id in ids:
        if ids.count(env_id) > 1:
            raise SourceError(
                f"{named(source)} defines {quote(env_id)} twice: choose another id for one"
            )
    registry.add(found)
    return ids
