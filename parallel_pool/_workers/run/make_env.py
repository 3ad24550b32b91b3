"""Make env: calls users' functions, whose environments may have Gymnasium's or dm_env's API."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import gymnasium

from parallel_pool._workers.run.adapters import innermost


def make_env(function: Callable[[], Any]) -> Any:
    """Returns the environment that a function makes, a `dm_env.Environment` in a `DMEnvAdapter`.

    Raises:
        TypeError: a spec of the dm_env environment has no Gymnasium space; it was closed.
        Exception: what the function raised.
    """
    env = function()
    if not is_dm_env(env):
        return env
    from parallel_pool._workers.run.dm_adapter import DMEnvAdapter

    try:
        return DMEnvAdapter(env)
    except BaseException:
        with contextlib.suppress(Exception):
            env.close()
        raise


def is_dm_env(env: Any) -> bool:
    """Returns whether an object is a `dm_env.Environment`, and no `gymnasium.Env` as well."""
    # dm_env is not imported here: if the object exists, sys.modules has it
    kind = getattr(sys.modules.get("dm_env"), "Environment", None)
    return isinstance(kind, type) and isinstance(env, kind) and not isinstance(env, gymnasium.Env)


class Distinct:
    """Refuses environments that share one inner environment, which each of them would step."""

    def __init__(self, first: int) -> None:
        """
        Args:
            first: number of the first environment, for messages.
        """
        self._first = first
        # by address: the number, and the object, held so that no other has the same address
        self._inner: dict[int, tuple[int, Any]] = {}

    def add(self, env: Any) -> None:
        """Takes the next environment.

        Raises:
            ValueError: it wraps, or is, the same object as one before.
        """
        inner, number = innermost(env), self._first + len(self._inner)
        before, _ = self._inner.setdefault(id(inner), (number, inner))
        if before != number:
            raise ValueError(
                f"env_fns[{before}] and env_fns[{number}] return the same environment: make a new"
                " one in every call, as lambda: gymnasium.make(id) does"
            )
