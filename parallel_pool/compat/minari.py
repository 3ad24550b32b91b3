"""Minari: records many environments at once to datasets, as its `DataCollector` records one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.minari.agent_data_collector import AgentDataCollector
    from parallel_pool._apis.minari.env_pool_data_collector import EnvPoolDataCollector
    from parallel_pool._apis.minari.vec_env_data_collector import VecEnvDataCollector
    from parallel_pool._apis.minari.vector_data_collector import VectorDataCollector

__all__ = [
    "AgentDataCollector",
    "EnvPoolDataCollector",
    "VecEnvDataCollector",
    "VectorDataCollector",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.minari.agent_data_collector": ("AgentDataCollector",),
        "parallel_pool._apis.minari.env_pool_data_collector": ("EnvPoolDataCollector",),
        "parallel_pool._apis.minari.vec_env_data_collector": ("VecEnvDataCollector",),
        "parallel_pool._apis.minari.vector_data_collector": ("VectorDataCollector",),
    },
)
