"""EnvPool's task ids: the native environments', and those that `register` named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool import registry

if TYPE_CHECKING:
    from parallel_pool.specs import Definition

# the definition of each registered id, and its own defaults
registered: dict[str, tuple[Definition, dict[str, Any]]] = {}


def find(task_id: str) -> tuple[Definition, dict[str, Any]]:
    """Returns a task's definition, and the defaults with which it was registered.

    Raises:
        ValueError: there is no such task.
    """
    return registered.get(task_id) or (registry.find(task_id), {})
