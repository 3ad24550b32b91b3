"""The program in examples/ that needs Ray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.examples import CLUSTER, output_of


def test_the_example_runs(cluster: Any, tmp_path: Path) -> None:
    printed = output_of(CLUSTER, tmp_path, RAY_ADDRESS=cluster.address)
    assert "64 environments in the workers of cluster: (64, 4)" in printed
