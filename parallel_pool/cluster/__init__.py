"""Environments on the machines of a Ray cluster: `ClusterVectorEnv` and `Rollouts`.

Needs Ray: `pip install 'parallel_pool[cluster]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.cluster.rollouts import Batch, Policy, Rollouts, Stats
    from parallel_pool.cluster.sync import Adaptive, Every
    from parallel_pool.cluster.vector_env import ClusterVectorEnv

__all__ = ["Adaptive", "Batch", "ClusterVectorEnv", "Every", "Policy", "Rollouts", "Stats"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Adaptive": "parallel_pool.cluster.sync",
        "Batch": "parallel_pool.cluster.rollouts",
        "ClusterVectorEnv": "parallel_pool.cluster.vector_env",
        "Every": "parallel_pool.cluster.sync",
        "Policy": "parallel_pool.cluster.rollouts",
        "Rollouts": "parallel_pool.cluster.rollouts",
        "Stats": "parallel_pool.cluster.rollouts",
    },
)
