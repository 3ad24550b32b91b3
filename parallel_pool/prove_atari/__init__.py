"""The proof: Atari games played on our console and on ale_py's side by side, frame by frame."""

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

from parallel_pool.envs import atari
from parallel_pool.envs.atari_proofs import merge
from parallel_pool.errors import MissingDependencyError
from parallel_pool.prove_atari import game
from parallel_pool.prove_atari.game import Verdict
from parallel_pool.prove_atari.match import Outcome
from parallel_pool.prove_atari.processes import Processes
from parallel_pool.prove_atari.schedule import Session
from parallel_pool.prove_atari.sides import ids

WRONG_ARGUMENTS = 2


def run(
    given: Sequence[str], frames: int, *, jobs: int, only: int | None, table: Path | None
) -> int:
    """Proves games, shows what came of it, and says how to find a difference again.

    Args:
        given: ale_py's names of games; none for all.
        frames: of each game as it begins; its modes get a twentieth of that besides, each.
        jobs: processes.
        only: the number of the one session to play; None for all.
        table: where to put the proofs, each as soon as it is there; None for nowhere.

    Returns:
        The exit status: 1 if a game differs, was not played to the end or has no ROM, 2 if there is
        no such game.
    """
    console = Console()
    verdicts: list[Verdict] = []
    try:
        roms = choose(given)
        for rom in roms:
            atari.read_rom(rom)
        if table is not None:
            check_writable(table)
        with (
            Processes(jobs) as processes,
            closing(prove(processes, roms, frames, only, console)) as found,
        ):
            for verdict in found:
                verdicts.append(verdict)
                if verdict.first:
                    tell(console, verdict, frames)
                if table is not None:
                    merge([verdict.proof], table)
    except (NoSuch, NoTable) as error:
        print(error, file=sys.stderr)
        return WRONG_ARGUMENTS
    except MissingDependencyError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenProcessPool:
        lost = sorted({*roms} - {verdict.proof.rom for verdict in verdicts})
        show(console, verdicts)
        print(
            f"a process of the proof has died before these were played: {', '.join(lost)}."
            " With --jobs 1 there is a single one, which shows what it dies of.",
            file=sys.stderr,
        )
        return 1
    show(console, verdicts)
    return int(any(verdict.first for verdict in verdicts))


class NoSuch(Exception):
    """There is no such game or session."""


class NoTable(Exception):
    """The table can't be written, or is none."""


def check_writable(table: Path) -> None:
    """Finds out before hours of play whether what comes of them can be kept."""
    try:
        merge([], table)
    except (OSError, ValueError) as error:
        raise NoTable(f"--write: {table} can't be written: {error}") from error


def choose(given: Sequence[str]) -> list[str]:
    """Returns the ROMs of those names, all if none is given."""
    known = list(ids())
    for rom in given:
        if rom not in known:
            near = difflib.get_close_matches(rom, known, n=3, cutoff=0.5)
            hint = f": did you mean {' or '.join(near)}?" if near else ": see ale_py's ROMs"
            raise NoSuch(f"ale_py has no game {rom!r}{hint}")
    return list(dict.fromkeys(given)) or known


def prove(
    processes: Processes, roms: Sequence[str], frames: int, only: int | None, console: Console
) -> Generator[Verdict, None, None]:
    """Plays games, and yields what came of each as soon as all of its sessions are played."""
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
    """Returns those with that number, all for None."""
    chosen = [session for session in sessions if only in (None, session.number)]
    if not chosen:
        raise NoSuch(f"there is no session {only}: choose 1 to {len(sessions)}")
    return chosen


def tell(console: Console, verdict: Verdict, frames: int) -> None:
    """Says what differs in a game, and how to play that again."""
    assert verdict.first is not None
    console.print(
        f"{verdict.proof.rom}: {verdict.proof.difference}\n"
        f"  again: {game.again(verdict.first, frames)}",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


def show(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Shows the table of games."""
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
