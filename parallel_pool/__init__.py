"""parallel_pool steps many reinforcement-learning environments at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._include import get_include
from parallel_pool.compat import gymnasium_hook
from parallel_pool.compat.after_import import after_import
from parallel_pool.errors import (
    ClosedError,
    EnvError,
    ForkedError,
    MissingDependencyError,
    PoolError,
    PoolTimeoutError,
    StateError,
    UnprovenError,
    WorkerError,
)
from parallel_pool.pool import Pool
from parallel_pool.registry import load

if TYPE_CHECKING:
    from parallel_pool import python as python
    from parallel_pool import registration as registration
    from parallel_pool.compat.envpool import (
        list_all_envs,
        make,
        make_dm,
        make_gym,
        make_gymnasium,
        make_spec,
        register,
    )
    from parallel_pool.compat.make_vec import make_vec
    from parallel_pool.pictures import mosaic

    # not listed in __all__: a star import must not ask for dm_env
    from parallel_pool.python.protocol import DMEnvPool as DMEnvPool
    from parallel_pool.python.protocol import EnvPool as EnvPool
    from parallel_pool.python.protocol import EnvSpec as EnvSpec
    from parallel_pool.python.protocol import GymnasiumEnvPool as GymnasiumEnvPool

__all__ = [
    "ClosedError",
    "EnvError",
    "ForkedError",
    "MissingDependencyError",
    "Pool",
    "PoolError",
    "PoolTimeoutError",
    "StateError",
    "UnprovenError",
    "WorkerError",
    "get_include",
    "list_all_envs",
    "load",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "make_vec",
    "mosaic",
    "register",
]

# Names whose modules are loaded at first use, which keeps importing this light.
_LAZY = {
    "DMEnvPool": "parallel_pool.python.protocol",
    "EnvPool": "parallel_pool.python.protocol",
    "EnvSpec": "parallel_pool.python.protocol",
    "GymnasiumEnvPool": "parallel_pool.python.protocol",
    "list_all_envs": "parallel_pool.compat.envpool",
    "make": "parallel_pool.compat.envpool",
    "make_dm": "parallel_pool.compat.envpool",
    "make_gym": "parallel_pool.compat.envpool",
    "make_gymnasium": "parallel_pool.compat.envpool",
    "make_spec": "parallel_pool.compat.envpool",
    "make_vec": "parallel_pool.compat.make_vec",
    "mosaic": "parallel_pool.pictures",
    "register": "parallel_pool.compat.envpool",
}

# EnvPool's own modules, which programs find on the package
_MODULES = ("python", "registration")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


# gymnasium.make_vec(..., vectorization_mode="parallel_pool"), now or once Gymnasium is imported
after_import("gymnasium", gymnasium_hook.install)
