"""Gymnasium's vector API: make_vec, PoolVectorEnv and its subclasses for each backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.gymnasium.make import PoolVectorEnv as PoolVectorEnv
    from parallel_pool.compat.gymnasium.make import make_vec as make_vec
    from parallel_pool.compat.gymnasium.native_vector_env import NativeVectorEnv as NativeVectorEnv
    from parallel_pool.compat.gymnasium.process_vector_env import (
        ProcessVectorEnv as ProcessVectorEnv,
    )
    from parallel_pool.compat.vector_errors import NotResetError as NotResetError
    from parallel_pool.compat.vector_errors import PendingCallError as PendingCallError

__getattr__, __dir__ = lazy(
    __name__,
    {
        "NotResetError": "parallel_pool.compat.vector_errors",
        "PendingCallError": "parallel_pool.compat.vector_errors",
        "NativeVectorEnv": f"{__name__}.native_vector_env",
        "PoolVectorEnv": f"{__name__}.make",
        "ProcessVectorEnv": f"{__name__}.process_vector_env",
        "make_vec": f"{__name__}.make",
    },
)
