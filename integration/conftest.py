"""Leaves out what compares with EnvPool's wheel where that large package is not installed."""

from __future__ import annotations

import importlib.util

WHEEL = "test_envpool_wheel.py"

collect_ignore = [] if importlib.util.find_spec("envpool") else [WHEEL]


def pytest_report_header() -> str:
    if collect_ignore:
        return f"{WHEEL} is left out: EnvPool's wheel comes with pip install 'parallel_pool[bench]'"
    return f"{WHEEL}: EnvPool's wheel is there to compare with"
