"""EnvPool's module of this name, for programs that take the base class of its pools from it.

TorchRL's `MultiThreadedEnvWrapper` accepts instances of this class only.
"""

from parallel_pool.compat.envpool import EnvPool as EnvPoolMixin

__all__ = ["EnvPoolMixin"]
