"""Command: `python -m parallel_pool new` and `build`, and their arguments."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import time
from pathlib import Path

from parallel_pool._engine import outputs
from parallel_pool._engine.arguments import named
from parallel_pool._source import cache, load, start, toolchain
from parallel_pool.errors import MissingDependencyError, SourceError


def add_new(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `new`."""
    command.add_argument(
        "file", type=Path, metavar="FILE", help="my_env.py, my_env.c or my_env.cpp"
    )
    command.add_argument(
        "--mujoco",
        type=Path,
        metavar="MODEL",
        help="a MuJoCo model in XML: the start is a robot's, in C or Python",
    )
    command.set_defaults(run=new)


def add_build(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `build`."""
    command.add_argument(
        "file", type=Path, metavar="FILE", help="a source file in Python, C or C++"
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="LIBRARY",
        help="where a copy of the library goes, for parallel_pool.load on another machine",
    )
    command.set_defaults(run=build)


def new(options: argparse.Namespace) -> int:
    """Writes a start; returns the exit status."""
    path: Path = options.file
    try:
        task_id = start.write(path, options.mujoco)
    except (SourceError, MissingDependencyError) as error:
        return refuse(error)
    except FileExistsError:
        return refuse(f"{named(path)} exists, and stays as it is: choose another name")
    except OSError as error:
        return refuse(f"{named(path)} can't be written: {error.strerror or error}")
    name = named(path)
    next_line = f"python -m parallel_pool check {name}"
    if options.mujoco is not None and path.suffix == start.PYTHON_SUFFIX:
        next_line = f"parallel_pool.mujoco_batch.BatchVectorEnv({task_id}, 1024)"
    print(f"{name} defines {task_id}. Next:\n    {next_line}")
    return 0


def build(options: argparse.Namespace) -> int:
    """Compiles a file, and checks its definitions by loading them; returns the exit status."""
    path: Path = options.file
    begun = time.perf_counter()
    try:
        toolchain.symbols(path)
        if options.out is not None:
            # before a compilation that may take minutes
            check_out(options.out, path)
        built = cache.build(path)
        print(built.warnings, file=sys.stderr, end="")
        ids = load.load_built(path, built.library)
        if options.out is not None:
            put(built.library, options.out)
    except (SourceError, ValueError, MissingDependencyError) as error:
        return refuse(error)
    except OSError as error:
        reason = error.strerror or error
        return refuse(f"--out: {named(options.out)} can't be written: {reason}")
    how = "was compiled before" if built.was_cached else "compiled"
    seconds = time.perf_counter() - begun
    library = named(options.out or built.library)
    print(f"{named(path)} {how}, in {seconds:.2f} s: {', '.join(ids)}\n{library}")
    return 0


def check_out(out: Path, source: Path) -> None:
    """Checks that a library can be written.

    Raises:
        OSError: it can't.
        SourceError: it is the source.
    """
    outputs.check_file(out)
    if out.exists() and out.samefile(source):
        raise SourceError(f"--out: {named(out)} is the source: name another file")


def put(library: Path, out: Path) -> None:
    """Copies a library to a file.

    A program that has loaded the file goes on with what it has: to write into a library's pages
    would end it.

    Raises:
        OSError: it can't be written.
    """
    real = Path(os.path.realpath(out))
    is_device = real.exists() and not real.is_file()
    # a folder of others may hold a file that this user can write
    if is_device or not os.access(real.parent, os.W_OK):
        shutil.copyfile(library, real)
        return
    partial = real.with_name(f".{os.getpid()}.so")
    try:
        shutil.copyfile(library, partial)
        if real.exists():
            shutil.copymode(real, partial)
        partial.replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def refuse(reason: object) -> int:
    """Prints why a command failed; returns the exit status."""
    print(reason, file=sys.stderr)
    return 1
