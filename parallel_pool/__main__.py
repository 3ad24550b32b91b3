"""The command line: `python -m parallel_pool demo` and `python -m parallel_pool bench`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import parallel_pool

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """Returns the parser of everything but the options of `bench`, which has its own."""
    made = argparse.ArgumentParser(
        prog="python -m parallel_pool", description=parallel_pool.__doc__, allow_abbrev=False
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="steps 64 Pongs and 1024 CartPoles beside Gymnasium (half a minute)"
    )
    demo.add_argument(
        "--out",
        type=Path,
        default=Path("out/demo.png"),
        metavar="FILE",
        help="the picture (out/demo.png)",
    )
    demo.add_argument(
        "--seconds",
        type=positive,
        default=1.5,
        metavar="S",
        help="how long each is measured (1.5)",
    )
    commands.add_parser(
        "bench", add_help=False, help="measures side by side with the rivals: bench --help"
    )
    return made


def positive(text: str) -> float:
    """Reads a positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: give seconds above 0")
    return value


def demo(out: Path, seconds: float) -> int:
    """Runs the demo; returns the exit status."""
    try:
        from parallel_pool.demo import run
    except ModuleNotFoundError as error:
        return missing(error.name or str(error), "demo")
    return run(out, seconds)


def bench(arguments: Sequence[str]) -> int:
    """Runs the benchmarks, which are in a checkout and not in the package."""
    places = (Path(parallel_pool.__file__).parent.parent, Path.cwd())
    root = next((place for place in places if (place / "benchmarks/scenes.py").exists()), None)
    if root is None:
        print(
            "the benchmarks come with the source, not with the package:"
            " run `make bench` in a checkout of parallel_pool",
            file=sys.stderr,
        )
        return 1
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    status: int = importlib.import_module("benchmarks.__main__").main(arguments)
    return status


def missing(name: str, extra: str) -> int:
    """Says in one sentence what to install; returns the exit status."""
    print(
        f"the {extra} needs {name.partition('.')[0]}, which is not installed:"
        f" pip install 'parallel_pool[{extra}]'",
        file=sys.stderr,
    )
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status, 130 after Ctrl-C."""
    command = parser()
    options, others = command.parse_known_args(arguments)
    try:
        if options.command == "bench":
            return bench(others)
        if others:
            command.error(f"unrecognized arguments: {' '.join(others)}")
        return demo(options.out, options.seconds)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
