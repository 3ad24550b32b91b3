"""A plugin of pytest: tests that import one of the packages in PP_MISSING are skipped."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

MISSING = set(os.environ["PP_MISSING"].split(","))


def missing(error: BaseException | None) -> str | None:
    """Returns the package whose absence caused an error; None if that is not the cause."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            package = (error.name or "").partition(".")[0]
            if package in MISSING:
                return package
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo is not None:
        package = missing(call.excinfo.value)
        if package is not None:
            skipped = pytest.skip.Exception(f"{package} is not installed here")
            skipped.__traceback__ = call.excinfo.tb
            call.excinfo = pytest.ExceptionInfo.from_exception(skipped)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skips files that import such a package themselves."""
    report = yield
    call = getattr(report, "call", None)
    package = missing(call.excinfo.value) if report.failed and call and call.excinfo else None
    if package is not None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {package} is not installed here")
    return report
