"""PettingZoo's parallel API: PoolParallelEnv."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.pettingzoo.parallel_env import PoolParallelEnv as PoolParallelEnv

__getattr__, __dir__ = lazy(
    __name__,
    {
        "PoolParallelEnv": f"{__name__}.parallel_env",
    },
)
