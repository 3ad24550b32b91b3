"""Comparing two checkouts: each plays its own code in processes of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.studies import checkouts
from tests.benchmarks.made_up import put_python_into

# a module of scenes that prints, as some packages do, and whose player does 20 steps per second:
# ours is faster on any machine
SLOW_SCENES = """
import time
from types import SimpleNamespace as Made

class Player:
    children = ()
    def play(self, batches):
        time.sleep(batches / 20)
        return batches
    def close(self):
        pass

print("hello from the scenes")
ours = [Made(name="parallel_pool.make", make=lambda task: Player())]
RACES = [Made(name="cartpole-1", task=None, ours=ours)]
"""
NO_SCENES = "RACES = ()"

# the modules of such a checkout: of today's, and of those that had no folders in `benchmarks`
CHECKOUTS = {
    "folders": {
        "__init__": "",
        "scenes/__init__": "",
        "scenes/native_scenes": SLOW_SCENES,
        "scenes/python_scenes": NO_SCENES,
    },
    "flat": {"__init__": "", "scenes": SLOW_SCENES, "python_scenes": NO_SCENES},
}


@pytest.fixture(params=CHECKOUTS)
def slow_checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    put_python_into(tmp_path)
    for name, text in CHECKOUTS[request.param].items():
        file = tmp_path / "benchmarks" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


@pytest.mark.slow
def test_each_checkout_plays_its_own_code(
    slow_checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkouts, "EFFORT", replace(checkouts.EFFORT, seconds=0.02, turns=2))
    scene = checkouts.RACES["cartpole-1"]
    row = checkouts.compare(slow_checkout, scene, "parallel_pool.make", rounds=2)
    name, who, before, after, times, _ = re.findall(r"[^|\s][^|]*[^|\s]", row)
    assert (name, who) == ("cartpole-1", "parallel_pool.make")
    assert 0 < float(before.replace(",", "")) <= 20 < float(after.replace(",", ""))
    assert float(times.partition(" ")[0]) > 1


def test_wrong_arguments_are_refused(
    tmp_path: Path, slow_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        checkouts.main([str(tmp_path / "none")])
    assert "none has no .venv/bin/python: run make there" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        checkouts.main([str(slow_checkout), "cartpole-2"])
    assert "no scene cartpole-2: choose from cartpole-1024" in capsys.readouterr().err


@pytest.mark.slow
def test_players_that_the_other_checkout_lacks_are_named(
    slow_checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # the other checkout lacks a whole scene, and a player of one that it has
    monkeypatch.setattr(checkouts, "compare", lambda before, scene, *_: f"{scene.name} is compared")
    assert checkouts.main([str(slow_checkout), "--rounds", "1", "taxi-1024", "cartpole-1"]) == 0
    assert capsys.readouterr().out.splitlines()[4:] == [
        "| taxi-1024 | parallel_pool.make | not there | | | |",
        "cartpole-1 is compared",
        "| cartpole-1 | parallel_pool.make_vec | not there | | | |",
    ]


def test_a_checkout_whose_scenes_cannot_be_imported_is_refused(
    slow_checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for scenes in (slow_checkout / "benchmarks").rglob("*scenes.py"):
        scenes.write_text("import nothing_of_that_name")
    with pytest.raises(SystemExit):
        checkouts.main([str(slow_checkout)])
    out, errors = capfd.readouterr()
    assert "No module named 'nothing_of_that_name'" in errors
    assert "its scenes can't be imported, for the reason above" in errors and not out
