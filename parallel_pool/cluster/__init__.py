"""Environments on the machines of a Ray cluster: `ClusterVectorEnv`.

Needs Ray: `pip install 'parallel_pool[cluster]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.cluster.vector_env import ClusterVectorEnv

__all__ = ["ClusterVectorEnv"]

__getattr__, __dir__ = lazy(__name__, {"ClusterVectorEnv": "parallel_pool.cluster.vector_env"})
