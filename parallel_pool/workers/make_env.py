"""Make env: calls a user's function, whose environment may have Gymnasium's or dm_env's API."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import gymnasium


def make_env(function: Callable[[], Any]) -> Any:
    """Returns the environment that a function makes, a `dm_env.Environment` in a `DMEnvAdapter`.

    Raises:
        TypeError: a spec of the dm_env environment has no Gymnasium space; it was closed.
        Exception: what the function raised.
    """
    env = function()
    if not is_dm_env(env):
        return env
    from parallel_pool.workers.dm_adapter import DMEnvAdapter

    try:
        return DMEnvAdapter(env)
    except BaseException:
        with contextlib.suppress(Exception):
            env.close()
        raise


def is_dm_env(env: Any) -> bool:
    """Returns whether an object is a `dm_env.Environment`, and no `gymnasium.Env` as well."""
    # without an import of dm_env: who has made such an object has imported it
    kind = getattr(sys.modules.get("dm_env"), "Environment", None)
    return isinstance(kind, type) and isinstance(env, kind) and not isinstance(env, gymnasium.Env)
