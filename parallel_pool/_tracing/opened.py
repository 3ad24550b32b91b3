"""Who is told of each pool that is opened, such as a profiler of whole programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool

listeners: list[Callable[[BasePool], None]] = []
