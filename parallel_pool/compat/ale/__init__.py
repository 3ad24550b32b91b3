"""ale-py's vector environment of Atari games, on this engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.compat.ale.vector_env import ActionError as ActionError
    from parallel_pool.compat.ale.vector_env import AtariVectorEnv as AtariVectorEnv
    from parallel_pool.compat.vector_errors import NotResetError as NotResetError

__getattr__, __dir__ = lazy(
    __name__,
    {
        "ActionError": f"{__name__}.vector_env",
        "AtariVectorEnv": f"{__name__}.vector_env",
        "NotResetError": "parallel_pool.compat.vector_errors",
    },
)
