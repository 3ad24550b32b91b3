"""Command: `python -m parallel_pool check`, which runs all checks of an environment."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from parallel_pool._command import read_options
from parallel_pool._contract.check_names import STOPPING
from parallel_pool._engine.arguments import MAX_NAME, named, quote
from parallel_pool._prover import command as proving
from parallel_pool._prover.contract_error import ContractError
from parallel_pool._source import cache, toolchain
from parallel_pool._testing import supervisor
from parallel_pool._testing.messages import LOAD, SPEED, Job
from parallel_pool._testing.supervisor import Line
from parallel_pool.errors import EnvError, PoolError

# seconds for one check; the slowest of them takes one for CartPole
TIMEOUT = 60.0
SANITIZERS = "sanitizers find nothing"
TWINS = "the class and its translation return the same, bit by bit"
# a sanitizer ends the child at its first error, with this status
SANITIZED = {
    "ASAN_OPTIONS": "detect_leaks=0:exitcode=66:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "exitcode=67:print_stacktrace=0",
    # CPython's allocator would hide single objects from the sanitizer
    "PYTHONMALLOC": "malloc",
}


def add_check(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `check`."""
    command.add_argument("target", metavar="FILE", help="my_env.py, my_env.c, a library, or an id")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the environment; may be given several times",
    )
    command.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="S",
        help=f"seconds for one check ({TIMEOUT:g})",
    )
    proving.add_arguments(command)
    command.set_defaults(run=check)


def check(options: argparse.Namespace) -> int:
    """Checks a target; returns the exit status, 1 if a check failed."""
    try:
        given = read_options(options.option)
        if not options.timeout > 0:
            raise ValueError(f"--timeout {options.timeout:g}: give seconds above 0")
        if options.against is not None:
            return proving.prove(options, read_values(options.option))
        proving.check_absent(options)
        if Path(options.target).suffix == ".py":
            return check_python(Path(options.target), given, options.timeout)
        jobs, source = read_target(options.target, given)
        failures = [job for job in jobs if not check_one(job, source, options.timeout)]
        return 1 if failures else 0
    except (PoolError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def check_python(path: Path, options: Mapping[str, Any], timeout: float) -> int:
    """Checks the translations of a Python file's environments, and that they equal the classes."""
    # here, because it takes Gymnasium
    from parallel_pool._contract import twins
    from parallel_pool._translator import load as translator

    is_good = True
    for made in translator.translate_file(path):
        built = cache.build(made.path)
        print(built.warnings, file=sys.stderr, end="")
        job = Job(library=str(built.library), symbol=made.symbol, options=dict(options))
        is_good &= check_one(job, made.path, timeout, named(path))
        translator.load_translated(made)
        try:
            twins.compare(
                *(made.cls, made.task_id),
                limit=made.limit,
                options=options,
                native_options=options,
            )
        except (ContractError, EnvError) as error:
            print_line(Line(TWINS, False, str(error)))
            is_good = False
        except Exception as error:
            # of the class, or of options that it does not have
            print_line(Line(TWINS, False, f"{type(error).__name__}: {error}"))
            is_good = False
        else:
            print_line(Line(TWINS, True))
    return 0 if is_good else 1


def read_values(words: list[str]) -> dict[str, Any]:
    """Returns options from NAME=VALUE,VALUE, each with a list of its values."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, values = word.partition("=")
        each = [read_options([f"{name}{equals}{value}"])[name] for value in values.split(",")]
        found[name] = [*found.get(name, []), *each]
    return found


def read_target(target: str, options: Mapping[str, Any]) -> tuple[list[Job], Path | None]:
    """Returns a job for each environment of a target, and the source file if it is one.

    Raises:
        SourceError, MissingDependencyError: it does not compile.
        ValueError: it is no environment.
    """
    path = Path(target)
    if path.suffix.lower() in toolchain.C_SUFFIXES + toolchain.CPP_SUFFIXES:
        names = toolchain.symbols(path)
        built = cache.build(path)
        print(built.warnings, file=sys.stderr, end="")
        library = str(built.library)
        return [Job(library=library, symbol=name, options=dict(options)) for name in names], path
    if path.suffix in (".so", ".dylib") or is_file(path):
        names = toolchain.exported(path)
        library = os.path.abspath(path)
        return [Job(library=library, symbol=name, options=dict(options)) for name in names], None
    if len(target) > MAX_NAME:
        # the child gets it as an argument, whose length the system limits
        raise ValueError(f"no environment {quote(target)}: give an id, or the name of a file")
    return [Job(task_id=target, options=dict(options))], None


def is_file(path: Path) -> bool:
    """Returns whether there is a file of that name, which may be none that the system allows."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def check_one(job: Job, source: Path | None, timeout: float, name: str = "") -> bool:
    """Checks one environment in child processes; returns whether it passed."""
    name = name or named(source or job.library or job.task_id)
    print(f"{name}: {named(job.symbol or job.task_id)}", flush=True)
    lines: list[Line] = []

    def show(line: Line) -> None:
        lines.append(line)
        print_line(line)

    end = supervisor.run(replace(job, speed=True), timeout, show, source=source)
    if any(line.check == STOPPING and not line.passed for line in lines):
        print("  --    other checks: not run, they need this one", flush=True)
    if end != "endless" and lines[-1].check != LOAD:
        sanitize(job, source, timeout, show)
    return all(line.passed for line in lines)


def sanitize(job: Job, source: Path | None, timeout: float, show: Any) -> None:
    """Runs the checks on a library that is compiled with sanitizers."""
    if source is None:
        print("  --    sanitizers: not run, they need the source: check the .c file", flush=True)
        return
    compiler = toolchain.compiler(cpp=toolchain.is_cpp(source))
    runtime = compiler.runtime("libasan.so")
    lacks = [name for name in ("libasan.so", "libubsan.so") if compiler.runtime(name) is None]
    if runtime is None or lacks:
        print(
            f"  --    sanitizers: not run, {compiler.command[0]} has no {lacks[0]}: install it"
            f" (Debian: libgcc-dev, Fedora: {lacks[0].removesuffix('.so')}), or let CC name gcc",
            flush=True,
        )
        return
    library = str(cache.build(source, sanitize=True).library)
    # AddressSanitizer looks up C++'s throw when it starts, but Python has not loaded it
    found = [runtime, compiler.runtime("libstdc++.so.6") or ""]
    preloaded = {"LD_PRELOAD": " ".join(filter(None, found))}
    lines: list[Line] = []
    job = replace(job, library=library, sanitized=True)
    # instrumented code takes several times as long
    end = supervisor.run(job, 3 * timeout, lines.append, {**SANITIZED, **preloaded}, source)
    if not end and lines[-1].check == LOAD:
        show(Line(SANITIZERS, False, f"they could not look: {lines[-1].text}"))
        return
    # other failures are those of the first child
    show(Line(SANITIZERS, not end, lines[-1].text if end else ""))


def print_line(line: Line) -> None:
    """Prints what became of a check."""
    if line.check == SPEED and line.passed:
        print(f"  speed {line.text}", flush=True)
    elif line.passed:
        print(f"  ok    {line.check}", flush=True)
    else:
        print(f"  FAIL  {line.check}: {line.text}", flush=True)
