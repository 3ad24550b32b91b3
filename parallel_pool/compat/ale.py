"""ale-py's vector environment of Atari games, on this engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.ale.vector_env import ActionError, AtariVectorEnv
    from parallel_pool._apis.common.vector_errors import NotResetError

__all__ = ["ActionError", "AtariVectorEnv", "NotResetError"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.ale.vector_env": (
            "ActionError",
            "AtariVectorEnv",
        ),
        "parallel_pool._apis.common.vector_errors": ("NotResetError",),
    },
)
