"""Players: classes of PettingZoo's, and the names of their agents."""

from __future__ import annotations

from typing import Any

from parallel_pool._translator.refusal import Refusal

# where PettingZoo has its base class; it is not imported, as it may not be installed
BASE = "pettingzoo.utils.env"


def is_base(cls: type) -> bool:
    """Returns whether a class is one of PettingZoo's own base classes."""
    return cls.__module__ == BASE


def is_parallel(cls: type) -> bool:
    """Returns whether a class inherits from `pettingzoo.ParallelEnv`."""
    return any(is_base(each) and each.__name__ == "ParallelEnv" for each in cls.__mro__)


def names_of(env: Any) -> tuple[str, ...]:
    """Returns the names of all agents that an environment may have.

    Raises:
        Refusal: they are no texts, or one is there twice.
    """
    names = getattr(env, "possible_agents", None)
    if not isinstance(names, (list, tuple)) or not names:
        raise Refusal("self.possible_agents must be a list of all agents, from __init__ on")
    for name in names:
        if not isinstance(name, str) or not name:
            raise Refusal(
                f"the agent {name!r} is no text: name agents by texts, as in"
                ' [f"agent_{i}" for i in range(3)]'
            )
    if len(set(names)) < len(names):
        raise Refusal("self.possible_agents has an agent twice")
    return tuple(names)
