"""dm_env's API: pools and single environments that return TimeSteps, and an adapter for workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.envpool.dm_env import DMEnvPool
    from parallel_pool._apis.envpool.single_dm_env import SingleDMEnv
    from parallel_pool._workers.run.dm_adapter import DMEnvAdapter

__all__ = ["DMEnvAdapter", "DMEnvPool", "SingleDMEnv"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.envpool.dm_env": ("DMEnvPool",),
        "parallel_pool._apis.envpool.single_dm_env": ("SingleDMEnv",),
        "parallel_pool._workers.run.dm_adapter": ("DMEnvAdapter",),
    },
)
