"""The hash of the console's sources: what changes it, and which games' hashes change."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from parallel_pool._families import atari_proofs
from parallel_pool._families.atari_proofs import Proof
from parallel_pool._prove_atari import builds, game, players, sources
from parallel_pool._prove_atari.sides import ids

GAMES = ("pong", "breakout", "pong_v3", "foozpong_v3", "boxing_v2")
SINGLE = frozenset({"pong", "breakout"})


@pytest.fixture(autouse=True)
def fresh_caches() -> None:
    sources.shared.cache_clear()
    sources.tokens_of.cache_clear()


@pytest.fixture
def csrc(tmp_path: Path) -> Path:
    """A copy of the sources that may be changed."""
    root = tmp_path / "csrc"
    shutil.copytree(sources.CSRC / "envs" / "atari", root / "envs" / "atari")
    (root / "base").mkdir()
    for path in (sources.CSRC / "base").glob("mt19937.*"):
        shutil.copy(path, root / "base")
    return root


def changed_games(csrc: Path, change: Callable[[], object]) -> set[str]:
    """Returns the games whose hash a change of the copied sources changes."""
    before = {name: sources.digest(name, csrc) for name in GAMES}
    assert None not in before.values()
    change()
    sources.shared.cache_clear()
    sources.tokens_of.cache_clear()
    return {name for name in GAMES if sources.digest(name, csrc) != before[name]}


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1))


@pytest.mark.slow
def test_a_copy_has_the_same_hashes(csrc: Path) -> None:
    for name in GAMES:
        assert sources.digest(name, csrc) == sources.digest(name)


@pytest.mark.slow
def test_every_game_has_a_hash_of_its_own() -> None:
    names = [*ids(), *players.ids()]
    found = {sources.digest(name) for name in names}
    assert len(found) == len(names) > 120
    assert all(digest and len(digest) == 16 for digest in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "games"),
    [
        # what all games share
        ("console/motion.inl", "(70 - 3 * cycle)", "(71 - 3 * cycle)", {*GAMES}),
        ("console/tia_avx2.c", 'target("avx2', 'target("avx512f', {*GAMES}),
        ("picture/palette.c", "FADE(151,", "FADE(152,", {*GAMES}),
        ("games/rules/rule.h", "(byte >> 4) * 10", "(byte >> 4) * 16", {*GAMES}),
        # one game's rule and row
        ("games/rules/pong.c", "== 21", "== 22", {"pong"}),
        ("games/table.def", 'GAME(pong, "Pong"', 'GAME(pong, "P"', {"pong"}),
        ("games/multiplayer/rules/pong.c", "(", "((", {"pong_v3", "foozpong_v3"}),
        ("games/multiplayer/roms.def", "ROM(boxing, NULL", "ROM(boxing, 0", {"boxing_v2"}),
        ("games/multiplayer/pettingzoo.def", "boxing, 2, 2", "boxing, 2, 1", {"boxing_v2"}),
        ("games/multiplayer/rule.h", "kept[4]", "kept[5]", {*GAMES} - SINGLE),
        # what proofs do not compare
        ("picture/screen.c", "#include", "#error", set()),
        ("envpool.c", "#include", "#error", set()),
        # another game
        ("games/rules/qbert.c", "(", "((", set()),
        ("games/games.h", "PP_GAME_COUNT = 104", "PP_GAME_COUNT = 105", set()),
        ("games/table.def", "GAME(qbert", 'GAME(new, "New", "New")\nGAME(qbert', set()),
        # how it is written
        ("console/motion.inl", "int clocks", "  int\n// a remark\nclocks", set()),
        ("console/console.c", '"../games/multiplayer/', '"../../games/', set()),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value else "",
)
def test_a_change_makes_the_proofs_old_that_it_concerns(
    csrc: Path, file: str, old: str, new: str, games: set[str]
) -> None:
    path = csrc / "envs" / "atari" / file
    assert changed_games(csrc, lambda: replace(path, old, new)) == games


@pytest.mark.slow
def test_names_of_files_do_not_count(csrc: Path) -> None:
    folder = csrc / "envs" / "atari" / "console"
    assert changed_games(csrc, lambda: (folder / "dpc.c").rename(folder / "chip.c")) == set()
    assert changed_games(csrc, lambda: (folder / "chip.c").unlink()) == {*GAMES}


def test_an_installed_package_has_no_hash(tmp_path: Path) -> None:
    assert sources.digest("pong", tmp_path) is None


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("a + b; // sum", "a/* the */+\n\tb;", True),
        ("a + +b", "a ++b", False),
        ("int x", "intx", False),
        ('"a  b"', '"a b"', False),
        ('"// text"', '""', False),
        ("'\"' /* x */ '\"'", "'\"' '\"'", True),
        ("#define X a\nb", "#define X a b\n", False),
        ("#define X \\\n  a\nb", "#define   X a /* long\n remark */\nb", True),
        ('#include "../x/y.h"', '#include "y.h"', True),
        ('#include "y.h"', '#include "z.h"', False),
        ("0x1.8p+1f", "0x1.8p +1f", False),
        ("enum { PP_GAME_COUNT = 1 };", "enum { PP_GAME_COUNT = 2 };", True),
        ("enum { PP_SIZE = 1 };", "enum { PP_SIZE = 2 };", False),
    ],
)
def test_only_tokens_count(one: str, other: str, are_same: bool) -> None:
    assert (list(sources.tokens(one)) == list(sources.tokens(other))) == are_same


def test_a_row_is_found_by_its_first_arguments() -> None:
    tokens = list(sources.tokens("GAME(ab, f(1, 2), {3}) GAME(a, g(4)) GAME(b)"))
    assert "".join(sources.row(tokens, "GAME", "a")) == "GAME(a,g(4))"
    assert "".join(sources.row(tokens, "GAME", "ab")) == "GAME(ab,f(1,2),{3})"
    with pytest.raises(LookupError, match=r"no row GAME\(c, ...\)"):
        sources.row(tokens, "GAME", "c")


def test_a_proof_of_other_sources_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "proofs.json"
    monkeypatch.setattr(atari_proofs, "PATH", path)
    assert game.is_stale("pong")
    digest = atari_proofs.md5(game.program("pong"))
    row = Proof("pong", digest, 9, (0,), (0,), "0.1", None, ("base",), sources.digest("pong"))
    atari_proofs.merge([row], path)
    assert not game.is_stale("pong")
    monkeypatch.setattr(sources, "digest", lambda name: "0123456789abcdef")
    assert game.is_stale("pong")
    monkeypatch.setattr(sources, "digest", lambda name: None)
    assert not game.is_stale("pong")
    atari_proofs.merge([Proof("pong", "other", 9, (0,), (0,), "0.1")], path)
    assert game.is_stale("pong")


def test_a_module_that_is_older_than_a_source_is_noticed(
    csrc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CSRC", csrc)
    for path in csrc.rglob("*"):
        os.utime(path, (0, 0))
    assert sources.newer_than_module() is None
    newer = csrc / "envs" / "atari" / "console" / "tia.inl"
    os.utime(newer, (2**33, 2**33))
    assert sources.newer_than_module() == newer


def test_a_build_is_used_within_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(builds.VARIABLE, raising=False)
    with builds.using("v3"), builds.using("base"):
        assert os.environ[builds.VARIABLE] == "base"
    assert builds.VARIABLE not in os.environ
    monkeypatch.setenv(builds.VARIABLE, "base")
    with builds.using("v3"):
        pass
    assert os.environ[builds.VARIABLE] == "base"
