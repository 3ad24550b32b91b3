"""parallel_pool steps many reinforcement-learning environments at once."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from parallel_pool._include import get_include
from parallel_pool._lazy import lazy
from parallel_pool.compat import gymnasium_hook
from parallel_pool.compat.import_hook import after_import
from parallel_pool.cores import limit_cores
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
from parallel_pool.named_batch import NamedBatch
from parallel_pool.pool import Pool
from parallel_pool.registry import load
from parallel_pool.variation import each, each_reset

if TYPE_CHECKING:
    from parallel_pool import python as python
    from parallel_pool import registration as registration
    from parallel_pool import testing as testing
    from parallel_pool.compat.envpool.registration import (
        list_all_envs,
        make,
        make_dm,
        make_gym,
        make_gymnasium,
        make_spec,
        register,
    )
    from parallel_pool.compat.gymnasium.make import PoolVectorEnv, make_vec
    from parallel_pool.compat.pettingzoo.pool_parallel_env import PoolParallelEnv
    from parallel_pool.compat.sb3.vec_env import PoolVecEnv as PoolVecEnv
    from parallel_pool.pictures import mosaic
    from parallel_pool.python.protocol import DMEnvPool as DMEnvPool
    from parallel_pool.python.protocol import EnvPool as EnvPool
    from parallel_pool.python.protocol import EnvSpec as EnvSpec
    from parallel_pool.python.protocol import GymnasiumEnvPool as GymnasiumEnvPool
    from parallel_pool.source.load import load_source
    from parallel_pool.workers.process_pool import ProcessPool

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
    "mosaic",
    "register",
    "testing",
]

__getattr__, _ = lazy(
    __name__,
    {
        "PoolParallelEnv": f"{__name__}.compat.pettingzoo.pool_parallel_env",
        "PoolVecEnv": f"{__name__}.compat.sb3.vec_env",
        "PoolVectorEnv": f"{__name__}.compat.gymnasium.make",
        "ProcessPool": f"{__name__}.workers.process_pool",
        "DMEnvPool": f"{__name__}.python.protocol",
        "EnvPool": f"{__name__}.python.protocol",
        "EnvSpec": f"{__name__}.python.protocol",
        "GymnasiumEnvPool": f"{__name__}.python.protocol",
        "list_all_envs": f"{__name__}.compat.envpool.registration",
        "make": f"{__name__}.compat.envpool.registration",
        "make_dm": f"{__name__}.compat.envpool.registration",
        "make_gym": f"{__name__}.compat.envpool.registration",
        "make_gymnasium": f"{__name__}.compat.envpool.registration",
        "make_spec": f"{__name__}.compat.envpool.registration",
        "load_source": f"{__name__}.source.load",
        "make_vec": f"{__name__}.compat.gymnasium.make",
        "mosaic": f"{__name__}.pictures",
        "register": f"{__name__}.compat.envpool.registration",
        # EnvPool's own modules, which programs use as attributes of the package
        "python": f"{__name__}.python",
        "registration": f"{__name__}.registration",
        "testing": f"{__name__}.testing",
    },
)


def __dir__() -> list[str]:
    """Lists the public names, loaded or not; PoolVecEnv only if Stable-Baselines3 is installed."""
    found = {*__all__, *(name for name in globals() if name.startswith("__"))}
    if find_spec("stable_baselines3"):
        found.add("PoolVecEnv")
    return sorted(found)


# adds vectorization_mode="parallel_pool" to gymnasium.make_vec, now or when Gymnasium is imported
after_import("gymnasium", gymnasium_hook.install)
