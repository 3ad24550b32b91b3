"""The command line: `python -m parallel_pool` with a command, such as `demo` or `check`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import parallel_pool
from parallel_pool import _serve as serving
from parallel_pool._command import count, missing, positive, until_interrupted
from parallel_pool._engine import outputs
from parallel_pool._engine.arguments import named, quote
from parallel_pool._source import command as source
from parallel_pool._testing import command as testing
from parallel_pool._tracing.trace import MAX_SPANS
from parallel_pool._translator import command as translator
from parallel_pool._tuner import command as tuner

# what the demo writes beside its picture
ANIMATION = "mosaic.gif"
# frames compared per game: by default, and with --long
FRAMES, LONG_FRAMES = 20_000, 100_000


def parser() -> argparse.ArgumentParser:
    """Returns the parser of everything but the options of `bench`, which has its own."""
    made = argparse.ArgumentParser(
        prog="python -m parallel_pool", description=parallel_pool.__doc__, allow_abbrev=False
    )
    made.add_argument(
        "--version", action="version", version=f"parallel_pool {parallel_pool.__version__}"
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="steps CartPole, Pong and more, and compares with other libraries (a minute)"
    )
    demo.add_argument(
        "--out",
        type=picture,
        default="out",
        metavar="FOLDER",
        help="where demo.png and mosaic.gif go (out); or FILE.png, with mosaic.gif beside it",
    )
    demo.add_argument(
        "--seconds",
        type=positive,
        default=1.5,
        metavar="S",
        help="seconds to measure each player (1.5)",
    )
    source.add_new(commands.add_parser("new", help="writes a start for an environment"))
    translator.add_build(commands.add_parser("build", help="compiles an environment of your own"))
    testing.add_check(commands.add_parser("check", help="finds mistakes in an environment"))
    serving.add_serve(
        commands.add_parser("serve", help="serves an environment's sessions to OpenEnv's clients")
    )
    commands.add_parser(
        "bench", add_help=False, help="measures us and other libraries side by side: bench --help"
    )
    prove = commands.add_parser(
        "prove-atari", help="plays Atari games on our console and on ale_py's, frame by frame"
    )
    prove.add_argument(
        "games",
        nargs="*",
        metavar="GAME",
        help="ale_py's names, such as space_invaders, or PettingZoo's, such as pong_v3 (all games)",
    )
    prove.add_argument(
        "--players",
        action="store_true",
        help="all games means PettingZoo's, of several players, which need 'pettingzoo[atari]'",
    )
    prove.add_argument(
        "--frames",
        type=count,
        metavar="N",
        help=f"frames of each game, and a tenth of that for each of its modes ({FRAMES})",
    )
    prove.add_argument(
        "--long",
        action="store_true",
        help="instead of all that, one play of each game for that many frames, with the console"
        f" on from the first to the last ({LONG_FRAMES})",
    )
    prove.add_argument("--session", type=count, metavar="N", help="only this session of one game")
    prove.add_argument("--jobs", type=count, metavar="N", help="processes (one per core)")
    prove.add_argument(
        "--build",
        action="append",
        default=[],
        metavar="NAME",
        help="compares only this build: base, v3 (AVX2) or v4 (AVX-512); may be repeated (all)",
    )
    prove.add_argument(
        "--stale",
        action="store_true",
        help="only games whose proof is older than the console's sources, or, with --long, that"
        " were not played for so long; continues a --write that was interrupted",
    )
    prove.add_argument(
        "--write",
        action="store_true",
        help="writes the result into the package's table; a long play is added to its game's row",
    )
    prove.add_argument(
        "--carry",
        metavar="REVISION",
        help="plays nothing: compiles the sources of this git revision and those of now, and if"
        " their machine code is the same, proofs of the old sources become proofs of the new",
    )
    profile = commands.add_parser(
        "profile",
        help="runs a Python script, and says where the time of its pools goes",
        description="Runs SCRIPT with its arguments, and prints a report of each pool it steps.",
    )
    profile.add_argument(
        "--out",
        type=new_file,
        metavar="FILE",
        help="a trace for ui.perfetto.dev, in Chrome's format",
    )
    profile.add_argument(
        "--max-spans",
        type=count,
        default=MAX_SPANS,
        metavar="N",
        help="steps and calls that are kept of each pool, of 32 bytes each; its trace ends with"
        f" more ({MAX_SPANS:,})",
    )
    profile.add_argument("script", type=script, metavar="SCRIPT", help="a file of Python")
    profile.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="of the script")
    tune = commands.add_parser("tune", help="finds the fastest sizes of a Python script's pools")
    tuner.add_tune(tune, script)
    return made


def script(text: str) -> Path:
    """Reads the path of a script."""
    path = Path(text)
    if not testing.is_file(path):
        raise argparse.ArgumentTypeError(f"{quote(text)}: there is no such file")
    return path


def new_file(text: str) -> Path:
    """Reads the path of a file that can be written later."""
    path = Path(text)
    try:
        outputs.check_file(path)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{quote(text)}: name a file in a folder that exists: {error}"
        ) from None
    return path.absolute()


def picture(text: str) -> Path:
    """Returns the path of the demo's picture, from a folder or the name of a PNG file."""
    if not text:
        raise argparse.ArgumentTypeError("'' names no folder: give one, such as out")
    path = Path(text)
    is_folder = os.path.isdir(path)
    if path.suffix.lower() == ".png" and not is_folder:
        return path
    if path.suffix and not is_folder:
        raise argparse.ArgumentTypeError(
            f"{quote(text)}: give a folder, or a file that ends in .png"
        )
    return path / "demo.png"


def demo(out: Path, seconds: float) -> int:
    """Runs the demo; returns the exit status."""
    try:
        # fail now, not after a minute of measuring
        out.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        print(f"--out: no folder {named(out.parent)}: {reason}: choose another", file=sys.stderr)
        return 1
    for path in (out, out.with_name(ANIMATION)):
        try:
            outputs.check_file(path)
        except OSError as error:
            print(f"--out: {named(path)}: {error}", file=sys.stderr)
            return 1
    print("loading Gymnasium, ale_py and matplotlib", flush=True)
    try:
        from parallel_pool._demo import run as run_demo
    except ModuleNotFoundError as error:
        return missing(error.name or str(error), "demo")
    return run_demo(out, seconds)


def prove_atari(options: argparse.Namespace) -> int:
    """Runs the proof; returns the exit status."""
    try:
        from parallel_pool._prove_atari import Request
        from parallel_pool._prove_atari import run as run_proof
    except ModuleNotFoundError as error:
        return missing(error.name or str(error), "prove-atari", "demo")
    from parallel_pool._native import ffi, lib

    jobs = options.jobs or lib.pp_usable_cores(ffi.NULL)
    if options.carry is not None:
        try:
            from parallel_pool._prove_atari import carry
        except ModuleNotFoundError as error:
            # developers have it
            return missing(error.name or str(error), "prove-atari --carry", package="pyelftools")
        return carry.run(options.carry, jobs)
    return run_proof(
        Request(
            options.games,
            options.frames or least_frames(options),
            jobs=jobs,
            only=options.session,
            is_long=options.long,
            several=options.players,
            stale=options.stale,
            builds=options.build,
            writes=options.write,
        )
    )


def least_frames(options: argparse.Namespace) -> int:
    """Returns the frames of a proof, or of a long play, that may be written into the table."""
    return LONG_FRAMES if options.long else FRAMES


def check_proof(command: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the process if options of `prove-atari` contradict each other."""
    plays = (options.games, options.frames, options.session, options.build)
    if options.carry is not None and any((*plays, options.long, options.stale, options.write)):
        command.error("--carry: plays nothing: leave out all others but --jobs")
    if options.session is not None and len(options.games) != 1:
        command.error(f"--session {options.session}: name the one game whose session it is")
    if options.session is not None and options.long:
        command.error("--session: a long play is only one")
    least = least_frames(options)
    if options.write and (options.session is not None or (options.frames or least) < least):
        command.error(f"--write: needs all sessions, of {least} frames or more")
    if options.write and options.build:
        command.error("--write: needs all builds, not --build")
    if options.stale and options.games:
        command.error(f"--stale: names the games itself: leave out {' '.join(options.games)}")


def bench(arguments: Sequence[str]) -> int:
    """Runs the quick benchmark, or the full ones, which a checkout contains, not the package."""
    if "--quick" in arguments:
        from parallel_pool._bench import quick_command

        return quick_command.main(arguments)
    places = (Path(parallel_pool.__file__).parent.parent, Path.cwd())
    root = next((place for place in places if (place / "benchmarks/__main__.py").exists()), None)
    if root is None:
        print(
            "`python -m parallel_pool bench --quick` works here; the full benchmarks come with the"
            " source: run `make bench` in a checkout of parallel_pool",
            file=sys.stderr,
        )
        return 1
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    status: int = importlib.import_module("benchmarks.__main__").main(arguments)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status, or 130 after Ctrl-C."""
    return until_interrupted(lambda: run(arguments))


def run(arguments: Sequence[str] | None) -> int:
    """Parses the arguments and runs the command that they name; returns its exit status."""
    command = parser()
    options, others = command.parse_known_args(arguments)
    if options.command == "bench":
        return bench(others)
    if others:
        command.error(f"unrecognized arguments: {named(' '.join(others))}")
    if "run" in options:
        status: int = options.run(options)
        return status
    if options.command == "profile":
        from parallel_pool._tracing import profile

        return profile.run(options.script, options.arguments, options.out, options.max_spans)
    if options.command == "prove-atari":
        check_proof(command, options)
        return prove_atari(options)
    return demo(options.out, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
