"""Surface: what environments show before the first step, compared: spaces and registration."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._prover.comparison import Attribute, Difference, first_difference
from parallel_pool._prover.target import Facts

# attributes of each kind of space
ATTRIBUTES: dict[type, tuple[str, ...]] = {
    spaces.Box: ("dtype", "shape", "low", "high"),
    spaces.Discrete: ("n", "start", "dtype"),
    spaces.MultiDiscrete: ("dtype", "shape", "nvec", "start"),
    spaces.MultiBinary: ("shape",),
}


def surface_difference(ours: Facts, theirs: Facts) -> Difference | None:
    """Returns where spaces or the registration differ first."""
    sides = ((it.observation_space, it.action_space) for it in (ours, theirs))
    found = spaces_difference(*sides)
    if found is not None:
        return found
    if theirs.has_limit and ours.limit != theirs.limit:
        return _of_spec("max_episode_steps", ours.limit, theirs.limit)
    thresholds = ours.threshold, theirs.threshold
    if None not in thresholds and thresholds[0] != thresholds[1]:
        return _of_spec("reward_threshold", *thresholds)
    return None


def spaces_difference(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> Difference | None:
    """Returns where the spaces of an observation and an action differ first."""
    names = ("single_observation_space", "single_action_space")
    for name, one, other in zip(names, ours, theirs, strict=True):
        found = space_difference(one, other)
        if found is not None:
            return found.under(Attribute(name))
    return None


def _of_spec(name: str, ours: Any, theirs: Any) -> Difference:
    return Difference((Attribute("spec"), Attribute(name)), "value", ours, theirs)


def space_difference(ours: Any, theirs: Any) -> Difference | None:
    """Returns where two spaces differ first, with the bits of all bounds."""
    if type(ours) is not type(theirs):
        path = (Attribute("__class__"), Attribute("__name__"))
        return Difference(path, "value", type(ours).__name__, type(theirs).__name__)
    if isinstance(ours, spaces.Dict):
        if ours.keys() != theirs.keys():
            return Difference((), "keys", sorted(ours), sorted(theirs))
        return _of_parts(theirs.keys(), ours, theirs)
    if isinstance(ours, spaces.Tuple):
        if len(ours) != len(theirs):
            return Difference((Attribute("spaces"),), "shape", (len(ours),), (len(theirs),))
        return _of_parts(range(len(ours)), ours, theirs)
    for name in ATTRIBUTES.get(type(ours), ()):
        one, other = (_plain(getattr(space, name)) for space in (ours, theirs))
        found = first_difference(one, other)
        if found is not None:
            return found.under(Attribute(name))
    return None


def not_compared(space: Any) -> set[str]:
    """Returns the kinds of spaces in one of which only the kind is compared, such as Text."""
    if isinstance(space, spaces.Dict):
        return set().union(*map(not_compared, space.spaces.values()))
    if isinstance(space, spaces.Tuple):
        return set().union(*map(not_compared, space.spaces))
    return set() if type(space) in ATTRIBUTES else {type(space).__name__}


def _of_parts(keys: Any, ours: Any, theirs: Any) -> Difference | None:
    for key in keys:
        found = space_difference(ours[key], theirs[key])
        if found is not None:
            return found.under(key)
    return None


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, np.dtype) else value
