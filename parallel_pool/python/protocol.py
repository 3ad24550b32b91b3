"""EnvPool's module of types: here they are the classes themselves, for annotations and isinstance.

Each is imported at first use: DMEnvPool needs dm_env, GymnasiumEnvPool needs Gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.envpool.base import EnvPool
    from parallel_pool._apis.envpool.dm_env import DMEnvPool
    from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool
    from parallel_pool._apis.envpool.spec import ArraySpec, EnvSpec

__all__ = ["ArraySpec", "DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.envpool.spec": ("ArraySpec",),
        "parallel_pool.compat.envpool": ("DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"),
    },
)
