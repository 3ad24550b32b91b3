"""Generators: seeds the random generators that an environment without a seed argument holds."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

KINDS = (np.random.RandomState, np.random.Generator, random.Random)
# attributes that hold a wrapped environment or its task: dm_control's, acme's and the like
LINKS = ("env", "_env", "environment", "_environment", "task", "_task")


def seed_generators(env: Any, seed: int) -> int:
    """Seeds the generators in the attributes of an environment, of those that it wraps, and of
    their tasks.

    They are seeded in place, so whoever shares one sees it. The first, of the innermost object,
    gets the state that it has if it is made with this seed; each other one has a state of its own.

    Returns:
        How many generators were seeded.
    """
    count = 0
    for generator in find(env, set()):
        # of another kind of bit generator than RandomState's own
        with contextlib.suppress(TypeError):
            _seed(generator, seed, count)
            count += 1
    return count


def find(owner: Any, seen: set[int]) -> Iterator[Any]:
    """Yields the generators of an object and of those it is linked to, the innermost first.

    Args:
        owner: an environment, a wrapper or a task.
        seen: identities of the objects that were visited; each is visited once.
    """
    if id(owner) in seen:
        return
    seen.add(id(owner))
    if isinstance(owner, gymnasium.Env):
        # made by the first access
        with contextlib.suppress(Exception):
            _ = owner.unwrapped.np_random
    attributes = dict(getattr(owner, "__dict__", {}))
    for name in LINKS:
        if attributes.get(name) is not None:
            yield from find(attributes[name], seen)
    for value in attributes.values():
        if isinstance(value, KINDS) and id(value) not in seen:
            seen.add(id(value))
            yield value


def _seed(generator: Any, seed: int, index: int) -> None:
    """Seeds a generator; index counts those of one environment."""
    sequence = np.random.SeedSequence(seed, spawn_key=(index,) if index else ())
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        bits.state = type(bits)(sequence).state
    elif isinstance(generator, np.random.RandomState):
        # `RandomState.seed` takes one 32-bit integer, or an array of them
        is_own = index == 0 and seed < 2**32
        generator.seed(seed if is_own else sequence.generate_state(8))
    else:
        generator.seed(seed if index == 0 else int(sequence.generate_state(1, np.uint64)[0]))
