"""The names of native environments in Gymnasium: their ids, entry points, and mode of make_vec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool.specs import Definition

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

MODE = "parallel_pool"
ENTRY_POINT = "parallel_pool.compat.entry_points:"


def of_definition(definition: Definition, env_id: str) -> EnvSpec:
    """Returns a spec from which gymnasium.make_vec makes a pool of this definition."""
    from gymnasium.envs.registration import EnvSpec

    return EnvSpec(
        id=env_id,
        reward_threshold=definition.reward_threshold,
        max_episode_steps=definition.max_episode_steps,
        vector_entry_point=ENTRY_POINT + definition.id,
    )


def registered_id(native_id: str) -> str:
    """Returns the id of a native environment in Gymnasium's registry, which allows one slash."""
    return f"parallel_pool/{native_id.replace('/', '.')}"
