"""Command lines: the exit status after Ctrl-C, a missing package, and options that many have.

`python -m parallel_pool` and `python -m benchmarks` both use this; neither may import the other.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from parallel_pool._engine import outputs
from parallel_pool._engine.arguments import named, quote

INTERRUPT_STATUS = 130


def until_interrupted(run: Callable[[], int]) -> int:
    """Runs a command; returns its exit status, or 130 after Ctrl-C."""
    try:
        return run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPT_STATUS


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM end the block as an exception does, so that processes are ended."""

    def end(number: int, frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM wait for the end of the block, which the main thread runs.

    An exception within `subprocess.Popen` may leave a process that nobody knows.
    """
    came: list[int] = []
    # a handler that Python has not set cannot be put back
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    former = {number: handler for number, handler in former.items() if handler is not None}
    try:
        for number in former:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)


def missing(
    name: str, command: str, extra: str | None = None, *, package: str | None = None
) -> int:
    """Prints what to install, in one sentence; returns the exit status.

    Args:
        name: of the module that is missing.
        command: that needs it.
        extra: of this package that brings it; None for the command's name.
        package: that brings it, if no extra does.
    """
    own = f"'parallel_pool[{extra or command}]'"
    print(
        f"parallel_pool {command} needs {name.partition('.')[0]}, which is not installed:"
        f" pip install {package or own}",
        file=sys.stderr,
    )
    return 1


def positive(text: str) -> float:
    """Reads a number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{quote(text)}: give seconds above 0")
    return value


def count(text: str) -> int:
    """Reads a whole number of 1 or more."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{quote(text)}: give 1 or more")
    return value


def read_options(words: list[str]) -> dict[str, Any]:
    """Returns options from NAME=VALUE; a value is a number, True or False, else a string."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"--option {named(word)}: give NAME=VALUE")
        try:
            found[name] = ast.literal_eval(value)
            # other processes get it as JSON, which has no sets
            json.dumps(found[name])
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            # all that texts raise that are no literals, such as {[]: 1}
            found[name] = value
    return found


def folder(*names: str) -> Callable[[str], Path]:
    """Returns a function that makes a folder in which files of these names can be written.

    It does so when the options are read, not after the work whose results they shall hold.
    """

    def make(text: str) -> Path:
        path = Path(text)
        try:
            if not text:
                raise FileNotFoundError("it names no folder")
            path.mkdir(parents=True, exist_ok=True)
            for name in names:
                outputs.check_file(path / name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise argparse.ArgumentTypeError(f"{quote(text)}: {reason}: choose a folder") from None
        return path

    return make
