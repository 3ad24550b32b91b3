"""Gymnasium's vector API: make_vec, PoolVectorEnv and its subclasses for each backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.common.replay_buffer import ReplayBuffer, Transitions
    from parallel_pool._apis.common.rollout import Rollout
    from parallel_pool._apis.common.rollout_buffer import RolloutBuffer
    from parallel_pool._apis.common.vector_errors import NotResetError, PendingCallError
    from parallel_pool._apis.gymnasium.make import PoolVectorEnv, make_vec
    from parallel_pool._apis.gymnasium.native_vector_env import NativeVectorEnv
    from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
    from parallel_pool._apis.gymnasium.task_statistics import RecordTaskStatistics
    from parallel_pool._engine.frames import Stacks

__all__ = [
    "NativeVectorEnv",
    "NotResetError",
    "PendingCallError",
    "PoolVectorEnv",
    "ProcessVectorEnv",
    "RecordTaskStatistics",
    "ReplayBuffer",
    "Rollout",
    "RolloutBuffer",
    "Stacks",
    "Transitions",
    "make_vec",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.common.replay_buffer": (
            "ReplayBuffer",
            "Transitions",
        ),
        "parallel_pool._apis.common.rollout": ("Rollout",),
        "parallel_pool._apis.common.rollout_buffer": ("RolloutBuffer",),
        "parallel_pool._apis.common.vector_errors": (
            "NotResetError",
            "PendingCallError",
        ),
        "parallel_pool._apis.gymnasium.make": (
            "PoolVectorEnv",
            "make_vec",
        ),
        "parallel_pool._apis.gymnasium.native_vector_env": ("NativeVectorEnv",),
        "parallel_pool._apis.gymnasium.process_vector_env": ("ProcessVectorEnv",),
        "parallel_pool._apis.gymnasium.task_statistics": ("RecordTaskStatistics",),
        "parallel_pool._engine.frames": ("Stacks",),
    },
)
