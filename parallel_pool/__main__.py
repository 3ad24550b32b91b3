"""The command line: `python -m parallel_pool` with `demo`, `bench` or `prove-atari`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import parallel_pool

INTERRUPTED = 130
# of a game, in a proof worth a row in the package's table
FRAMES = 20_000


def parser() -> argparse.ArgumentParser:
    """Returns the parser of everything but the options of `bench`, which has its own."""
    made = argparse.ArgumentParser(
        prog="python -m parallel_pool", description=parallel_pool.__doc__, allow_abbrev=False
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="steps CartPoles, Pongs and more beside the others (a minute)"
    )
    demo.add_argument(
        "--out",
        type=picture,
        default="out",
        metavar="FOLDER",
        help="for demo.png and mosaic.gif (out); or FILE.png, with mosaic.gif beside it",
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
    prove = commands.add_parser(
        "prove-atari", help="plays Atari games on our console and on ale_py's, frame by frame"
    )
    prove.add_argument("games", nargs="*", metavar="GAME", help="ale_py's names (all games)")
    prove.add_argument(
        "--frames",
        type=count,
        default=FRAMES,
        metavar="N",
        help=f"frames of a game, and a twentieth of that in each of its modes ({FRAMES})",
    )
    prove.add_argument("--session", type=count, metavar="N", help="only this part of one game")
    prove.add_argument("--jobs", type=count, metavar="N", help="processes (one for each core)")
    prove.add_argument(
        "--write", action="store_true", help="puts what came of it into the package's table"
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


def count(text: str) -> int:
    """Reads a number of things."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give 1 or more")
    return value


def picture(text: str) -> Path:
    """Reads where the demo's picture goes, a folder or a PNG."""
    path = Path(text)
    if path.suffix.lower() == ".png" and not path.is_dir():
        return path
    if path.suffix and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: give a folder, or a file that ends in .png")
    return path / "demo.png"


def demo(out: Path, seconds: float) -> int:
    """Runs the demo; returns the exit status."""
    try:
        # before a minute of work
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"--out: no folder {out.parent}: {error}: choose another", file=sys.stderr)
        return 1
    print("loading Gymnasium, ale_py and matplotlib", flush=True)
    try:
        from parallel_pool.demo import run
    except ModuleNotFoundError as error:
        return missing(error.name or str(error), "demo")
    return run(out, seconds)


def prove_atari(options: argparse.Namespace) -> int:
    """Runs the proof; returns the exit status."""
    try:
        from parallel_pool.prove_atari import run
    except ModuleNotFoundError as error:
        return missing(error.name or str(error), "prove-atari", "demo")
    from parallel_pool._native import ffi, lib
    from parallel_pool.envs.atari_proofs import PATH

    return run(
        options.games,
        options.frames,
        jobs=options.jobs or lib.pp_usable_cores(ffi.NULL),
        only=options.session,
        table=PATH if options.write else None,
    )


def check_proof(command: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the process where options of `prove-atari` don't go together."""
    if options.session is not None and len(options.games) != 1:
        command.error(f"--session {options.session}: name the one game whose session it is")
    if options.write and (options.session is not None or options.frames < FRAMES):
        command.error(f"--write: a proof has all sessions of {FRAMES} frames or more")


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


def missing(name: str, command: str, extra: str | None = None) -> int:
    """Says in one sentence what to install; returns the exit status."""
    print(
        f"the {command} needs {name.partition('.')[0]}, which is not installed:"
        f" pip install 'parallel_pool[{extra or command}]'",
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
        if options.command == "prove-atari":
            check_proof(command, options)
            return prove_atari(options)
        return demo(options.out, options.seconds)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
