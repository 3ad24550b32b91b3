"""Environments on the machines of a Ray cluster: `ClusterVectorEnv` and `Rollouts`.

Needs Ray: `pip install 'parallel_pool[cluster]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.cluster.rollouts import Batch, Policy, Rollouts, Stats
    from parallel_pool._apis.cluster.sync import Adaptive, Every
    from parallel_pool._apis.cluster.vector_env import ClusterVectorEnv

__all__ = ["Adaptive", "Batch", "ClusterVectorEnv", "Every", "Policy", "Rollouts", "Stats"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.cluster.rollouts": (
            "Batch",
            "Policy",
            "Rollouts",
            "Stats",
        ),
        "parallel_pool._apis.cluster.sync": (
            "Adaptive",
            "Every",
        ),
        "parallel_pool._apis.cluster.vector_env": ("ClusterVectorEnv",),
    },
)
