"""EnvPool's package of this name, for programs that take types from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.python import envpool, protocol

__all__ = ["envpool", "protocol"]

__getattr__, __dir__ = lazy(
    __name__, {"parallel_pool.python.envpool": (), "parallel_pool.python.protocol": ()}
)
