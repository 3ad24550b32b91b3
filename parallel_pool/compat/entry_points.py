"""What Gymnasium calls to make a pool: `parallel_pool.compat.entry_points:<native id>`."""

from __future__ import annotations

from functools import partial

from parallel_pool.compat.gymnasium.vector_env import PoolVectorEnv


def __getattr__(name: str) -> partial[PoolVectorEnv]:
    # Python looks for many names of its own on modules
    if name.startswith("__"):
        raise AttributeError(name)
    return partial(PoolVectorEnv, name)
