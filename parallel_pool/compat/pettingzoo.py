"""PettingZoo's APIs: PoolParallelEnv for many games, parallel_env and env for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agent_vector_env import AgentVectorEnv
    from parallel_pool._apis.pettingzoo.groups import AgentArrays, AgentGroup
    from parallel_pool._apis.pettingzoo.pool_parallel_env import PoolParallelEnv
    from parallel_pool._apis.pettingzoo.single import env, parallel_env

__all__ = ["AgentArrays", "AgentGroup", "AgentVectorEnv", "PoolParallelEnv", "env", "parallel_env"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.pettingzoo.agent_vector_env": ("AgentVectorEnv",),
        "parallel_pool._apis.pettingzoo.groups": (
            "AgentArrays",
            "AgentGroup",
        ),
        "parallel_pool._apis.pettingzoo.pool_parallel_env": ("PoolParallelEnv",),
        "parallel_pool._apis.pettingzoo.single": (
            "env",
            "parallel_env",
        ),
    },
)
