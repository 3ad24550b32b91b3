"""Warnings that appear once each and point at the line of the caller's own code."""

from __future__ import annotations

import sys
import warnings
from functools import cache

# packages that may stand between the caller and `warn_once`
INNER_PACKAGES = ("parallel_pool", "gymnasium", "stable_baselines3")


@cache
def warn_once(message: str) -> None:
    """Shows a UserWarning, once per message, at the innermost line outside INNER_PACKAGES."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals.get("__name__")) in INNER_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]
