"""EnvPool's API: `import parallel_pool as envpool` runs EnvPool programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.envpool.base import EnvPool as EnvPool
    from parallel_pool.compat.envpool.dm_env import DMEnvPool as DMEnvPool
    from parallel_pool.compat.envpool.gymnasium_pool import GymnasiumEnvPool as GymnasiumEnvPool
    from parallel_pool.compat.envpool.registration import MAKERS as MAKERS
    from parallel_pool.compat.envpool.registration import list_all_envs as list_all_envs
    from parallel_pool.compat.envpool.registration import make as make
    from parallel_pool.compat.envpool.registration import make_dm as make_dm
    from parallel_pool.compat.envpool.registration import make_gym as make_gym
    from parallel_pool.compat.envpool.registration import make_gymnasium as make_gymnasium
    from parallel_pool.compat.envpool.registration import make_spec as make_spec
    from parallel_pool.compat.envpool.registration import register as register
    from parallel_pool.compat.envpool.spec import EnvSpec as EnvSpec

__getattr__, __dir__ = lazy(
    __name__,
    {
        "DMEnvPool": f"{__name__}.dm_env",
        "EnvPool": f"{__name__}.base",
        "EnvSpec": f"{__name__}.spec",
        "GymnasiumEnvPool": f"{__name__}.gymnasium_pool",
        "MAKERS": f"{__name__}.registration",
        "list_all_envs": f"{__name__}.registration",
        "make": f"{__name__}.registration",
        "make_dm": f"{__name__}.registration",
        "make_gym": f"{__name__}.registration",
        "make_gymnasium": f"{__name__}.registration",
        "make_spec": f"{__name__}.registration",
        "register": f"{__name__}.registration",
    },
)
