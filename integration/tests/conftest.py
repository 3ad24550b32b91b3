"""Settings of all integration tests: which are left out, and how torch and JAX compute."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.support.proofs import plugin

WHEEL = "test_envpool_wheel.py"

collect_ignore = [] if importlib.util.find_spec("envpool") else [WHEEL]

# files whose tests train, for long; with what they depend on besides the engine and their imports
TRAINING: dict[str, Sequence[str]] = {
    **dict.fromkeys(("comparison", "gymnax_libraries", "gymnax_ppo", "jax_ppo"), ()),
    **dict.fromkeys(("policy_sync", "ppo", "python_env", "python_environments"), ()),
    **dict.fromkeys(("quadruped", "robots", "sb3_training", "shared_ppo"), ()),
    "training_libraries": (
        *("docs/training-libraries.md", "docs/rllib.md"),
        *(f"parallel_pool/_apis/{name}" for name in ("envpool", "jax", "torch")),
    ),
}

# torch reads both when it is imported. With the first, waiting threads leave the core to other
# tests; with the second, MKL's results don't depend on where a matrix lies in memory.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("MKL_CBWR", "AUTO")
# JAX reads it when it starts. What these tests train is compiled for longer than it runs.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    plugin.register(pluginmanager)


def pytest_itemcollected(item: pytest.Item) -> None:
    more = TRAINING.get(item.path.stem.removeprefix("test_"))
    if more is not None:
        item.add_marker(pytest.mark.slow)
        plugin.mark_proven(item, "integration/results", *more)


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
