"""What holds for all of these tests: which are left out, and how torch works in them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator

import pytest

WHEEL = "test_envpool_wheel.py"

collect_ignore = [] if importlib.util.find_spec("envpool") else [WHEEL]

# Both are read when torch is imported. Threads that wait for each other leave the core to other
# tests, and MKL gives the same bits wherever in memory a matrix lies.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("MKL_CBWR", "AUTO")


def pytest_report_header() -> str:
    if collect_ignore:
        return f"{WHEEL} is left out: EnvPool's wheel comes with pip install --group bench"
    return f"{WHEEL}: EnvPool's wheel is there to compare with"


@pytest.fixture
def torch_threads() -> Iterator[Callable[[int], None]]:
    """Sets how many threads torch has for the rest of a test."""
    # most tests do without it
    import torch

    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
