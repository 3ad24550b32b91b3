"""Fixtures of the tests of tasks on `mujoco.batch`."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo writes the warnings of a batch to a file where the program runs."""
    monkeypatch.chdir(tmp_path)
