"""EnvPool's package of this name, for programs that take types from it."""

from parallel_pool.python import envpool, protocol

__all__ = ["envpool", "protocol"]
