"""EnvPool's module of this name: functions that make, list and register tasks."""

from parallel_pool.compat.envpool import (
    list_all_envs,
    make,
    make_dm,
    make_gym,
    make_gymnasium,
    make_spec,
    register,
)

__all__ = [
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "register",
]
