"""Tests of the benchmarks: what they depend on."""

from __future__ import annotations

import pytest

from tests.support.proofs import plugin


def pytest_itemcollected(item: pytest.Item) -> None:
    plugin.mark_proven(item, "benchmarks", "parallel_pool/_bench")
