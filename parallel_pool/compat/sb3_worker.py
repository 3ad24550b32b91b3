"""What PoolVecEnv asks of environments where they live; worker processes import this.

It knows neither Stable-Baselines3 nor torch, which would take a worker seconds to load.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import gymnasium


@dataclass(frozen=True)
class Identity:
    """Which environment somebody made.

    Attributes:
        pid, address: equal for two that are one and the same object.
        stranger: the name of its type if that is no `gymnasium.Env`, else empty.
    """

    pid: int
    address: int
    stranger: str


def identity(env: Any) -> Identity:
    """Tells an environment from others."""
    if not isinstance(env, gymnasium.Env):
        return Identity(os.getpid(), id(env), f"{type(env).__module__}.{type(env).__qualname__}")
    return Identity(os.getpid(), id(env.unwrapped), "")


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
