"""The command prove-atari: plays Atari games on our console and on ale_py's, and compares them.

Games of several players, PettingZoo's, are compared with multi_agent_ale_py's console.
"""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from parallel_pool._families.atari_proofs import Proof, merge, read
from parallel_pool._prove_atari import builds, game, players, sources
from parallel_pool._prove_atari.game import Verdict
from parallel_pool._prove_atari.match import Outcome
from parallel_pool._prove_atari.processes import Processes
from parallel_pool._prove_atari.schedule import Session
from parallel_pool._prove_atari.sides import ids
from parallel_pool.errors import MissingDependencyError

WRONG_ARGUMENTS = 2


@dataclass(frozen=True)
class Request:
    """What to prove, and how.

    Attributes:
        games: ale_py's names of games, or PettingZoo's; empty: all.
        frames: of each game in its default setting; in each mode, a tenth of that.
        jobs: number of processes.
        only: the number of the one session to play; None: all.
        is_long: whether each game is played once, for `frames` frames, instead.
        several: whether all games means those of several players.
        stale: whether to prove only games whose proof is older than the C sources.
        builds: the builds to compare; empty: all that this machine can run.
        writes: whether each proof is written to its table as soon as it is complete.
    """

    games: Sequence[str]
    frames: int
    jobs: int
    only: int | None = None
    is_long: bool = False
    several: bool = False
    stale: bool = False
    builds: Sequence[str] = ()
    writes: bool = False


def run(request: Request) -> int:
    """Proves games and prints the results, with the command that repeats a difference.

    Returns:
        The exit status: 1 if a game differs, was not played to the end or has no ROM; 2 if an
        argument is wrong.
    """
    try:
        return prove_chosen(request, Console())
    except (UnknownName, UnusableTable) as error:
        print(error, file=sys.stderr)
        return WRONG_ARGUMENTS
    except MissingDependencyError as error:
        print(error, file=sys.stderr)
        return 1


def prove_chosen(request: Request, console: Console) -> int:
    """Proves the games that a request names; returns the exit status.

    Raises:
        UnknownName, UnusableTable: the request is wrong.
        MissingDependencyError: a console is missing.
    """
    roms = choose(request)
    compared = choose_builds(request.builds)
    print_builds(console, compared)
    verdicts: list[Verdict] = []
    try:
        with (
            Processes(request.jobs) as processes,
            closing(prove(processes, roms, compared, request, console)) as found,
        ):
            for verdict in found:
                verdicts.append(verdict)
                if verdict.first:
                    print_difference(console, verdict, request)
                if request.writes:
                    write(verdict.proof, request)
    except BrokenProcessPool:
        lost = sorted({*roms} - {verdict.proof.rom for verdict in verdicts})
        print_table(console, verdicts)
        print(
            f"a process of the proof died before it had played {', '.join(lost)}:"
            " run them with --jobs 1, which shows the cause",
            file=sys.stderr,
        )
        return 1
    print_table(console, verdicts)
    return int(any(verdict.first for verdict in verdicts))


class UnknownName(Exception):
    """There is no such game or session."""


class UnusableTable(Exception):
    """The table of proofs can't be read or written."""


def write(proof: Proof, request: Request) -> None:
    """Writes a game's proof into its table; a long play is added to the proof that is there."""
    table = game.table_of(proof.rom)
    merge([game.lengthened(read(table)[proof.rom], proof) if request.is_long else proof], table)


def check_writable(roms: Sequence[str], *, is_long: bool) -> None:
    """Raises UnusableTable if proofs of these games can't be written, before hours of play."""
    for table in {game.table_of(rom) for rom in roms}:
        try:
            merge([], table)
        except (OSError, ValueError) as error:
            raise UnusableTable(f"--write: {table} can't be written: {error}") from error
    unproven = [rom for rom in roms if is_long and game.is_stale(rom)]
    if unproven:
        raise UnusableTable(
            f"--long --write: {', '.join(unproven)}: prove with these sources first, without --long"
        )
    newer = sources.newer_than_module()
    if newer:
        raise UnusableTable(
            f"--write: {newer} was changed after the C module was compiled: make build"
        )


def choose(request: Request) -> list[str]:
    """Returns the games that are asked for; all of one kind if none is named."""
    known = [*ids(), *players.ids()]
    for rom in request.games:
        if rom not in known:
            near = difflib.get_close_matches(rom, known, n=3, cutoff=0.5)
            hint = f": did you mean {' or '.join(near)}?" if near else ": see ale_py's ROMs"
            raise UnknownName(f"ale_py has no game {rom!r}{hint}")
    roms = list(dict.fromkeys(request.games)) or list(players.ids() if request.several else ids())
    for rom in roms:
        game.program(rom)
    if request.writes:
        check_writable(roms, is_long=request.is_long)
    if request.stale and request.is_long:
        return [rom for rom in roms if game.is_shorter(rom, request.frames)]
    return [rom for rom in roms if game.is_stale(rom)] if request.stale else roms


def choose_builds(given: Sequence[str]) -> Sequence[str]:
    """Returns the builds to compare, weakest first."""
    here = builds.available()
    for name in given:
        if name not in here:
            raise UnknownName(f"--build {name}: this machine can run {', '.join(here)}")
    return [name for name in here if not given or name in given]


def print_builds(console: Console, compared: Sequence[str]) -> None:
    """Prints which builds are compared, and which this machine lacks."""
    text = ", ".join(f"{name} ({builds.NAMES[name]})" for name in compared)
    lacking = [name for name in builds.NAMES if name not in builds.available()]
    if lacking:
        text += "; not compared, as this machine can't run it: "
        text += ", ".join(f"{name} ({builds.NAMES[name]})" for name in lacking)
    console.print(f"builds: {text}", highlight=False, soft_wrap=True)


def prove(
    processes: Processes,
    roms: Sequence[str],
    compared: Sequence[str],
    request: Request,
    console: Console,
) -> Generator[Verdict, None, None]:
    """Plays games, longest first, and yields each result as soon as all its sessions are played.

    Args:
        compared: the builds.
    """
    # the sources that are played are those of now, even if they change before the end
    digests = {rom: sources.digest(rom) for rom in roms}
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("settings of the games", total=len(roms))
        planned = {}
        sessions_of = partial(game.sessions, frames=request.frames, is_long=request.is_long)
        for sessions in processes.do(sessions_of, roms):
            planned[sessions[0].rom] = sessions
            progress.advance(bar)
        order = sorted(roms, key=lambda rom: -sum(each.frames for each in planned[rom]))
        every = choose_sessions([each for rom in order for each in planned[rom]], request.only)
        progress.reset(bar, total=sum(session.frames for session in every), description="frames")
        missing = Counter(session.rom for session in every)
        outcomes: dict[str, list[Outcome]] = {rom: [] for rom in missing}
        for outcome in processes.do(partial(game.play, builds=compared), every):
            rom = outcome.session.rom
            outcomes[rom].append(outcome)
            missing[rom] -= 1
            progress.update(bar, advance=outcome.session.frames, description=f"frames: {rom}")
            if not missing[rom]:
                yield game.verdict(outcomes.pop(rom), compared, digests[rom])
        progress.update(bar, description="frames")


def choose_sessions(sessions: Sequence[Session], only: int | None) -> Sequence[Session]:
    """Returns the session with this number; all for None."""
    chosen = [session for session in sessions if only in (None, session.number)]
    if only is not None and not chosen:
        raise UnknownName(f"there is no session {only}: choose 1 to {len(sessions)}")
    return chosen


def print_difference(console: Console, verdict: Verdict, request: Request) -> None:
    """Prints what differs in a game, and the command that plays it again."""
    assert verdict.first is not None
    console.print(
        f"{verdict.proof.rom}: {verdict.proof.difference}\n"
        f"  again: {game.again(verdict.first, request.frames, request.builds)}",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


def print_table(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Prints the table of games."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.proof.rom)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    made.add_column("ROM", no_wrap=True)
    for name in ("frames", "games", "modes", "difficulties", "score", "longest"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("", no_wrap=True)
    for verdict in ordered:
        proof = verdict.proof
        settings = (len(proof.modes), len(proof.difficulties))
        counts = (proof.frames, verdict.games, *settings, proof.score, proof.longest)
        result, style = ("differs", "red") if verdict.first else ("exact", "")
        made.add_row(proof.rom, *(f"{count:,}" for count in counts), result, style=style)
    console.print(made)
    exact = sum(not verdict.first for verdict in verdicts)
    console.print(f"{exact} of {len(verdicts)} exact", highlight=False)
