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
# dm_control's tasks have the names "cheetah-run", and Shimmy's ids in Gymnasium
SUITE_ID = "dm_control/{}-v0"


def find(task_id: str) -> tuple[Definition, dict[str, Any]]:
    """Returns a task's definition, and the default options given to `register`.

    Raises:
        ValueError: there is no such task.
    """
    if task_id in registered:
        return registered[task_id]
    suite_id = SUITE_ID.format(task_id)
    if suite_id in registry.builtin():
        task_id = suite_id
    return registry.find(ALIASES.get(task_id, task_id)), {}
