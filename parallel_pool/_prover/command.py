"""Command: `python -m parallel_pool check FILE --against REFERENCE`, a proof with its files."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import outputs
from parallel_pool._engine.arguments import quote
from parallel_pool._prover.settings import SECONDS, STEPS, Settings

if TYPE_CHECKING:
    from parallel_pool._prover.prove import Outcome

# of the options that only a proof has
DEFAULTS = {
    "steps": STEPS,
    "seconds": SECONDS,
    "seed": 0,
    "tolerance": 0.0,
    "report": None,
    "write_test": None,
    "program": None,
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of a proof to those of `check`."""
    proof = command.add_argument_group("a port against its reference")
    proof.add_argument(
        "--against",
        metavar="REFERENCE",
        help="instead of the checks, compares with Gymnasium's id, module:Class, file.py:Class, or"
        " another native environment; --option NAME=V1,V2 gives values that are combined",
    )
    proof.add_argument(
        "--steps", type=int, default=STEPS, metavar="N", help=f"steps to compare ({STEPS:,})"
    )
    proof.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="S",
        help=f"seconds of the search ({SECONDS:g})",
    )
    proof.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is drawn (0)")
    proof.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        metavar="X",
        help="by which floats may differ (0: the same bits)",
    )
    proof.add_argument("--report", type=Path, metavar="FILE.md", help="writes a report")
    proof.add_argument("--write-test", type=Path, metavar="FILE.py", help="writes a test")
    proof.add_argument(
        "--program",
        type=Path,
        metavar="FILE.py",
        help="where the program goes that repeats a difference (difference_NAME.py)",
    )


def check_absent(options: argparse.Namespace) -> None:
    """Raises ValueError for options of a proof, of which there is none without a reference."""
    for name, default in DEFAULTS.items():
        if getattr(options, name) != default:
            word = name.replace("_", "-")
            raise ValueError(f"--{word}: is for a proof: name its reference with --against")


def _check_files(files: Sequence[Path], sources: Sequence[Path]) -> None:
    """Raises ValueError for files that can't be written, or are those to compare or one another."""
    for path in files:
        try:
            outputs.check_file(path)
        except OSError as error:
            raise ValueError(f"{quote(str(path))}: {error}") from None
        if any(_is_same(path, each) for each in sources):
            raise ValueError(f"{quote(str(path))}: it is a source: name another file")
    for one, other in itertools.combinations(files, 2):
        if one.absolute() == other.absolute() or _is_same(one, other):
            raise ValueError(f"{quote(str(one))} is named twice: name another file")


def _is_same(one: Path, other: Path) -> bool:
    # a name that the system does not allow is that of no file
    with contextlib.suppress(OSError, ValueError):
        return one.samefile(other)
    return False


def prove(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Proves a target; returns the exit status, 1 if there is a difference.

    Raises:
        SourceError, MissingDependencyError, ValueError, TypeError: as `testing.prove`.
    """
    # here, because it takes Gymnasium
    from parallel_pool._prover import target
    from parallel_pool._prover.prove import run, write_program

    _check_files(
        [path for path in (options.report, options.write_test, options.program) if path],
        [Path(target.split(each)[0]) for each in (options.target, options.against)],
    )
    settings = Settings(
        options=values or None,
        steps=options.steps,
        seconds=options.seconds,
        seed=options.seed,
        tolerance=options.tolerance,
        timeout=min(options.timeout, options.seconds),
    )
    outcome = run(options.target, options.against, settings)
    if outcome.finding is None:
        _print_proof(outcome)
    else:
        stem = re.sub(r"\W+", "_", Path(options.target).stem)
        try:
            path = write_program(outcome.program, options.program or f"difference_{stem}.py")
        except OSError:
            # such as a current folder that can't be written
            path = write_program(outcome.program, None)
        print(f"{outcome.text}\nthe program above is in {path}: python {path}")
    try:
        _write_files(options, settings, outcome)
    except OSError as error:
        raise ValueError(f"--report, --write-test: {error}") from None
    return 0 if outcome.finding is None else 1


def _print_proof(outcome: Outcome) -> None:
    proof = outcome.proof
    rule = f"within {proof.tolerance:g}" if proof.tolerance else "with the same bits"
    print(
        f"{proof.ours} and {proof.reference} agree {rule}: {proof.steps:,} steps,"
        f" {proof.episodes:,} episodes, {proof.cells:,} cells of states, in {proof.seconds:.1f} s"
    )
    if proof.lines:
        print(
            f"reached {proof.lines_reached} of {proof.lines} lines of the source,"
            f" {proof.branches_reached} of {proof.branches} directions of conditions"
        )
    for number, text in proof.lines_missed:
        print(f"  never reached: line {number}: {text}")
    for each in proof.not_covered:
        print(f"  not covered: {each}")


def _write_files(options: argparse.Namespace, settings: Settings, outcome: Outcome) -> None:
    from parallel_pool._prover import committed

    if options.report is not None:
        options.report.write_text(outcome.proof.report, "utf-8", "backslashreplace")
        print(f"the report is in {options.report}")
    if options.write_test is not None:
        names = ("options", "steps", "seconds", "seed", "tolerance")
        text = committed.test_text(
            options.write_test,
            options.target,
            options.against,
            {name: getattr(settings, name) for name in names},
            outcome.proof.sequences,
            outcome.finding is not None,
        )
        options.write_test.write_text(text, "utf-8", "backslashreplace")
        print(f"the test is in {options.write_test}")
