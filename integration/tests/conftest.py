"""Settings of all integration tests: which are left out, and how torch and JAX compute."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator

import pytest

from tests.support.proofs import plugin

WHEEL = "test_envpool_wheel.py"

collect_ignore = [] if importlib.util.find_spec("envpool") else [WHEEL]

# torch reads both when it is imported. With the first, waiting threads leave the core to other
# tests; with the second, MKL's results don't depend on where a matrix lies in memory.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("MKL_CBWR", "AUTO")
# JAX reads it when it starts. What these tests train is compiled for longer than it runs.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    plugin.register(pluginmanager)


def pytest_itemcollected(item: pytest.Item) -> None:
    # they train, for long
    item.add_marker(pytest.mark.slow)
    plugin.mark_proven(item)


def pytest_report_header() -> str:
    if collect_ignore:
        return f"{WHEEL} is left out: EnvPool's wheel comes with pip install --group bench"
    return f"{WHEEL}: EnvPool's wheel is installed"


@pytest.fixture
def torch_threads() -> Iterator[Callable[[int], None]]:
    """Returns a function that sets torch's number of threads for the rest of a test."""
    # imported here, as most tests don't need torch
    import torch

    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
