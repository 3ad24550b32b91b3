"""Entry points of native environments in Gymnasium's registry, one attribute for each native id."""

from __future__ import annotations

from functools import partial

from parallel_pool._apis.gymnasium.make import PoolVectorEnv


def __getattr__(name: str) -> partial[PoolVectorEnv]:
    # Python and its tools look up many such names on modules
    if name.startswith("__"):
        raise AttributeError(name)
    return partial(PoolVectorEnv, name)
