"""TraceMethod: `trace` of the environments that stand on one pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from parallel_pool._tracing.trace import Trace


class _OnPool(Protocol):
    pool: Any


class TraceMethod:
    """Gives what has the attribute `pool` that pool's traces."""

    def trace(self: _OnPool, path: Any = None, **options: Any) -> Trace:
        """Records where the time goes while a `with` block runs; see `Pool.trace`."""
        trace: Trace = self.pool.trace(path, **options)
        return trace
