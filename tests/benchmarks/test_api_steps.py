"""Steps of each API in two checkouts: each runs its own package, and CPU time is compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.harness.two_checkouts import ROOT
from benchmarks.studies import api_steps
from tests.benchmarks.made_up import put_python_into

# a package whose steps take a millisecond of CPU time
SLOW_PACKAGE = """
import time

class Envs:
    def reset(self, seed=None):
        pass
    def step(self, action):
        until = time.process_time() + 0.001
        while time.process_time() < until:
            pass
    def close(self):
        pass

def make_vec(*arguments, **options):
    return Envs()
"""


@pytest.fixture
def slow_checkout(tmp_path: Path) -> Path:
    put_python_into(tmp_path)
    (tmp_path / "parallel_pool.py").write_text(SLOW_PACKAGE)
    return tmp_path


@pytest.mark.slow
def test_each_checkout_runs_its_own_package(
    slow_checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api_steps, "SECONDS", 0.02)
    monkeypatch.setattr(api_steps, "WARM_UP", 2)
    assert (
        api_steps.main([str(slow_checkout), "--rounds", "1", "make_vec, infos", "SAME_STEP"]) == 0
    )
    rows = capsys.readouterr().out.splitlines()[4:]
    assert len(rows) == 2
    for row in rows:
        _, count, before, after, ratio = re.findall(r"[^|\s][^|]*[^|\s]", row)
        assert count == "16" and float(before) >= 1000 > float(after)
        assert float(ratio.partition(" ")[0]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("loop", api_steps.LOOPS, ids=lambda loop: f"{loop.title} x {loop.rows}")
def test_loops_run(loop: api_steps.Loop) -> None:
    player = api_steps.player(ROOT, loop, 0)
    assert player.play(3) == 3
    # worker processes are counted, too
    assert (len(player.children) > 1) is ("worker processes" in loop.title)
    player.close()


def test_wrong_arguments_are_refused(
    slow_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        ([str(slow_checkout / "none")], "none has no .venv/bin/python: run make there"),
        ([str(slow_checkout), "--rounds", "0"], "--rounds 0: give 1 or more"),
        ([str(slow_checkout), "nothing", "like it"], "no loop has nothing or like it in its title"),
    ):
        with pytest.raises(SystemExit):
            api_steps.main(arguments)
        assert message in capsys.readouterr().err
