"""Command: `python -m parallel_pool build`, for files in Python, C and C++."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from parallel_pool._engine.arguments import named
from parallel_pool._source import cache
from parallel_pool._source import command as source
from parallel_pool._translator import load
from parallel_pool.errors import MissingDependencyError, SourceError


def add_build(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `build`."""
    source.add_build(command)
    command.set_defaults(run=build)


def build(options: argparse.Namespace) -> int:
    """Compiles a file, and checks its definitions by loading them; returns the exit status."""
    path: Path = options.file
    if path.suffix != ".py":
        return source.build(options)
    begun = time.perf_counter()
    try:
        if options.out is not None:
            source.check_out(options.out, path)
        made = load.translate_file(path)
        if options.out is not None and len(made) > 1:
            return source.refuse(
                f"--out: {named(path)} has {len(made)} environments, and a library holds one:"
                " write a file for each"
            )
        libraries = []
        ids = []
        for each in made:
            ids += load.load_translated(each)
            libraries.append(cache.build(each.path).library)
        if options.out is not None:
            source.put(libraries[0], options.out)
    except (SourceError, ValueError, MissingDependencyError) as error:
        return source.refuse(error)
    except OSError as error:
        reason = error.strerror or error
        return source.refuse(f"--out: {named(options.out)} can't be written: {reason}")
    seconds = time.perf_counter() - begun
    print(f"{named(path)} translated and compiled, in {seconds:.2f} s: {', '.join(ids)}")
    for each, library in zip(made, libraries, strict=True):
        print(f"{named(each.path)}\n{named(options.out or library)}", file=sys.stdout)
    return 0
