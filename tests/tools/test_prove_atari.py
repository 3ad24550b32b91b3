"""The command prove-atari: its schedule, the differences that it finds, the table it writes."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from parallel_pool import __main__ as cli
from parallel_pool import _prove_atari as prove_atari
from parallel_pool._command import INTERRUPT_STATUS
from parallel_pool._families import atari, atari_proofs
from parallel_pool._families.atari_proofs import Proof
from parallel_pool._prove_atari import builds, game, match, sources
from parallel_pool._prove_atari.match import Outcome
from parallel_pool._prove_atari.processes import Processes
from parallel_pool._prove_atari.schedule import (
    MAX_SESSION_FRAMES,
    SEARCH_SHARE,
    SEARCHED,
    STYLES,
    Session,
    Style,
    parts,
    schedule,
)
from parallel_pool._prove_atari.sides import Frame
from tests.support.programs import Done, Program

MODES, DIFFICULTIES = (0, 3, 7), (0, 1)


class FakeConsole:
    """A fake console, whose state depends on all actions so far.

    Attributes:
        flaw: what is wrong with it, from its hundredth frame on; "middle" is wrong in the second
            frame of a step only.
        restored: how often `restore` was called, by its argument `elsewhere`.
        seeds: those with which it was switched on again.
    """

    num_actions = 6

    def __init__(
        self, session: Session, flaw: str = "", build: str = "base", *, skips: bool = False
    ) -> None:
        self.flaw = flaw
        self.name, self.skips = f"{build}, skipping frames" if skips else build, skips
        self.seeds: list[int] = []
        self.frame_skip = session.style.frame_skip
        self.state = (session.number, 0)
        self.saved = self.state
        self.frames = 0
        self.restored: Counter[bool] = Counter()

    @property
    def is_wrong(self) -> bool:
        return self.frames > 100

    def reset(self, seed: int | None) -> Frame:
        number = self.state[0]
        if seed is not None:
            self.seeds.append(seed)
            number = seed
        self.state = (number + 1, 0)
        if self.flaw == "reset" and self.is_wrong:
            self.state = (number, 0)
        return self.frame(0, 0)

    def step(self, action: int) -> list[Frame]:
        if self.flaw == "raises" and self.is_wrong:
            raise MemoryError("no more")
        number, age = self.state
        frames = []
        for i in range(self.frame_skip):
            self.frames += 1
            number = (number * 33 + action + 1) % 2**40
            self.state = (number, age + 1)
            frames.append(self.frame(number % 3, i))
        if not self.skips:
            return frames
        return [frames[-1]._replace(reward=sum(frame.reward for frame in frames))]

    def frame(self, reward: int, place: int) -> Frame:
        number, age = self.state
        seen = np.frombuffer(hashlib.sha512(b"%d" % number).digest() * 2, np.uint8).copy()
        screen = np.resize(seen, (5, 4, 3))
        lives = 4 - age // 60
        over = lives == 0
        wrong = self.flaw if self.is_wrong else ""
        if wrong == "ram" or (wrong == "middle" and place == 1):
            seen[77] ^= 1
        if wrong == "screen":
            screen[4, 3, 2] ^= 1
        if wrong == "size":
            screen = screen[:4]
        return Frame(
            reward + (wrong == "reward"),
            lives - (wrong == "lives"),
            over != (wrong == "over"),
            seen,
            screen,
        )

    def save(self) -> None:
        self.saved = self.state

    def restore(self, *, elsewhere: bool) -> None:
        self.restored[elsewhere] += 1
        self.state = self.saved
        if self.flaw == "restore" or (self.flaw == "elsewhere" and elsewhere):
            self.state = (self.saved[0] + 1, self.saved[1])
        if self.flaw == "forgets":
            self.state = (self.saved[0], 0)

    def close(self) -> None:
        pass


class FewActions(FakeConsole):
    num_actions = 5


def session(frames: int = 1500, **style: int) -> Session:
    return Session("pong", 3, frames, Style(**{"hold": 4, "restart": 500, **style}))


def fake_sides(flaw: str, build: str = "v3") -> Callable[..., Iterator[FakeConsole]]:
    """Returns a function like game.our_sides, whose consoles are right except in one build."""

    def sides(each: Session, builds: Sequence[str]) -> Iterator[FakeConsole]:
        for name in builds:
            for skips in (False, True)[: 1 + (each.style.frame_skip > 1)]:
                yield FakeConsole(each, flaw if name == build else "", name, skips=skips)

    return sides


def outcome(flaw: str, **style: int) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game, "Theirs", FakeConsole)
        patch.setattr(game, "our_sides", fake_sides(flaw))
        return game.play(session(1500, **style), ("base", "v3", "v4"))


# ----------------------------------------------------------------------------------- matches --


@pytest.mark.slow
@pytest.mark.parametrize("frame_skip", [1, 4])
def test_equal_sides_play_to_the_end(frame_skip: int) -> None:
    each = session(2000, frame_skip=frame_skip)
    ours, theirs = FakeConsole(each), FakeConsole(each)
    skipping = FakeConsole(each, skips=True)
    played = match.Match(each, [ours, skipping], theirs)
    played.play()
    assert played.frames == theirs.frames == 2000
    assert played.games > 2000 // frame_skip // 240
    # after a restore only our sides play again
    assert ours.frames == skipping.frames > theirs.frames
    assert theirs.restored == {}
    if frame_skip == 1:
        assert ours.restored[False] and ours.restored[True]
        assert theirs.seeds == []
    else:
        # a game that ended is followed by another seed
        assert theirs.seeds and set(ours.seeds) == set(skipping.seeds) == set(theirs.seeds)
        assert len({*theirs.seeds}) == len(theirs.seeds)


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    ("flaw", "words"),
    [
        ("ram", "1 bytes of RAM, first at 0x4d: "),
        ("screen", "1 pixels of the screen, first in row 4, column 3: ["),
        ("size", "screen of shape (4, 4, 3) instead of (5, 4, 3)"),
        ("reward", "reward "),
        ("lives", "lives "),
        ("over", "game over "),
        ("reset", "bytes of RAM"),
        ("raises", "MemoryError: no more"),
        ("restore", "after its state was put into "),
        ("elsewhere", "after its state was put into another environment"),
        ("forgets", "after its state was put into "),
    ],
)
def test_a_difference_is_found(flaw: str, words: str) -> None:
    found = outcome(flaw)
    assert found.difference is not None
    assert words in found.difference
    assert 0 < found.frames < 1500
    if flaw in ("ram", "screen", "reward", "lives", "over", "raises"):
        # at once, and nothing else differs
        assert found.frames <= 101
        assert "; " not in found.difference
    assert outcome(flaw) == found


@pytest.mark.slow
def test_the_build_and_the_frame_that_differ_are_named() -> None:
    assert outcome("ram").difference.endswith("(build v3)")
    # only a console that draws each frame can see what lasts for one frame
    found = outcome("middle", frame_skip=4).difference
    assert found.endswith("(build v3, frame 2 of 4 in its step)")
    assert outcome("middle", frame_skip=1).difference is None


def test_what_only_skipping_does_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def sides(each: Session, builds: Sequence[str]) -> Iterator[FakeConsole]:
        yield FakeConsole(each)
        yield FakeConsole(each, "reward", skips=True)

    monkeypatch.setattr(game, "Theirs", FakeConsole)
    monkeypatch.setattr(game, "our_sides", sides)
    found = game.play(session(frame_skip=4), ("base",)).difference
    assert found.startswith("reward ") and found.endswith("(build base, skipping frames)")


def test_rewards_of_a_step_are_added_for_each_player() -> None:
    blank = np.zeros(1, np.uint8)
    frames = [Frame((1.0, -1.0), (2, 2), False, blank, blank)] * 3
    assert match.whole(frames).reward == (3.0, -3.0)


@pytest.mark.slow
def test_a_proof_says_how_far_play_got() -> None:
    found = outcome("")
    assert found.longest == 240
    assert 100 < found.score < 480


def test_another_set_of_actions_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game, "Theirs", FakeConsole)
    monkeypatch.setattr(game, "our_sides", lambda each, builds: iter([FewActions(each)]))
    found = game.play(session(), ("base",)).difference
    assert found == "5 actions instead of 6 (build base)"


def test_a_console_that_fails_at_creation_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> FakeConsole:
        raise ValueError("mode=3: choose -1, 0")

    monkeypatch.setattr(game, "Ours", refuse)
    found = game.play(session(), ("base",))
    assert found == Outcome(session(), 0, 0, "ValueError: mode=3: choose -1, 0")


@pytest.mark.slow
def test_games_begin_after_an_end_or_as_the_style_says() -> None:
    begun = {}
    for restart in (0, 20):
        each = session(2000, restart=restart)
        played = match.Match(each, [FakeConsole(each)], FakeConsole(each))
        played.play()
        begun[restart] = played.games
    # a fake console's game is over after 240 steps
    assert begun[0] == 9
    assert begun[20] > 50


@pytest.mark.slow
def test_actions_are_held_as_the_style_says() -> None:
    played: dict[int, list[int]] = {}

    class Recording(FakeConsole):
        def step(self, action: int) -> list[Frame]:
            played.setdefault(hold, []).append(action)
            return super().step(action)

    for hold in (1, 30):
        each = session(1500, hold=hold)
        match.Match(each, [FakeConsole(each)], Recording(each)).play()
    changes = {hold: np.count_nonzero(np.diff(actions)) for hold, actions in played.items()}
    assert changes[1] > 1000
    assert 20 < changes[30] < 80


# ---------------------------------------------------------------------------------- schedule --


@pytest.mark.parametrize("frames", [1, 600, 20_000, 20_001, 200_000])
def test_a_schedule_plays_every_mode_difficulty_and_style(frames: int) -> None:
    sessions = schedule("pong", MODES, DIFFICULTIES, frames)
    assert [each.number for each in sessions] == list(range(1, len(sessions) + 1))
    assert sum(each.frames for each in sessions if each.mode is None) == frames
    played: Counter[tuple[int | None, int | None]] = Counter()
    searched: Counter[int | None] = Counter()
    for each in sessions:
        if each.style == SEARCHED:
            searched[each.mode] += each.frames
            assert each.difficulty in (None, *DIFFICULTIES)
            continue
        played[each.mode, each.difficulty] += each.frames
        assert 0 < each.frames <= MAX_SESSION_FRAMES
    assert set(searched) - {None} == set(MODES)
    assert searched[None] == frames // SEARCH_SHARE
    assert all(searched[mode] >= frames // 20 for mode in MODES)
    assert played.keys() - {(None, None)} == {(m, d) for m in MODES for d in DIFFICULTIES}
    for mode in MODES:
        assert sum(played[mode, difficulty] for difficulty in DIFFICULTIES) >= frames // 20
    if frames >= 20_000:
        assert {each.style for each in sessions if each.mode is None} == {*STYLES, SEARCHED}


def test_styles_differ_in_every_setting() -> None:
    assert {style.frame_skip for style in STYLES} >= {1, 4}
    assert {style.full_actions for style in STYLES} == {False, True}
    assert {style.sticky > 0 for style in STYLES} == {False, True}
    assert {style.restart > 0 for style in STYLES} == {False, True}
    assert min(style.hold for style in STYLES) == 1
    assert max(style.hold for style in STYLES) >= 60


def test_parts_are_even() -> None:
    assert list(parts(10, 4)) == [2, 3, 2, 3]
    assert list(parts(1, 1)) == [1]


# --------------------------------------------------------------------------------- the command --


# games of a fake console, each to its end
FAKE_PLAY = [[*range(5)] * 48, [-1]] * 200


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Replaces three games with fake consoles; returns their flaws, by ROM."""
    flaws: dict[str, str] = {}
    known = SimpleNamespace(
        getAvailableModes=lambda: MODES, getAvailableDifficulties=lambda: DIFFICULTIES
    )
    monkeypatch.setattr(game, "oracle", lambda rom: known)
    monkeypatch.setattr(game, "Theirs", FakeConsole)
    monkeypatch.setattr(game, "search_script", lambda *_: itertools.chain([-1], *FAKE_PLAY))

    def sides(each: Session, builds: Sequence[str]) -> Iterator[FakeConsole]:
        return fake_sides(flaws.get(each.rom, ""), builds[0])(each, builds[:1])

    monkeypatch.setattr(game, "our_sides", sides)
    monkeypatch.setattr(prove_atari, "ids", lambda: {"breakout": "", "freeway": "", "pong": ""})
    return flaws


def prove(*arguments: str) -> int:
    """Runs the command in this process."""
    return cli.main(["prove-atari", "--jobs", "1", *arguments])


@pytest.mark.slow
def test_equal_games_are_exact(fakes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert prove("--frames", "600") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "3 of 3 exact" in printed.out
    assert "pong " in printed.out and "breakout " in printed.out


def test_a_difference_fails_and_its_command_repeats_it(
    fakes: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    fakes["pong"] = "screen"
    assert prove("--frames", "600", "pong", "breakout") == 1
    printed = capsys.readouterr().out
    assert "1 of 2 exact" in printed
    (again,) = (line for line in printed.splitlines() if "again: " in line)
    command = again.partition("python -m parallel_pool ")[2].split()
    assert command == ["prove-atari", "pong", "--frames", "600", "--session", "1"]
    (line,) = (line for line in printed.splitlines() if line.startswith("pong: session 1"))
    assert "(build base" in line
    assert cli.main([*command, "--jobs", "1"]) == 1
    assert line in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pnog",), "ale_py has no game 'pnog': did you mean pong or pong_v3?"),
        (("pong", "--frames", "0"), "'0': give 1 or more"),
        (("pong", "--jobs", "many"), "'many': give 1 or more"),
        (("--session", "2"), "--session 2: name the one game"),
        (("pong", "freeway", "--session", "2"), "--session 2: name the one game"),
        (("pong", "--session", "99"), "there is no session 99: choose 1 to 18"),
        (("pong", "--write", "--frames", "19999"), "--write: needs all sessions, of 20000"),
        (("pong", "--write", "--session", "1"), "--write: needs all sessions"),
        (("pong", "--long", "--session", "1"), "--session: a long play is only one"),
        (("pong", "--long", "--write", "--frames", "99999"), "of 100000 frames or more"),
        (("pong", "--write", "--build", "base"), "--write: needs all builds, not --build"),
        (("pong", "--stale"), "--stale: names the games itself: leave out pong"),
        (("pong", "--build", "v9"), "--build v9: this machine can run base"),
        (("pong", "--fast"), "unrecognized arguments: --fast"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: Sequence[str],
    words: str,
    fakes: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        status = prove(*arguments)
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert words in capsys.readouterr().err


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "parallel_pool._prove_atari")
    monkeypatch.setitem(sys.modules, "rich", None)
    assert prove("pong") == 1
    assert capsys.readouterr().err == (
        "parallel_pool prove-atari needs rich, which is not installed:"
        " pip install 'parallel_pool[demo]'\n"
    )


# ------------------------------------------------------------------------------------ the table --


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with two rows, used instead of the package's."""
    path = tmp_path / "proofs.json"
    atari_proofs.merge([Proof("alien", "0a", 5, (0,), (0, 1), "0.1"), OLD], path)
    monkeypatch.setattr(atari_proofs, "PATH", path)
    return path


OLD = Proof("pong", "0b", 6, (0,), (0,), "0.1", "long ago")


@pytest.mark.slow
def test_a_table_is_merged_game_by_game(fakes: dict[str, str], table: Path) -> None:
    fakes["pong"] = "ram"
    assert prove("pong", "breakout", "--write") == 1
    found = atari_proofs.read(table)
    assert list(found) == ["alien", "breakout", "pong"]
    assert found["alien"].md5 == "0a"
    assert found["breakout"].frames == 26_003
    assert found["breakout"].builds == builds.available()
    assert found["breakout"].sources == sources.digest("breakout")
    assert found["breakout"].modes == MODES
    assert found["breakout"].difficulties == DIFFICULTIES
    assert found["breakout"].difference is None
    assert len(found["breakout"].md5) == 32
    assert found["pong"].frames == 104
    assert "session 1 (searched, 4 frames a step), frame 104: 1 b" in found["pong"].difference
    before = table.read_bytes()
    assert prove("breakout", "pong", "--write") == 1
    assert table.read_bytes() == before
    # one line for each game
    assert before.count(b"\n") == 5
    assert set(json.loads(before)) == set(found)


def write_proof(table: Path) -> Proof:
    """Writes a row that proves pong on the sources as they are."""
    md5, digest = atari_proofs.md5(game.program("pong")), sources.digest("pong")
    row = Proof("pong", md5, 20, (0, 1), (0,), "0.1", None, ("base",), digest, 5, 7, 15)
    atari_proofs.merge([row], table)
    return row


@pytest.mark.slow
def test_a_long_play_is_added_to_the_row_of_its_game(
    fakes: dict[str, str],
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "LONG_FRAMES", 3_000)
    assert prove("pong", "--long", "--write") == 2
    expected = "--long --write: pong: prove with these sources first, without --long\n"
    assert capsys.readouterr().err == expected

    row = write_proof(table)
    monkeypatch.setattr(prove_atari, "ids", lambda: {"pong": ""})
    assert prove("--long", "--stale", "--write") == 0
    found = atari_proofs.read(table)["pong"]
    assert found.frames == 3_020 and found.unbroken == 3_000
    assert found.longest > 7 and found.score > 5
    same = replace(found, frames=20, unbroken=15, longest=7, score=5)
    assert same == row
    # what was played for so long is not played again
    assert prove("--long", "--stale", "--write") == 0
    assert "0 of 0 exact" in capsys.readouterr().out
    assert atari_proofs.read(table)["pong"] == found


def test_a_long_play_that_differs_is_no_proof(
    fakes: dict[str, str],
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "LONG_FRAMES", 3_000)
    write_proof(table)
    fakes["pong"] = "screen"
    assert prove("pong", "--long", "--write") == 1
    printed = capsys.readouterr().out
    assert "  again: python -m parallel_pool prove-atari pong --frames 3000 --long" in printed
    found = atari_proofs.read(table)["pong"]
    assert found.difference is not None and found.difference.startswith("long play (actions held")
    assert found.unbroken == 15


@pytest.mark.slow
def test_without_write_the_table_is_unchanged(fakes: dict[str, str], table: Path) -> None:
    before = table.read_bytes()
    assert prove("pong") == 0
    assert table.read_bytes() == before


@pytest.mark.slow
def test_an_interrupted_proof_keeps_whole_games(
    fakes: dict[str, str],
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    play = game.play

    def interrupted(each: Session, builds: Sequence[str]) -> Outcome:
        if each.rom == "pong" and each.number == 5:
            raise KeyboardInterrupt
        return play(each, builds)

    monkeypatch.setattr(game, "play", interrupted)
    assert prove("breakout", "pong", "freeway", "--write") == INTERRUPT_STATUS
    assert capsys.readouterr().err == "interrupted\n"
    found = atari_proofs.read(table)
    assert list(found) == ["alien", "breakout", "pong"]
    assert found["pong"] == OLD

    # --stale goes on with the games that are missing or of other sources
    monkeypatch.setattr(game, "play", play)
    assert prove("--stale", "--write") == 0
    assert "2 of 2 exact" in capsys.readouterr().out
    assert set(atari_proofs.read(table)) == {"alien", "breakout", "freeway", "pong"}
    assert prove("--stale", "--write") == 0
    assert "0 of 0 exact" in capsys.readouterr().out


def test_an_interrupted_write_keeps_the_old_table(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = table.read_bytes()
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        atari_proofs.merge([Proof("breakout", "0c", 7, (0,), (0,), "0.1")], table)
    assert table.read_bytes() == before
    assert list(table.parent.iterdir()) == [table]


@pytest.mark.parametrize(
    "content", ["[", "[]", '{"pong": 3}', '{"pong": {"md5": "0a"}}', '{"pong": {"x": 1}}']
)
def test_an_unusable_table_is_reported_before_the_play(
    content: str, fakes: dict[str, str], table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fakes["pong"] = "raises"
    table.write_text(content)
    assert prove("pong", "--write") == 2
    printed = capsys.readouterr()
    expected = f"--write: {table} can't be written: {table} is not a table of proofs"
    assert printed.err.startswith(expected)
    assert printed.out == ""
    assert table.read_text() == content


# arguments: the table, and the beginning of the ROMs' names
MERGES = """
import pathlib, sys
from parallel_pool._families.atari_proofs import Proof, merge

path, name = sys.argv[1:]
for i in range(60):
    merge([Proof(f"{name}{i}", "0a", 5, (0,), (0,), "0.1")], pathlib.Path(path))
"""


@pytest.mark.slow
def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(MERGES)
    path = tmp_path / "table.json"
    programs = [Program([str(script), str(path), name], tmp_path) for name in "ab"]
    assert [program.end().code for program in programs] == [0, 0]
    assert len(atari_proofs.read(path)) == 120


def test_a_missing_rom_is_reported_before_the_play(
    fakes: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(atari, "read_rom", atari.read_rom.__wrapped__)
    assert prove("pong") == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("the ROM of pong comes with ale-py, which is not installed: pip")
    assert printed.out == ""


def test_a_rom_without_an_exact_proof_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    program = bytes(range(200))
    digest = atari_proofs.md5(program)
    rows = [
        Proof("alien", digest, 20_000, (0,), (0,), "0.12.1"),
        Proof("pong", digest, 3, (0,), (0,), "0.12.1", "frame 3: all"),
    ]
    tables = {atari_proofs.PATH: {each.rom: each for each in rows}}
    monkeypatch.setattr(
        atari_proofs, "committed", lambda path=atari_proofs.PATH: tables.get(path, {})
    )
    reason = atari_proofs.reason
    assert reason("alien", program) is None
    assert reason("alien", program[1:]).startswith("this ROM of alien (md5 ")
    assert reason("pong", program) == "pong differs from ale_py 0.12.1: frame 3: all"
    assert reason("tennis", program).endswith("python -m parallel_pool prove-atari tennis")
    with atari_proofs.proving():
        assert reason("pong", program) is None
    assert reason("pong", program) is not None


# -------------------------------------------------------------------------------- processes --


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_do_every_task(jobs: int) -> None:
    with Processes(jobs) as processes:
        assert sorted(processes.do(abs, [-3, 1, -2])) == [1, 2, 3]
        assert list(processes.do(abs, [])) == []


@pytest.mark.slow
def test_a_dead_process_is_an_error() -> None:
    with Processes(2) as processes, pytest.raises(BrokenProcessPool):
        list(processes.do(os._exit, [3]))


def test_a_proof_whose_process_dies_names_what_it_missed(
    fakes: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = game.play

    def dies(each: Session, builds: Sequence[str]) -> Outcome:
        if each.rom == "pong":
            raise BrokenProcessPool
        return play(each, builds)

    monkeypatch.setattr(game, "play", dies)
    assert prove("breakout", "pong", "freeway", "--frames", "600") == 1
    printed = capsys.readouterr()
    assert "1 of 1 exact" in printed.out
    assert "died before it had played freeway, pong: run them with --jobs 1" in printed.err


# a parent that is killed while both of its processes are at work
ORPHANS = """
import os, pathlib, signal, time
from parallel_pool._prove_atari.processes import Processes

def work(number):
    folder = pathlib.Path(os.environ["MEETING"])
    (folder / str(number)).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    if number == 1:
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1e5)

if __name__ == "__main__":
    with Processes(2) as processes:
        list(processes.do(work, [1, 2]))
"""

# a KeyboardInterrupt while all processes are busy
MIDST = """
import os, pathlib, time
from parallel_pool._prove_atari.processes import Processes

def work(path):
    if path is None:
        return
    path.touch()
    time.sleep(1e5)

if __name__ == "__main__":
    folder = pathlib.Path(os.environ["MEETING"])
    paths = [folder / "0", folder / "1"]
    try:
        with Processes(2) as processes:
            tasks = processes.do(work, [None, *paths])
            next(tasks)
            while not all(path.exists() for path in paths):
                time.sleep(0.01)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("ended")
"""

# Ctrl-C at a terminal, in the middle of a proof that would take hours
INTERRUPT = """
import os, signal, threading
from parallel_pool import __main__ as cli, _prove_atari as prove_atari

choose = prove_atari.choose_sessions

def late(*arguments):
    threading.Timer(0.5, os.killpg, (0, signal.SIGINT)).start()
    return choose(*arguments)

if __name__ == "__main__":
    prove_atari.choose_sessions = late
    raise SystemExit(cli.main(["prove-atari", "pong", "--frames", "9000000", "--jobs", "2"]))
"""


def run(script: str, folder: Path) -> Done:
    """Runs a script and all its processes to their end."""
    path = folder / "script.py"
    path.write_text(script)
    return Program([str(path)], folder).end()


@pytest.mark.slow
def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    assert run(ORPHANS, tmp_path).code == -signal.SIGKILL


@pytest.mark.slow
def test_processes_end_in_the_middle_of_their_tasks(tmp_path: Path) -> None:
    done = run(MIDST, tmp_path)
    assert (done.code, done.out, done.err) == (0, "ended\n", "")


@pytest.mark.slow
def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    done = run(INTERRUPT, tmp_path)
    assert done.code == INTERRUPT_STATUS
    assert done.err == "interrupted\n"
