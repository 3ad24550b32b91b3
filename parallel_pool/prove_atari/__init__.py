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
from functools import partial
from pathlib import Path

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

from parallel_pool.envs import atari_proofs
from parallel_pool.envs.atari_proofs import merge
from parallel_pool.errors import MissingDependencyError
from parallel_pool.prove_atari import game, players
from parallel_pool.prove_atari.game import Verdict
from parallel_pool.prove_atari.match import Outcome
from parallel_pool.prove_atari.processes import Processes
from parallel_pool.prove_atari.schedule import Session
from parallel_pool.prove_atari.sides import ids

WRONG_ARGUMENTS = 2


def run(
    given: Sequence[str], frames: int, *, jobs: int, only: int | None, several: bool, writes: bool
) -> int:
    """Proves games and prints the results, with the command that repeats a difference.

    Args:
        given: ale_py's names of games, or PettingZoo's; empty: all.
        frames: of each game in its default setting; each mode is also played for a twentieth of it.
        jobs: number of processes.
        only: the number of the one session to play; None: all.
        several: whether all games means those of several players.
        writes: whether each proof is written to its table as soon as it is complete.

    Returns:
        The exit status: 1 if a game differs, was not played to the end or has no ROM; 2 if an
        argument is wrong.
    """
    console = Console()
    verdicts: list[Verdict] = []
    try:
        roms = choose(given, several)
        for rom in roms:
            game.program(rom)
            if writes:
                check_writable(table_of(rom))
        with (
            Processes(jobs) as processes,
            closing(prove(processes, roms, frames, only, console)) as found,
        ):
            for verdict in found:
                verdicts.append(verdict)
                if verdict.first:
                    print_difference(console, verdict, frames)
                if writes:
                    merge([verdict.proof], table_of(verdict.proof.rom))
    except (UnknownName, UnusableTable) as error:
        print(error, file=sys.stderr)
        return WRONG_ARGUMENTS
    except MissingDependencyError as error:
        print(error, file=sys.stderr)
        return 1
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


def check_writable(table: Path) -> None:
    """Raises UnusableTable if proofs can't be written there, before hours of play."""
    try:
        merge([], table)
    except (OSError, ValueError) as error:
        raise UnusableTable(f"--write: {table} can't be written: {error}") from error


def table_of(name: str) -> Path:
    """Returns the file with the proof of a game."""
    return atari_proofs.PLAYERS if name in players.ids() else atari_proofs.PATH


def choose(given: Sequence[str], several: bool) -> list[str]:
    """Returns the games of these names; all of one kind if no name is given."""
    known = [*ids(), *players.ids()]
    for rom in given:
        if rom not in known:
            near = difflib.get_close_matches(rom, known, n=3, cutoff=0.5)
            hint = f": did you mean {' or '.join(near)}?" if near else ": see ale_py's ROMs"
            raise UnknownName(f"ale_py has no game {rom!r}{hint}")
    return list(dict.fromkeys(given)) or list(players.ids() if several else ids())


def prove(
    processes: Processes, roms: Sequence[str], frames: int, only: int | None, console: Console
) -> Generator[Verdict, None, None]:
    """Plays games, and yields each game's result as soon as all of its sessions are played."""
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
        for sessions in processes.do(partial(game.sessions, frames=frames), roms):
            planned[sessions[0].rom] = sessions
            progress.advance(bar)
        every = choose_sessions([each for rom in roms for each in planned[rom]], only)
        progress.reset(bar, total=sum(session.frames for session in every), description="frames")
        missing = Counter(session.rom for session in every)
        outcomes: dict[str, list[Outcome]] = {rom: [] for rom in missing}
        for outcome in processes.do(game.play, every):
            rom = outcome.session.rom
            outcomes[rom].append(outcome)
            missing[rom] -= 1
            progress.update(bar, advance=outcome.session.frames, description=f"frames: {rom}")
            if not missing[rom]:
                yield game.verdict(outcomes.pop(rom))
        progress.update(bar, description="frames")


def choose_sessions(sessions: Sequence[Session], only: int | None) -> Sequence[Session]:
    """Returns the session with this number; all for None."""
    chosen = [session for session in sessions if only in (None, session.number)]
    if not chosen:
        raise UnknownName(f"there is no session {only}: choose 1 to {len(sessions)}")
    return chosen


def print_difference(console: Console, verdict: Verdict, frames: int) -> None:
    """Prints what differs in a game, and the command that plays it again."""
    assert verdict.first is not None
    console.print(
        f"{verdict.proof.rom}: {verdict.proof.difference}\n"
        f"  again: {game.again(verdict.first, frames)}",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


def print_table(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Prints the table of games."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.proof.rom)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    made.add_column("ROM", no_wrap=True)
    for name in ("frames", "games", "modes", "difficulties"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("", no_wrap=True)
    for verdict in ordered:
        proof = verdict.proof
        counts = (proof.frames, verdict.games, len(proof.modes), len(proof.difficulties))
        result, style = ("differs", "red") if verdict.first else ("exact", "")
        made.add_row(proof.rom, *(f"{count:,}" for count in counts), result, style=style)
    console.print(made)
    exact = sum(not verdict.first for verdict in verdicts)
    console.print(f"{exact} of {len(verdicts)} exact", highlight=False)
