"""The names of native environments in Gymnasium: their ids, entry points, and mode of make_vec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool.specs import Definition

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

MODE = "parallel_pool"
ENTRY_POINT = "parallel_pool.compat.entry_points:"
# of gymnasium.make; only the user's own environments have it
SINGLE_ENTRY_POINT = "parallel_pool.compat.single_entry_points:"


def of_definition(definition: Definition, env_id: str) -> EnvSpec:
    """Returns a spec from which gymnasium.make_vec makes a pool of this definition."""
    from gymnasium.envs.registration import EnvSpec

    return EnvSpec(
        id=env_id,
        reward_threshold=definition.reward_threshold,
        max_episode_steps=definition.max_episode_steps,
        vector_entry_point=ENTRY_POINT + definition.id,
    )


def of_own(definition: Definition) -> EnvSpec:
    """Returns a spec of a definition that was loaded, for gymnasium.make and make_vec."""
    made = of_definition(definition, definition.id)
    made.entry_point = SINGLE_ENTRY_POINT + definition.id
    return made


def is_own(spec: EnvSpec) -> bool:
    """Returns whether a spec is one that `of_own` made."""
    entry = spec.entry_point
    return isinstance(entry, str) and entry.startswith(SINGLE_ENTRY_POINT)


def registered_id(native_id: str) -> str:
    """Returns the id of a native environment in Gymnasium's registry, which allows one slash."""
    return f"parallel_pool/{native_id.replace('/', '.')}"
