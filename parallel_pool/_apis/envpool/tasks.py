"""EnvPool's task ids: those of native environments, and those added by `register`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._engine import registry

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# for each id added by `register`: its definition and its default options
registered: dict[str, tuple[Definition, dict[str, Any]]] = {}
# ids that only EnvPool has, and the native ids whose environments they are
ALIASES = {"Taxi-v3": "Taxi-v4", "CliffWalking-v0": "CliffWalking-v1"}


def find(task_id: str) -> tuple[Definition, dict[str, Any]]:
    """Returns a task's definition, and the default options given to `register`.

    Raises:
        ValueError: there is no such task.
    """
    return registered.get(task_id) or (registry.find(ALIASES.get(task_id, task_id)), {})
