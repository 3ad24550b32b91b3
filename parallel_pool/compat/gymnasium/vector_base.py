"""VectorBase: what `PoolVectorEnv` promises besides Gymnasium's API, whatever its backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parallel_pool.tracing.trace import Trace


class VectorBase:
    """Base of the vector environments of threads, of processes, and of clusters.

    Attributes:
        pool: the pool underneath.
    """

    pool: Any

    def trace(self, path: Any = None, **options: Any) -> Trace:
        """Records where the time goes while a `with` block runs; see `Pool.trace`."""
        trace: Trace = self.pool.trace(path, **options)
        return trace

    def torch(self, device: Any = "cpu") -> Any:
        """Returns these environments with tensors in place of arrays: a `TorchEnv`."""
        from parallel_pool.compat.torch import TorchEnv

        return TorchEnv(self, device)
