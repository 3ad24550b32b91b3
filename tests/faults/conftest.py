"""Tests that make something fail: what they depend on, and a fixture of those that run programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.failing_envs import QUIET
from tests.support.programs import PRELUDE, Program
from tests.support.proofs import plugin


def pytest_itemcollected(item: pytest.Item) -> None:
    plugin.mark_proven(item)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts scripts, each preceded by `PRELUDE`, and kills those that the test leaves running.

    They do not print that workers take long to end, unless `env` has other PYTHONWARNINGS.
    """
    started = []

    def start(script: str, *arguments: str, **options: Any) -> Program:
        path = tmp_path / "script.py"
        path.write_text(PRELUDE + script)
        options["env"] = {"PYTHONWARNINGS": QUIET, **options.get("env", {})}
        started.append(Program([str(path), *arguments], tmp_path, **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()
