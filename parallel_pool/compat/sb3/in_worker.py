"""What PoolVecEnv asks of environments where they live; worker processes import this.

It knows neither Stable-Baselines3 nor torch, which would take a worker seconds to load.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium


@dataclass(frozen=True)
class Maker:
    """Calls a user's function, and refuses what it makes if that is none of Gymnasium's."""

    function: Callable[[], Any]

    def __call__(self) -> Any:
        env = self.function()
        if not isinstance(env, gymnasium.Env):
            raise ValueError(
                f"the function {self.function!r} returned {env!r}, which is a"
                f" {type(env).__name__} and no gymnasium.Env: return one, derived from that class"
                " or wrapped (the package shimmy has wrappers)"
            )
        return env


def identity(env: Any) -> tuple[int, int]:
    """Returns what is equal for two that are one and the same environment."""
    return os.getpid(), id(env.unwrapped)


@dataclass(frozen=True)
class CallMethod:
    """Calls a method of the outermost wrapper that has it."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, env: Any) -> Any:
        return env.get_wrapper_attr(self.name)(*self.args, **self.kwargs)


@dataclass(frozen=True)
class HasAttribute:
    """Says whether an environment or one of its wrappers has an attribute."""

    name: str

    def __call__(self, env: Any) -> bool:
        try:
            env.get_wrapper_attr(self.name)
        except AttributeError:
            return False
        return True


@dataclass(frozen=True)
class SetAttribute:
    """Sets an attribute of the outermost wrapper, as Stable-Baselines3 does."""

    name: str
    value: Any

    def __call__(self, env: Any) -> None:
        setattr(env, self.name, self.value)


@dataclass(frozen=True)
class IsWrapped:
    """Says whether an environment has a wrapper of a class, or of one derived from it.

    By name, for a class may be another object here than where it was asked about (what `__main__`
    and functions define comes by value), and a worker must not have to import it.
    """

    module: str
    name: str

    def __call__(self, env: Any) -> bool:
        while isinstance(env, gymnasium.Wrapper):
            for kind in type(env).__mro__:
                if (kind.__module__, kind.__qualname__) == (self.module, self.name):
                    return True
            env = env.env
        return False
