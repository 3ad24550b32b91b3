"""Attributes of native environments: what can be asked of them by name, though they live in C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parallel_pool.compat import renderer
from parallel_pool.pool import Pool


def of_options(pool: Pool, drawing: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the constructor's options, those of pictures included, with their values.

    Args:
        pool: of the environments.
        drawing: options of pictures that were given.
    """
    described = pool.definition.options
    options = {
        name: value for name, value in pool.spec.options.items() if not described[name].is_hidden
    }
    return {**options, **renderer.defaults(pool.definition), **drawing}


def get(name: str, pool: Pool, known: Mapping[str, Any], instead: str) -> Any:
    """Returns one of the known attributes.

    Args:
        name: of the attribute.
        pool: of the environments.
        known: all that are the same for every environment.
        instead: what to do for another, for the message.

    Raises:
        AttributeError: it is none of them.
    """
    if name not in known:
        raise AttributeError(
            f"{name}: {pool.definition.id} is native, its state lives in C, and there are no Python"
            f" objects to ask. Known are {', '.join(known)}, np_random_seed; for others {instead}"
        )
    return known[name]
