"""parallel_pool steps many reinforcement-learning environments at once."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from parallel_pool._include import get_include
from parallel_pool.compat import gymnasium_hook
from parallel_pool.compat.after_import import after_import
from parallel_pool.errors import (
    BrokenPoolError,
    BusyError,
    ClosedError,
    EnvError,
    ForkedError,
    MissingDependencyError,
    PoolError,
    PoolTimeoutError,
    SlowWorkerWarning,
    StateError,
    UnprovenError,
    WorkerError,
)
from parallel_pool.named_batch import NamedBatch
from parallel_pool.pool import Pool
from parallel_pool.registry import load

if TYPE_CHECKING:
    from parallel_pool import python as python
    from parallel_pool import registration as registration
    from parallel_pool.compat.envpool.functions import (
        list_all_envs,
        make,
        make_dm,
        make_gym,
        make_gymnasium,
        make_spec,
        register,
    )
    from parallel_pool.compat.gymnasium.make_vec import make_vec
    from parallel_pool.compat.gymnasium.vector_env import PoolVectorEnv
    from parallel_pool.compat.pettingzoo.parallel_env import PoolParallelEnv
    from parallel_pool.compat.sb3.vec_env import PoolVecEnv as PoolVecEnv
    from parallel_pool.pictures import mosaic
    from parallel_pool.python.protocol import DMEnvPool as DMEnvPool
    from parallel_pool.python.protocol import EnvPool as EnvPool
    from parallel_pool.python.protocol import EnvSpec as EnvSpec
    from parallel_pool.python.protocol import GymnasiumEnvPool as GymnasiumEnvPool
    from parallel_pool.workers.process_pool import ProcessPool

__version__ = "0.1.0"

# `import *` must not fail for a package that is not installed: PoolVecEnv needs one, and so do
# the classes of EnvPool's API
__all__ = [
    "BrokenPoolError",
    "BusyError",
    "ClosedError",
    "EnvError",
    "ForkedError",
    "MissingDependencyError",
    "NamedBatch",
    "Pool",
    "PoolError",
    "PoolParallelEnv",
    "PoolTimeoutError",
    "PoolVectorEnv",
    "ProcessPool",
    "SlowWorkerWarning",
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
    "PoolParallelEnv": "parallel_pool.compat.pettingzoo.parallel_env",
    "PoolVecEnv": "parallel_pool.compat.sb3.vec_env",
    "PoolVectorEnv": "parallel_pool.compat.gymnasium.vector_env",
    "ProcessPool": "parallel_pool.workers.process_pool",
    "DMEnvPool": "parallel_pool.python.protocol",
    "EnvPool": "parallel_pool.python.protocol",
    "EnvSpec": "parallel_pool.python.protocol",
    "GymnasiumEnvPool": "parallel_pool.python.protocol",
    "list_all_envs": "parallel_pool.compat.envpool.functions",
    "make": "parallel_pool.compat.envpool.functions",
    "make_dm": "parallel_pool.compat.envpool.functions",
    "make_gym": "parallel_pool.compat.envpool.functions",
    "make_gymnasium": "parallel_pool.compat.envpool.functions",
    "make_spec": "parallel_pool.compat.envpool.functions",
    "make_vec": "parallel_pool.compat.gymnasium.make_vec",
    "mosaic": "parallel_pool.pictures",
    "register": "parallel_pool.compat.envpool.functions",
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


def __dir__() -> list[str]:
    """Lists the public names, loaded or not; PoolVecEnv only where there is what it needs."""
    found = {*__all__, *(name for name in globals() if name.startswith("__"))}
    if find_spec("stable_baselines3"):
        found.add("PoolVecEnv")
    return sorted(found)


# gymnasium.make_vec(..., vectorization_mode="parallel_pool"), now or once Gymnasium is imported
after_import("gymnasium", gymnasium_hook.install)
