"""parallel_pool steps many reinforcement-learning environments at once."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from parallel_pool import _system

# where the engine can't run, the other modules can't be imported
_system.check()

# isort: split

from parallel_pool import _families as _families
from parallel_pool._apis.common.import_hook import after_import
from parallel_pool._apis.gymnasium import hook as gymnasium_hook
from parallel_pool._engine.cores import limit_cores
from parallel_pool._engine.mixture import mixed
from parallel_pool._engine.named_batch import NamedBatch
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.registry import load
from parallel_pool._engine.variation import each, each_reset
from parallel_pool._include import get_include
from parallel_pool._lazy import lazy, publish
from parallel_pool._translator import family as family
from parallel_pool.errors import (
    BrokenPoolError,
    BusyError,
    ClosedError,
    EnvError,
    ForkedError,
    MissingDependencyError,
    NotResetError,
    PoolError,
    PoolTimeoutError,
    SlowWorkerWarning,
    SourceError,
    StateError,
    UnprovenError,
    WorkerError,
)

if TYPE_CHECKING:
    from parallel_pool import python as python
    from parallel_pool import registration as registration
    from parallel_pool import testing as testing
    from parallel_pool._engine.pictures import mosaic
    from parallel_pool._translator.load import compile, load_source
    from parallel_pool._workers.process_pool import ProcessPool
    from parallel_pool.compat.envpool import DMEnvPool as DMEnvPool
    from parallel_pool.compat.envpool import EnvPool as EnvPool
    from parallel_pool.compat.envpool import EnvSpec as EnvSpec
    from parallel_pool.compat.envpool import GymnasiumEnvPool as GymnasiumEnvPool
    from parallel_pool.compat.envpool import (
        list_all_envs,
        make,
        make_dm,
        make_gym,
        make_gymnasium,
        make_spec,
        register,
    )
    from parallel_pool.compat.gymnasium import PoolVectorEnv, make_vec
    from parallel_pool.compat.pettingzoo import PoolParallelEnv
    from parallel_pool.compat.sb3 import PoolVecEnv as PoolVecEnv

__version__ = "0.1.0"

# PoolVecEnv and the classes of EnvPool's API are left out: they need packages that may not be
# installed, and `import *` must not fail.
__all__ = [
    "BrokenPoolError",
    "BusyError",
    "ClosedError",
    "EnvError",
    "ForkedError",
    "MissingDependencyError",
    "NamedBatch",
    "NotResetError",
    "Pool",
    "PoolError",
    "PoolParallelEnv",
    "PoolTimeoutError",
    "PoolVectorEnv",
    "ProcessPool",
    "SlowWorkerWarning",
    "SourceError",
    "StateError",
    "UnprovenError",
    "WorkerError",
    "compile",
    "each",
    "each_reset",
    "get_include",
    "limit_cores",
    "list_all_envs",
    "load",
    "load_source",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "make_vec",
    "mixed",
    "mosaic",
    "register",
    "testing",
]

__getattr__, _ = lazy(
    __name__,
    {
        "parallel_pool._engine.pictures": ("mosaic",),
        "parallel_pool._translator.load": ("compile", "load_source"),
        "parallel_pool._workers.process_pool": ("ProcessPool",),
        "parallel_pool.compat.envpool": (
            *("DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"),
            *("list_all_envs", "make", "make_dm", "make_gym", "make_gymnasium", "make_spec"),
            "register",
        ),
        "parallel_pool.compat.gymnasium": ("PoolVectorEnv", "make_vec"),
        "parallel_pool.compat.pettingzoo": ("PoolParallelEnv",),
        "parallel_pool.compat.sb3": ("PoolVecEnv",),
        # EnvPool's own modules, which programs use as attributes of the package
        "parallel_pool.python": (),
        "parallel_pool.registration": (),
        "parallel_pool.testing": (),
    },
)
publish(__name__, each, each_reset, get_include, limit_cores, load, mixed)


def __dir__() -> list[str]:
    """Lists the public names, loaded or not; PoolVecEnv only if Stable-Baselines3 is installed."""
    found = {*__all__, *(name for name in globals() if name.startswith("__"))}
    if find_spec("stable_baselines3"):
        found.add("PoolVecEnv")
    return sorted(found)


# adds vectorization_mode="parallel_pool" to gymnasium.make_vec, now or when Gymnasium is imported
after_import("gymnasium", gymnasium_hook.install)
