"""Attributes of native environments: `get_attr` for environments whose state lives in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parallel_pool._apis.common import renderer
from parallel_pool._apis.common.reference_env import ReferenceEnv
from parallel_pool._engine.arguments import named
from parallel_pool._engine.mixture import TASK
from parallel_pool._engine.pool import Pool

CURE = 'make Python environments: backend="process", or Gymnasium\'s vectorization_mode="sync"'


def of_options(pool: Pool, drawing: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of the constructor's options, drawing options included.

    Args:
        pool: of the environments.
        drawing: drawing options that were given.
    """
    described = pool.definition.options
    options = {
        name: value for name, value in pool.spec.options.items() if not described[name].is_hidden
    }
    return {**options, **renderer.defaults(pool.definition), **drawing}


def get(
    name: str,
    pool: Pool,
    known: Mapping[str, Any],
    instead: str,
    reference: ReferenceEnv | None = None,
) -> Any:
    """Returns an attribute whose value is the same for every environment.

    Args:
        name: of the attribute.
        pool: of the environments.
        known: attributes that need no reference, or that the reference lacks.
        instead: the cure, for the error message.
        reference: its attributes win over `known`, except those in GYMNASIUM_NAMES; None if there
            is none.

    Raises:
        AttributeError: there is no such attribute, or its value depends on the state.
    """
    constant: Mapping[str, Any] = {}
    is_known = name in known
    # where options differ, an attribute that depends on them is not constant
    if reference is not None and name not in GYMNASIUM_NAMES and not pool.varied:
        constant = reference.values()
        is_known = is_known and not reference.changes(name)
    if name in constant:
        return constant[name]
    if not is_known:
        raise AttributeError(
            f"{named(name)}: {pool.definition.id} is native: its state lives in C, and only"
            " constants can be read. Known are"
            f" {', '.join({**known, **constant})}, np_random_seed; for others {instead}"
        )
    return known[name]


def check_tasks(name: str, pool: Pool, env_ids: Sequence[int]) -> None:
    """Refuses an option of other tasks of a mixture: their default is no attribute of this one.

    Raises:
        AttributeError: an environment's task has no such option.
    """
    definition = pool.definition
    if name == TASK or name not in definition.options:
        return
    found = definition.definitions_of(pool.spec, pool.num_envs)
    for env_id in env_ids:
        if name not in found[env_id].options:
            raise AttributeError(
                f"{name}: environment {env_id} of {definition.id} is {found[env_id].id}, which has"
                " no such option"
            )


def is_own(copies: Any, name: str) -> bool:
    """Returns whether an attribute or method is read of objects of the user's class.

    Args:
        copies: as `registry.copies_of` returns them; None for none.
        name: of the attribute.
    """
    return copies is not None and name not in GYMNASIUM_NAMES and copies.has(name)


# attributes that vector environments answer themselves
GYMNASIUM_NAMES = {"spec", "metadata", "render_mode", "observation_space", "action_space"}
