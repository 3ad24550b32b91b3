"""EnvPool's module of types: here they are the classes themselves, for annotations and isinstance.

Each is imported at first use: DMEnvPool needs dm_env, GymnasiumEnvPool needs Gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.envpool.base import EnvPool
    from parallel_pool.compat.envpool.dm_env import DMEnvPool
    from parallel_pool.compat.envpool.gymnasium_pool import GymnasiumEnvPool
    from parallel_pool.compat.envpool.spec import ArraySpec, EnvSpec

__all__ = ["ArraySpec", "DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"]

_PACKAGE = "parallel_pool.compat.envpool"

__getattr__, __dir__ = lazy(
    __name__,
    {
        "ArraySpec": f"{_PACKAGE}.spec",
        "DMEnvPool": f"{_PACKAGE}.dm_env",
        "EnvPool": f"{_PACKAGE}.base",
        "EnvSpec": f"{_PACKAGE}.spec",
        "GymnasiumEnvPool": f"{_PACKAGE}.gymnasium_pool",
    },
)
