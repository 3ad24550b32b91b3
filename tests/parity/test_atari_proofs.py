"""A short form of the proof of every Atari game: compares our console with ale_py by frames."""

from __future__ import annotations

from contextlib import closing

import pytest

from parallel_pool.envs import atari, atari_proofs
from parallel_pool.envs.atari_proofs import Proof
from parallel_pool.prove_atari.match import Differs, Match
from parallel_pool.prove_atari.schedule import Session, Style
from parallel_pool.prove_atari.sides import Ours, Theirs, ids
from tests.sampling import FEW_ATARI_GAMES, sampled

TABLE = atari_proofs.committed()

# the least frames of a proof, and for each mode: see `python -m parallel_pool prove-atari --help`
FRAMES = 20_000
MODE_FRAMES = 1_000


def short(proof: Proof) -> list[Session]:
    """Returns two sessions: the default setting, and the last mode and difficulty."""
    mode, difficulty = proof.modes[-1], proof.difficulties[-1]
    played_hard = Style(6, frame_skip=4, sticky=0.25, full_actions=True)
    return [
        Session(proof.rom, 1, 150, Style(8)),
        Session(proof.rom, 2, 150, played_hard, mode, difficulty),
    ]


@pytest.mark.parametrize("rom", sampled(sorted(TABLE), FEW_ATARI_GAMES))
def test_game_is_still_exact(rom: str) -> None:
    proof = TABLE[rom]
    assert proof.difference is None
    for session in short(proof):
        with closing(Ours(session)) as ours:
            theirs = Theirs(session)
            match = Match(session, ours, theirs)
            match.play()
        assert match.frames >= session.frames
    # the proof covered all modes and difficulties
    assert sorted(theirs.ale.getAvailableModes()) == list(proof.modes)
    assert sorted(theirs.ale.getAvailableDifficulties()) == list(proof.difficulties)
    assert proof.frames >= FRAMES + MODE_FRAMES * len(proof.modes)


def test_comparison_can_fail() -> None:
    """Both consoles play the same game, but in different modes."""
    session = Session("pong", 1, 300, Style(8))
    other = Session("pong", 1, 300, Style(8), mode=1, difficulty=0)
    with closing(Ours(session)) as ours, pytest.raises(Differs, match="bytes of RAM"):
        Match(session, ours, Theirs(other)).play()


def test_table_has_every_game() -> None:
    assert TABLE.keys() == ids().keys()
    for rom in TABLE:
        assert TABLE[rom].md5 == atari_proofs.md5(atari.read_rom(rom))
    assert atari_proofs.PATH.read_text() == atari_proofs.text(TABLE)
