"""Methods that the environments of several APIs share: `trace` and `torch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from parallel_pool.compat.torch import TorchEnv
    from parallel_pool.tracing.trace import Trace


class _OnPool(Protocol):
    pool: Any


class TraceMethod:
    """Gives what has the attribute `pool` that pool's traces."""

    def trace(self: _OnPool, path: Any = None, **options: Any) -> Trace:
        """Records where the time goes while a `with` block runs; see `Pool.trace`."""
        trace: Trace = self.pool.trace(path, **options)
        return trace


class TorchMethod:
    """Gives batches of environments their form with tensors."""

    def torch(self, device: Any = "cpu") -> TorchEnv:
        """Returns these environments with tensors in place of arrays: a `TorchEnv`.

        Args:
            device: "cpu".

        Raises:
            MissingDependencyError: PyTorch is not installed.
        """
        from parallel_pool.compat.torch import TorchEnv

        return TorchEnv(self, device)
