"""Every planted difference is found, and the program that the prover prints repeats it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies.planted_ports import PLANTED, Planted
from benchmarks.studies.prover import search
from tests.tools.check_sources import OF_CHECK

pytestmark = pytest.mark.proven(*OF_CHECK, "benchmarks/studies/ports")

# of single environments: a budget of steps, so that the outcome is the same on each machine
STEPS = 20_000


def test_there_are_enough() -> None:
    assert len(PLANTED) >= 20 and len({each.port for each in PLANTED}) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=lambda it: it.name)
def test_a_planted_difference_is_found_and_repeated(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # compiled sooner, with the same bits
    monkeypatch.setenv("CFLAGS", "-O1")
    found = search(planted, tmp_path, STEPS)
    assert found.place.startswith(planted.place) and found.place, found
    assert found.status == 1
