"""EnvPool's module of types: here they are the classes themselves, for annotations and isinstance.

Those that need Gymnasium or dm_env are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool.compat.envpool.base import EnvPool
from parallel_pool.compat.envpool.spec import ArraySpec, EnvSpec

if TYPE_CHECKING:
    from parallel_pool.compat.envpool.dm_env import DMEnvPool
    from parallel_pool.compat.envpool.gymnasium_pool import GymnasiumEnvPool

__all__ = ["ArraySpec", "DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"]


def __getattr__(name: str) -> Any:
    if name == "DMEnvPool":
        from parallel_pool.compat.envpool.dm_env import DMEnvPool

        return DMEnvPool
    if name == "GymnasiumEnvPool":
        from parallel_pool.compat.envpool.gymnasium_pool import GymnasiumEnvPool

        return GymnasiumEnvPool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
