"""Stable-Baselines3's vector API: PoolVecEnv, AgentVecEnv, ClusterVecEnv, PoolRolloutBuffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.sb3.agent_vec_env import AgentVecEnv
    from parallel_pool._apis.sb3.cluster_vec_env import ClusterVecEnv
    from parallel_pool._apis.sb3.rollout_buffer import PoolRolloutBuffer
    from parallel_pool._apis.sb3.vec_env import PoolVecEnv

__all__ = ["AgentVecEnv", "ClusterVecEnv", "PoolRolloutBuffer", "PoolVecEnv"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.sb3.agent_vec_env": ("AgentVecEnv",),
        "parallel_pool._apis.sb3.cluster_vec_env": ("ClusterVecEnv",),
        "parallel_pool._apis.sb3.rollout_buffer": ("PoolRolloutBuffer",),
        "parallel_pool._apis.sb3.vec_env": ("PoolVecEnv",),
    },
)
