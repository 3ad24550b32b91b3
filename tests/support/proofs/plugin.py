"""Options of pytest for tests that are proven, and the mark of folders whose tests all are.

Folders of tests have the options by `register`.
"""

from __future__ import annotations

import sys

import pytest

NAME = "proofs-options"

# folders and files of the package that all APIs share
ENGINE = (
    *("_engine", "_workers", "_tracing", "_native.py", "_lazy.py", "_include.py"),
    *("_system.py", "_command.py", "errors.py"),
)


def register(manager: pytest.PytestPluginManager) -> None:
    """Adds the options, once for all folders; call it in a conftest's `pytest_addoption`."""
    if not manager.hasplugin(NAME):
        manager.register(sys.modules[__name__], NAME)


def mark_proven(item: pytest.Item, *more: str) -> None:
    """Marks a test that depends on C, the engine, and the APIs that it imports.

    A file may say itself what it depends on. Call this in a conftest's `pytest_itemcollected`,
    which pytest calls for the folder's tests only.

    Args:
        item: the test.
        more: paths below ROOT on which it depends, too.
    """
    if not item.get_closest_marker("proven"):
        engine = (f"parallel_pool/{name}" for name in ENGINE)
        item.add_marker(pytest.mark.proven("csrc", *engine, *more))


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
        metavar="NAMES=REPORTS",
        help="with --proofs: these sanitizers watch the engine, and write reports to this path",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--proofs"):
        return
    from tests.support.proofs import runs

    kind = runs.SanitizedRuns if config.getoption("--sanitized") else runs.Runs
    config.pluginmanager.register(kind(config), "proofs")
