"""Stable-Baselines3's vector API: PoolVecEnv, AgentVecEnv, ClusterVecEnv."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.sb3.agent_vec_env import AgentVecEnv as AgentVecEnv
    from parallel_pool.compat.sb3.cluster_vec_env import ClusterVecEnv as ClusterVecEnv
    from parallel_pool.compat.sb3.vec_env import PoolVecEnv as PoolVecEnv

__getattr__, __dir__ = lazy(
    __name__,
    {
        "AgentVecEnv": f"{__name__}.agent_vec_env",
        "ClusterVecEnv": f"{__name__}.cluster_vec_env",
        "PoolVecEnv": f"{__name__}.vec_env",
    },
)
