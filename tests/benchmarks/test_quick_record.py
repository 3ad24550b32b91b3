"""The quick benchmark's file, table, page and command: what they show, and files that are wrong."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from parallel_pool import __main__ as cli
from parallel_pool._bench import page, quick, quick_command, quick_scenes, record, table, tree
from parallel_pool._bench.outcome import Played
from parallel_pool._bench.record import Measured, Record, RecordError
from parallel_pool._bench.rounds import Sample
from parallel_pool._command import INTERRUPT_STATUS
from tests.support.timeouts import wait_for

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = sorted((ROOT / "benchmarks" / "results" / "quick").glob("*"))


def played(who: str, role: str, steps: int) -> Played:
    """A player that takes half a second for each of three rounds, and a whole one of CPU time."""
    return Played(who, "2 threads", role, [Sample(steps * i, 0.5, 1.0) for i in (9, 10, 11)])


def pong(lost: str = "them was not measured: it fell") -> Measured:
    players = [played("us", "ours", 2000), played("<them>", "only", 100)]
    return Measured("pong-16", "Pong", 4, players, [lost], ["x is not installed: pip install x"])


def made_up(*scenes: Measured) -> Record:
    facts = {"cpu": "A <b>CPU</b>", "cores": 8, "system": "Linux", "python": "3.11"}
    facts |= {"versions": {"numpy": "2", "envpool": None}, "time": "now", "load": [0.1]}
    return Record("a-cpu", facts, list(scenes or [pong()]), is_complete=True)


def test_a_file_holds_every_round(tmp_path: Path) -> None:
    text = record.to_text(made_up())
    (tmp_path / "a.json").write_text(text)
    assert "[18000, 0.5, 1.0]" in text
    assert record.read(tmp_path / "a.json") == made_up()


def test_the_table_has_our_speed_the_ratios_and_what_is_missing() -> None:
    lines = table.scene_table(pong(), made_up()).splitlines()
    assert lines == [
        "Pong",
        "          runs on    steps/s  spread  per core  ours is  reference",
        "  us      2 threads   40.0 k     5 %    20.0 k              40.0 k",
        "  <them>  2 threads   2.00 k     5 %    1.00 k    20.0x     2.00 k",
        "  a step is 4 frames",
        "  them was not measured: it fell",
        "  x is not installed: pip install x",
    ]


class Checked(HTMLParser):
    """Checks that every element ends, and that none loads something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe")
        assert not [value for name, value in attrs if name == "href" and value[:1] != "#"]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(records: list[Record], reference: Record, label: str = "") -> str:
    """Returns the text of a page."""
    html = page.of(records, reference, label)
    assert "url(" not in html and "@import" not in html
    checked = Checked()
    checked.feed(html)
    assert checked.open == []
    return " ".join(checked.text.split())


def test_the_page_shows_both_machines_with_units() -> None:
    text = shown([made_up()], made_up(pong("nothing")), "this machine")
    for words in (
        *("40.0 k steps/s", "160 k frames/s", "20.0 k steps/s per core", "ours is 20.0x"),
        *("<them>", "A <b>CPU</b>, 8 cores usable", "them was not measured: it fell"),
        *("numpy 2", "x is not installed: pip install x", "this machine", "reference"),
        "frames/s are steps/s x 4",
    ):
        assert words in text
    assert text.count("quartiles 38.0 k - 42.0 k steps/s") == 2
    assert "interrupted" not in text and "envpool" not in text


def test_a_page_may_have_scenes_that_one_machine_lacks() -> None:
    lacks = Measured("halfcheetah-16", "HalfCheetah", 1, [], [], ["mujoco is not installed: pip"])
    partial = made_up(Measured("new", "New", 1, [played("us", "ours", 1)]), lacks)
    partial.is_complete = False
    text = shown([partial, made_up()], made_up())
    assert text.count("not measured") >= 6 and "; interrupted" in text and "New" in text
    assert "mujoco is not installed: pip" in text and "this machine" not in text


def changed(path: str, value: Any) -> Any:
    """Returns the plain data of a record with another value at a path, such as "scenes.0.name"."""
    data = copy.deepcopy(record.to_json(made_up()))
    *parents, last = [int(word) if word.isdecimal() else word for word in path.split(".")]
    place: Any = data
    for each in parents:
        place = place[each]
    place[last] = value
    return data


PLAYER = "scenes.0.players.0"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "the file is no object"),
        ({}, "its schema is None, and this version reads 1"),
        (changed("schema", 2), "its schema is 2"),
        (changed("columns", ["steps"]), "its columns are not steps, seconds, cpu_seconds"),
        (changed("scenes", []), "it has no scenes"),
        (changed("scenes", [1]), r"scenes\[0\] is no object"),
        (changed("name", "a\x1b[2J"), "name is not one line"),
        (changed("name", "a" * 2000), "name is not one line of at most 1000 letters"),
        (changed("machine.cores", True), "machine.cores is not a number"),
        (changed("machine.versions", {"numpy": 2}), "machine.versions.numpy is no text"),
        (changed(f"{PLAYER}.rounds", []), r"players\[0\] has no rounds"),
        (changed(f"{PLAYER}.rounds", [[1, 1]]), r"rounds\[0\] has 2 numbers, not 3"),
        (changed(f"{PLAYER}.rounds", [[1, 0, 1]]), r"rounds\[0\]\[1\] is not a number from"),
        (changed(f"{PLAYER}.rounds.0.1", float("nan")), r"rounds\[0\]\[1\] is not a number from"),
        (changed(f"{PLAYER}.rounds", [[1, 1, 1]]), "have different numbers of rounds"),
        (changed(f"{PLAYER}.rounds", [[1, 1, 1]] * 101), "has 101 entries, more than 100"),
        (changed("scenes.0.lost", "no"), "lost is no array"),
    ],
)
def test_a_wrong_file_is_named_in_a_clause(data: Any, words: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(data))
    with pytest.raises(RecordError, match=words):
        record.read(file)


@pytest.mark.parametrize("text", [b"\xff", b"{", b"[" * 100_000, b" " * 1_000_001])
def test_what_is_no_file_of_results_is_one_sentence(
    text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(text)
    with pytest.raises(SystemExit):
        cli.main(["bench", "--quick", "--out", str(tmp_path), "--read", str(file)])
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"a.json': it .*: give a bench.json that bench --quick wrote$", error)


def test_files_are_read_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    file.write_text(record.to_text(made_up()))
    words = ["bench", "--quick", "--out", str(tmp_path / "new"), "--read", str(file), str(file)]
    assert cli.main(words) == 0
    assert "a-cpu: A <b>CPU</b>, 8 cores" in capsys.readouterr().out
    html = (tmp_path / "new" / "bench.html").read_text()
    assert "A &lt;b&gt;CPU&lt;/b&gt;" in html and "<b>CPU" not in html


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_the_command_writes_the_scenes_that_are_done(
    is_interrupted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(scenes: Any, seconds: float, *, begin: Callable[..., quick.Tick]) -> Iterator[Measured]:
        begin(scenes[0])(0.5)
        yield pong()
        if is_interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(quick_command.quick, "run", run)
    status = cli.main(["bench", "--quick", "--out", str(tmp_path)])
    assert status == (130 if is_interrupted else 0)
    out, error = capsys.readouterr()
    assert "1 of 6: CartPole-v1, 1 environment" in out and "40.0 k" in out
    assert error == ("interrupted\n" if is_interrupted else "")
    found = record.read(tmp_path / "bench.json")
    assert found.is_complete is not is_interrupted and len(found.scenes) == 1
    assert ("; interrupted" in (tmp_path / "bench.html").read_text()) is is_interrupted


def test_a_run_without_players_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = Measured("pong-16", "Pong", 4, [], ["us was not measured: it fell"])
    monkeypatch.setattr(quick_command.quick, "run", lambda *args, **more: iter([nothing]))
    assert cli.main(["bench", "--quick", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "nothing was measured: the reasons are above\n"


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: file.name)
def test_committed_results_are_complete(file: Path) -> None:
    found = record.read(file)
    assert found.is_complete
    assert [scene.name for scene in found.scenes] == list(quick_scenes.MEANS)
    assert all(scene.played for scene in found.scenes)
    assert re.fullmatch(rf"{re.escape(found.name)}(-.+)?\.json", file.name)


def test_the_packages_reference_is_one_of_the_committed_results() -> None:
    shipped = (ROOT / "parallel_pool" / "_bench" / record.REFERENCE).read_bytes()
    assert shipped in [file.read_bytes() for file in COMMITTED]
    assert len(shipped) < 20_000


def is_running(pid: int) -> bool:
    with suppress(*tree.GONE):
        return tree.fields(pid)[0] != "Z"
    return False


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(tmp_path: Path) -> None:
    words = ["bench", "--quick", "cartpole-1", "cartpole-64", "--out", str(tmp_path)]
    # in a new session: the signal goes to the process group, as from a terminal
    with subprocess.Popen(
        [sys.executable, "-m", "parallel_pool", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if line.startswith("2 of 2"))
        while not (players := tree.descendants(process.pid)):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=200)
    assert process.returncode == INTERRUPT_STATUS
    assert error == "interrupted\n"
    found = record.read(tmp_path / "bench.json")
    assert [scene.name for scene in found.scenes] == ["cartpole-1"] and not found.is_complete
    # the workers of a player end after it, and stay zombies until init reaps them
    wait_for(lambda: not any(is_running(pid) for pid in players))
