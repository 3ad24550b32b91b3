"""Comparing two checkouts: each plays its own code in processes of its own."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import checkouts

# the modules of a checkout whose player does a step in a millisecond
SLOW_CHECKOUT = {
    "__init__": "",
    "python_scenes": "RACES = ()",
    "scenes": """
import time
from types import SimpleNamespace as Made

class Player:
    children = ()
    def play(self, batches):
        time.sleep(batches / 1000)
        return batches
    def close(self):
        pass

ours = [Made(name="parallel_pool.make", make=lambda task: Player())]
RACES = [Made(name="cartpole-1", task=None, ours=ours)]
""",
}


@pytest.fixture
def slow_checkout(tmp_path: Path) -> Path:
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "benchmarks").mkdir()
    for name, text in SLOW_CHECKOUT.items():
        (tmp_path / "benchmarks" / f"{name}.py").write_text(text)
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
    assert 0 < float(before.replace(",", "")) <= 1000 < float(after.replace(",", ""))
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
