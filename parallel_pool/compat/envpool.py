"""EnvPool's API: `import parallel_pool as envpool` runs EnvPool programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.envpool.async_rollout_buffer import AsyncRolloutBuffer
    from parallel_pool._apis.envpool.base import EnvPool
    from parallel_pool._apis.envpool.dm_env import DMEnvPool
    from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool
    from parallel_pool._apis.envpool.registration import (
        list_all_envs,
        make,
        make_dm,
        make_gym,
        make_gymnasium,
        make_spec,
        register,
    )
    from parallel_pool._apis.envpool.spec import EnvSpec

__all__ = [
    "AsyncRolloutBuffer",
    "DMEnvPool",
    "EnvPool",
    "EnvSpec",
    "GymnasiumEnvPool",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "register",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.envpool.async_rollout_buffer": ("AsyncRolloutBuffer",),
        "parallel_pool._apis.envpool.base": ("EnvPool",),
        "parallel_pool._apis.envpool.dm_env": ("DMEnvPool",),
        "parallel_pool._apis.envpool.gymnasium_pool": ("GymnasiumEnvPool",),
        # what pickles of results refer to
        "parallel_pool._apis.envpool.named_tuples": ("named_tuple",),
        "parallel_pool._apis.envpool.registration": (
            "list_all_envs",
            "make",
            "make_dm",
            "make_gym",
            "make_gymnasium",
            "make_spec",
            "register",
        ),
        "parallel_pool._apis.envpool.spec": ("EnvSpec",),
    },
)
