"""Opened: functions that are called with each pool when it is opened, as a profiler asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool

listeners: list[Callable[[BasePool], None]] = []
