"""The proof of one game: its sessions, how one is played, and their result."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from ale_py import __version__ as ale_version

from parallel_pool import registry
from parallel_pool.envs import atari, atari_players
from parallel_pool.envs.atari_proofs import Proof, md5
from parallel_pool.prove_atari import players
from parallel_pool.prove_atari.match import Differs, Match, Outcome
from parallel_pool.prove_atari.schedule import Session, schedule
from parallel_pool.prove_atari.sides import Ours, Theirs, oracle


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


def sessions(rom: str, frames: int) -> list[Session]:
    """Returns a game's sessions, in all modes and difficulties that ale_py or PettingZoo offers."""
    if rom in players.ids():
        return schedule(rom, list(players.settings(rom)), [0], frames)
    ale = oracle(rom)
    return schedule(rom, ale.getAvailableModes(), ale.getAvailableDifficulties(), frames)


def play(session: Session) -> Outcome:
    """Plays a session on both consoles; an exception from either of them is a difference."""
    match = None
    found: str | None = None
    try:
        several = session.rom in players.ids()
        with closing(players.Ours(session) if several else Ours(session)) as ours:
            match = Match(session, ours, (players.Theirs if several else Theirs)(session))
            match.play()
    except Differs as error:
        found = str(error)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    frames, games = (match.frames, match.games) if match else (0, 0)
    return Outcome(session, frames, games, found)


def verdict(outcomes: Sequence[Outcome]) -> Verdict:
    """Combines the outcomes of all sessions of a game."""
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
    )
    return Verdict(proof, sum(outcome.games for outcome in counted), first)


def program(name: str) -> bytes:
    """Returns the ROM of a game; MissingDependencyError if ale_py does not have it."""
    known = players.ids()
    if name in known:
        name = atari_players.rom_of(registry.find(known[name]).variant)
    return atari.read_rom(name)


def again(outcome: Outcome, frames: int) -> str:
    """Returns the command that plays a session again; frames: of the whole proof."""
    session = outcome.session
    return (
        f"python -m parallel_pool prove-atari {session.rom}"
        f" --frames {frames} --session {session.number}"
    )
