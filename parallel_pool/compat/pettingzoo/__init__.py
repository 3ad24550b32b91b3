"""PettingZoo's APIs: PoolParallelEnv for many games, parallel_env and env for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.pettingzoo.pool_parallel_env import (
        PoolParallelEnv as PoolParallelEnv,
    )
    from parallel_pool.compat.pettingzoo.single import env as env
    from parallel_pool.compat.pettingzoo.single import parallel_env as parallel_env

__getattr__, __dir__ = lazy(
    __name__,
    {
        "PoolParallelEnv": f"{__name__}.pool_parallel_env",
        "env": f"{__name__}.single",
        "parallel_env": f"{__name__}.single",
    },
)
