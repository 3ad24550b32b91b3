"""Tests here need Minari, and a folder of their own for its datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.proofs import plugin

collect_ignore_glob: list[str] = []

try:
    import h5py  # noqa: F401
    import minari  # noqa: F401
except ImportError as error:
    # without Minari, the modules here can't be imported
    REASON = f"recording needs Minari and h5py: {error}"
else:
    REASON = ""


def pytest_itemcollected(item: pytest.Item) -> None:
    plugin.mark_proven(item)


@pytest.fixture(autouse=True)
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Minari's datasets."""
    if REASON:
        pytest.skip(REASON)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path
