"""The proof of one game: its sessions, how one is played, and their result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from ale_py import __version__ as ale_version

from parallel_pool._engine import registry
from parallel_pool._families import atari, atari_players, atari_proofs
from parallel_pool._families.atari_proofs import Proof, md5
from parallel_pool._prove_atari import players, sources
from parallel_pool._prove_atari.match import Differs, Match, Outcome
from parallel_pool._prove_atari.schedule import LONG, Session, schedule
from parallel_pool._prove_atari.search import TRIES, Search
from parallel_pool._prove_atari.sides import Ours, OurSide, Theirs, oracle


@dataclass(frozen=True)
class Verdict:
    """The result of a game.

    Attributes:
        games: number of games begun, in all sessions.
        first: the first session that differed; None if none did.
    """

    proof: Proof
    games: int
    first: Outcome | None


def sessions(rom: str, frames: int, is_long: bool = False) -> list[Session]:
    """Returns a game's sessions, in all modes and difficulties that ale_py or PettingZoo offers.

    If `is_long`, there is one, in the default setting.
    """
    if is_long:
        # to multi_agent_ale_py, seed 0 means the time
        return [Session(rom, 1 if rom in players.ids() else 0, frames, LONG)]
    if rom in players.ids():
        return schedule(rom, list(players.settings(rom)), [0], frames)
    ale = oracle(rom)
    return schedule(rom, ale.getAvailableModes(), ale.getAvailableDifficulties(), frames)


def play(session: Session, builds: Sequence[str]) -> Outcome:
    """Plays a session on ale_py's console and on ours, in these builds.

    An exception from any of them is a difference.
    """
    match = None
    found: str | None = None
    try:
        with ExitStack() as stack:
            script = search_script(session, builds[-1]) if session.style.searched else None
            ours = [stack.enter_context(closing(each)) for each in our_sides(session, builds)]
            kind = players.Theirs if session.rom in players.ids() else Theirs
            match = Match(session, ours, kind(session), script)
            match.play()
    except Differs as error:
        found = str(error)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    if match is None:
        return Outcome(session, 0, 0, found)
    return Outcome(session, match.frames, match.games, found, match.score or 0, match.longest)


def our_sides(session: Session, builds: Sequence[str]) -> Iterator[OurSide]:
    """Yields our consoles: of each build one that draws each frame, and one that skips frames."""
    kind = players.Ours if session.rom in players.ids() else Ours
    for build in builds:
        yield kind(session, build, skips=False)
        if session.style.frame_skip > 1:
            yield kind(session, build, skips=True)


def search_script(session: Session, build: str) -> list[int]:
    """Returns the moves that a search finds for a session."""
    kind = players.Ours if session.rom in players.ids() else Ours
    with closing(kind(session, build, skips=True, draws=False, envs=TRIES)) as side:
        return Search(session, side).moves()


def verdict(outcomes: Sequence[Outcome], builds: Sequence[str], digest: str | None) -> Verdict:
    """Combines the outcomes of all sessions of a game.

    Args:
        builds: those that were compared.
        digest: the hash of the sources that were played (sources.py).
    """
    ordered = sorted(outcomes, key=lambda outcome: outcome.session.number)
    failed = [i for i, outcome in enumerate(ordered) if outcome.difference is not None]
    first = ordered[failed[0]] if failed else None
    counted = ordered[: failed[0] + 1] if failed else ordered
    played = [outcome.session for outcome in counted]
    rom = played[0].rom
    proof = Proof(
        rom,
        md5(program(rom)),
        sum(outcome.frames for outcome in counted),
        tuple(sorted({each.mode for each in played if each.mode is not None})),
        tuple(sorted({each.difficulty for each in played if each.difficulty is not None})),
        atari_players.EMULATOR if rom in players.ids() else ale_version,
        f"{first.session}, frame {first.frames}: {first.difference}" if first else None,
        tuple(builds),
        digest,
        round(max(outcome.score for outcome in counted)),
        max(outcome.longest for outcome in counted),
        0 if first else max(each.unbroken for each in played),
    )
    return Verdict(proof, sum(outcome.games for outcome in counted), first)


def program(name: str) -> bytes:
    """Returns the ROM of a game; MissingDependencyError if ale_py does not have it."""
    known = players.ids()
    if name in known:
        name = atari_players.rom_of(registry.find(known[name]).variant)
    return atari.read_rom(name)


def table_of(name: str) -> Path:
    """Returns the file with the proof of a game."""
    return atari_proofs.PLAYERS if name in players.ids() else atari_proofs.PATH


def lengthened(proof: Proof, played: Proof) -> Proof:
    """Returns a game's proof with a long play that followed it."""
    return replace(
        proof,
        frames=proof.frames + played.frames,
        difference=proof.difference or played.difference,
        score=max(proof.score, played.score),
        longest=max(proof.longest, played.longest),
        unbroken=max(proof.unbroken, played.unbroken),
    )


def is_shorter(name: str, frames: int) -> bool:
    """Returns whether no play of a game in the table was so long."""
    proof = atari_proofs.read(table_of(name)).get(name)
    return proof is None or proof.unbroken < frames


def is_stale(name: str) -> bool:
    """Returns whether a game has no proof of its ROM with the sources as they are now.

    An installed package has no sources; there, only the ROM counts.
    """
    proof = atari_proofs.read(table_of(name)).get(name)
    digest = sources.digest(name)
    if proof is None or proof.md5 != md5(program(name)):
        return True
    return digest is not None and proof.sources != digest


def again(outcome: Outcome, frames: int, chosen: Sequence[str]) -> str:
    """Returns the command that plays a session again.

    Args:
        frames: of the whole proof.
        chosen: the builds that were asked for.
    """
    session = outcome.session
    words = ["python -m parallel_pool prove-atari", session.rom, f"--frames {frames}"]
    which = "--long" if session.is_long else f"--session {session.number}"
    return " ".join([*words, which, *(f"--build {b}" for b in chosen)])
