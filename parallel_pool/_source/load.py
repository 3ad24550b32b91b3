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
    """Compiles a C or C++ file, and loads all environments that it defines; public as
    `parallel_pool.load_source`, which says more.

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
    """
    source = Path(os.fsdecode(path))
    # before the compiler runs: a file without a definition is an error of its own
    toolchain.symbols(source)
    built = cache.build(source)
    if built.warnings:
        print(built.warnings, file=sys.stderr, end="")
    return load_built(source, built.library)


def load_built(source: Path, built: Path, origin: Path | None = None) -> list[str]:
    """Loads the definitions of a source file from the library that was made of it.

    Args:
        source: the file in C.
        built: the library.
        origin: the user's file of which the file in C was made; None: that is the user's.

    Raises:
        SourceError, ValueError: as `load_source` does.
    """
    where = os.path.abspath(origin or source)
    found = {}
    for name in toolchain.symbols(source):
        definition, library = registry.open_library(built, name)
        found[registry.Origin(definition.id, library, name, where)] = definition
    ids = [origin.id for origin in found]
    for task_id in ids:
        if ids.count(task_id) > 1:
            raise SourceError(
                f"{named(source)} defines {quote(task_id)} twice: choose another id for one"
            )
    registry.add(found)
    return ids
