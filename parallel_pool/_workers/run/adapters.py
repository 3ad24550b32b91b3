"""Adapters: environments that show an object of another API as a `gymnasium.Env`."""

from __future__ import annotations

from functools import singledispatch
from typing import Any


@singledispatch
def adapted(env: object) -> Any:
    """Returns the object that an environment adapts; the environment itself if it is no adapter.

    The module of each adapter registers a function for it.
    """
    return env


def innermost(env: Any) -> Any:
    """Returns the environment inside of all wrappers and adapters."""
    try:
        inner = env.unwrapped
    except Exception:  # an environment of another API
        return env
    found = adapted(inner)
    return inner if found is inner else innermost(found)
