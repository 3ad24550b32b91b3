"""The names of native environments in Gymnasium: their ids, entry points, and mode of make_vec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._engine import registry
from parallel_pool._engine.specs import Definition

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

MODE = "parallel_pool"
ENTRY_POINT = "parallel_pool.compat.entry_points:"
# of gymnasium.make
SINGLE_ENTRY_POINT = "parallel_pool.compat.single_entry_points:"


def of_definition(definition: Definition, task_id: str) -> EnvSpec:
    """Returns a spec from which gymnasium.make makes an environment, and make_vec a pool."""
    from gymnasium.envs.registration import EnvSpec

    return EnvSpec(
        id=task_id,
        reward_threshold=definition.reward_threshold,
        max_episode_steps=definition.max_episode_steps,
        entry_point=SINGLE_ENTRY_POINT + definition.id,
        vector_entry_point=ENTRY_POINT + definition.id,
    )


def is_native(spec: EnvSpec) -> bool:
    """Returns whether gymnasium.make makes a native environment from a spec."""
    entry = spec.entry_point
    return isinstance(entry, str) and entry.startswith(SINGLE_ENTRY_POINT)


def runs_in_processes(spec: EnvSpec) -> bool:
    """Returns whether worker processes may make the environment of a spec.

    Native ones need none, except the user's own, under its own id.
    """
    if spec.entry_point is None:
        return False
    # workers do not learn of mixtures
    own = {definition.id for definition in registry.loaded() if not definition.tasks}
    return not is_native(spec) or spec.id in own


def registered_id(native_id: str) -> str:
    """Returns the id of a native environment in Gymnasium's registry, which allows one slash."""
    return f"parallel_pool/{native_id.replace('/', '.')}"
