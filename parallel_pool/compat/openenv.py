"""OpenEnv: a pool behind its protocol, and an environment that one of its servers steps.

The server needs uvicorn, and both need websockets: `pip install 'parallel_pool[openenv]'`. OpenEnv
itself is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.openenv.app import OpenEnvApp
    from parallel_pool._apis.openenv.client import OpenEnvEnv
    from parallel_pool._apis.openenv.server import serve

__all__ = ["OpenEnvApp", "OpenEnvEnv", "serve"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.openenv.app": ("OpenEnvApp",),
        "parallel_pool._apis.openenv.client": ("OpenEnvEnv",),
        "parallel_pool._apis.openenv.server": ("serve",),
    },
)
