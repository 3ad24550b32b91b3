"""Options of pytest for tests that are proven, and the mark of folders whose tests all are.

Folders of tests have the options by `register`.
"""

from __future__ import annotations

import sys

import pytest

NAME = "proofs-options"
# of tests that depend on all that is below an API, and on the APIs that they import
BELOW_APIS = pytest.mark.proven("csrc", "parallel_pool/_engine", "parallel_pool/_workers")


def register(manager: pytest.PytestPluginManager) -> None:
    """Adds the options, once for all folders; call it in a conftest's `pytest_addoption`."""
    if not manager.hasplugin(NAME):
        manager.register(sys.modules[__name__], NAME)


def mark_proven(item: pytest.Item) -> None:
    """Marks a test with BELOW_APIS, unless its file says what it depends on.

    Call it in a conftest's `pytest_itemcollected`, which pytest calls for the folder's tests only.
    """
    if not item.get_closest_marker("proven"):
        item.add_marker(BELOW_APIS)


def pytest_addoption(parser: pytest.Parser) -> None:
    options = parser.getgroup("proofs", "tests that are proven (tests/support/proofs)")
    options.addoption(
        "--proofs", metavar="SEED", help="run a sample of proven tests; the seed says which"
    )
    options.addoption(
        "--prove", action="store_true", help="with --proofs: run only tests that are not proven"
    )
    options.addoption(
        "--sanitized",
        metavar="REPORTS",
        help="with --proofs: a sanitizer watches the engine, and writes reports to this path",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--proofs"):
        return
    from tests.support.proofs import runs

    kind = runs.SanitizedRuns if config.getoption("--sanitized") else runs.Runs
    config.pluginmanager.register(kind(config), "proofs")
