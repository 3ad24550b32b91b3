"""Every planted difference is found, and the program that the prover prints repeats it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parallel_pool._prover.prove import Settings, run, write_program
from tests.tools.planted_ports import PLANTED, REFERENCES, ROOT, Planted

# of single environments
STEPS = 20_000


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # compiled sooner, with the same bits
    monkeypatch.setenv("CFLAGS", "-O1")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda it: it.name)
def test_a_planted_difference_is_found_and_repeated(planted: Planted) -> None:
    Path("port.c").write_text(planted.text())
    modes = (planted.mode,) if planted.mode else Settings.modes
    begun = time.perf_counter()
    settings = Settings(steps=STEPS, seconds=60, modes=modes, coverage=False)
    outcome = run("port.c", REFERENCES[planted.port], settings)
    seconds = time.perf_counter() - begun
    assert outcome.finding is not None, outcome.proof.report
    steps = sum(len(actions) for _, actions in outcome.finding.script.segments())
    print(f"{planted.name}: {seconds:.1f} s, {steps} steps\n{outcome.text}")
    names = re.escape(f"port.c and {outcome.proof.reference} differ: ")
    assert re.match(names + re.escape(planted.place), outcome.text), outcome.text
    path = write_program(outcome.program, "again.py")
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 1, done.stderr
    assert planted.place == "error" or done.stdout.startswith("ours "), done.stderr
