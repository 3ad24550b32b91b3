"""A short form of the proof of every Atari game: compares our console with ale_py by frames."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from parallel_pool.__main__ import LONG_FRAMES
from parallel_pool._engine.pool import Pool
from parallel_pool._families import atari, atari_proofs
from parallel_pool._families.atari_proofs import Proof
from parallel_pool._prove_atari import builds, game, sources
from parallel_pool._prove_atari.match import Outcome
from parallel_pool._prove_atari.schedule import SEARCHED, Session, Style
from parallel_pool._prove_atari.sides import Theirs, ids
from tests.support.sampling import FEW_ATARI_GAMES, sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")

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


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize("rom", sampled(sorted(TABLE), FEW_ATARI_GAMES))
def test_game_is_still_exact(rom: str) -> None:
    """The best build, on frames after one another, and on every frame of steps of four."""
    proof = TABLE[rom]
    assert proof.difference is None
    for session in short(proof):
        found = game.play(session, builds.available()[-1:])
        assert found.difference is None
        assert found.frames >= session.frames
    # the proof covered all modes and difficulties
    ale = Theirs(session).ale
    assert sorted(ale.getAvailableModes()) == list(proof.modes)
    assert sorted(ale.getAvailableDifficulties()) == list(proof.difficulties)
    assert proof.frames >= FRAMES + MODE_FRAMES * len(proof.modes)


@pytest.mark.slow
@pytest.mark.parametrize("rom", ["seaquest", "pitfall2"])
def test_all_builds_are_exact_side_by_side(rom: str) -> None:
    session = Session(rom, 3, 120, Style(3, frame_skip=4, sticky=0.25, restart=20))
    assert game.play(session, builds.available()).difference is None


def test_comparison_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The consoles play the same game, but in different modes."""
    other = Session("pong", 1, 300, Style(8), mode=1, difficulty=0)
    monkeypatch.setattr(game, "Theirs", lambda session: Theirs(other))
    found = game.play(Session("pong", 1, 300, Style(8)), builds.available())
    assert found.difference is not None
    assert "bytes of RAM" in found.difference and "(build base" in found.difference


@pytest.mark.slow
def test_a_search_plays_better_than_chance() -> None:
    """Its play is the same each time, and ale_py's console plays it, too."""
    session = Session("breakout", 1, 800, SEARCHED)
    script = game.search_script(session, builds.available()[-1])
    assert script == game.search_script(session, "base")
    found = play(session, script)
    assert found.difference is None
    by_chance = play(Session("breakout", 1, 800, Style(1, frame_skip=4)), None)
    assert found.score >= 5 > by_chance.score
    assert found.longest > by_chance.longest


def play(session: Session, script: list[int] | None) -> Outcome:
    """Plays a session with these moves on the best build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game, "search_script", lambda session, build: script)
        return game.play(session, builds.available()[-1:])


def test_pictures_are_the_same_in_every_build() -> None:
    seen = []
    for build in builds.available():
        with builds.using(build), closing(Pool("Breakout-v5", 2, seed=1, num_threads=1)) as pool:
            pool.reset()
            moves = np.random.default_rng(1).integers(4, size=(40, 2))
            seen.append([pool.step(move).obs for move in moves])
    for frames in zip(*seen, strict=True):
        for frame in frames[1:]:
            np.testing.assert_array_equal(frame, frames[0])


@pytest.mark.parametrize("name", ["Pong-v5", "ALE/Pong-v5", "atari/pong_v3"])
def test_a_build_that_does_not_exist_is_refused(name: str) -> None:
    message = r"PP_ATARI_BUILD=v9: choose base, v3 \(AVX2\) or v4 \(AVX-512\), as far as"
    with builds.using("v9"), pytest.raises(ValueError, match=message):
        Pool(name)


def test_table_has_every_game() -> None:
    assert TABLE.keys() == ids().keys()
    for rom in TABLE:
        assert TABLE[rom].md5 == atari_proofs.md5(atari.read_rom(rom))
    assert atari_proofs.PATH.read_text() == atari_proofs.text(TABLE)


@pytest.mark.parametrize("path", [atari_proofs.PATH, atari_proofs.PLAYERS], ids=lambda p: p.stem)
def test_proofs_are_of_these_sources(path: Path) -> None:
    """If this fails, the console's C sources were changed after the games were proven."""
    found = atari_proofs.committed(path)
    stale = [rom for rom in found if found[rom].sources != sources.digest(rom)]
    several = " --players" if path == atari_proofs.PLAYERS else ""
    assert not stale, (
        f"{len(stale)} proofs in {path.name} are of other sources, such as {stale[0]}:"
        f" make build, then python -m parallel_pool prove-atari --stale --write{several}"
    )
    assert all("base" in proof.builds for proof in found.values())
    shorter = [rom for rom in found if found[rom].unbroken < LONG_FRAMES]
    assert not shorter, (
        f"{len(shorter)} games in {path.name} were not played for {LONG_FRAMES} frames in one"
        f" piece, such as {shorter[0]}: python -m parallel_pool prove-atari --long --stale --write"
        f"{several}"
    )
