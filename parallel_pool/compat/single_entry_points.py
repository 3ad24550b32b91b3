"""Entry points of native environments for gymnasium.make, one attribute for each id."""

from __future__ import annotations

from parallel_pool._apis.gymnasium.single_env import PoolEnv, class_of


def __getattr__(name: str) -> type[PoolEnv]:
    # Python and its tools look up many such names on modules
    if name.startswith("__"):
        raise AttributeError(name)
    return class_of(name)
