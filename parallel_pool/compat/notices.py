"""Notices: warnings that are shown once each, where the caller's own code stands."""

from __future__ import annotations

import sys
import warnings
from functools import cache

# packages between the caller and whoever warns
BETWEEN = ("parallel_pool", "gymnasium", "stable_baselines3")


@cache
def warn(message: str) -> None:
    """Shows a UserWarning at the line that called us, directly or by one of these packages."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals.get("__name__")) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]
