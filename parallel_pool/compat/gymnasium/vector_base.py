"""VectorBase: what `PoolVectorEnv` promises besides Gymnasium's API, whatever its backend."""

from __future__ import annotations

from typing import Any

from parallel_pool.compat.traced import Traced


class VectorBase(Traced):
    """Base of the vector environments of threads, of processes, and of clusters.

    Attributes:
        pool: the pool underneath.
    """

    pool: Any

    def torch(self, device: Any = "cpu") -> Any:
        """Returns these environments with tensors in place of arrays: a `TorchEnv`."""
        from parallel_pool.compat.torch import TorchEnv

        return TorchEnv(self, device)
