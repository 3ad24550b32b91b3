"""Functions that PoolVecEnv runs in worker processes, on one environment each.

This module imports neither Stable-Baselines3 nor torch, which take seconds to load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium

from parallel_pool._engine import maker
from parallel_pool._engine.arguments import quote
from parallel_pool._workers.run.make_env import make_env

if TYPE_CHECKING:
    from parallel_pool._engine.maker import Maker


@dataclass(frozen=True)
class CheckedEnvFn:
    """Calls a user's function; raises ValueError if the result is not a `gymnasium.Env`.

    A `dm_env.Environment` becomes one.
    """

    function: Callable[[], Any]

    @property
    def maker(self) -> Maker | None:
        """The class of the environment, for advice."""
        return maker.of(self.function)

    def __call__(self) -> Any:
        env = make_env(self.function)
        if not isinstance(env, gymnasium.Env):
            raise ValueError(
                f"the function {quote(self.function)} returned {quote(env)}, which is a"
                f" {type(env).__name__}, not a gymnasium.Env: return one, derived from that class"
                " or wrapped (the package shimmy has wrappers)"
            )
        return env


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
    """Returns whether an environment or one of its wrappers has an attribute."""

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
    """Returns whether an environment has a wrapper of a class or of a derived class.

    Classes are compared by name: one that `__main__` or a function defines is pickled by value, so
    it is a different object here than in the parent; and a worker need not import the class.
    """

    module: str
    name: str

    def __call__(self, env: Any) -> bool:
        while isinstance(env, gymnasium.Wrapper):
            if _is_of(env, self.module, self.name):
                return True
            env = env.env
        return False


@dataclass(frozen=True)
class SetWrapperAttribute:
    """Sets an attribute of the parallel environment in a `JointEnv`."""

    name: str
    value: Any

    def __call__(self, env: Any) -> None:
        env.set_wrapper_attr(self.name, self.value)


@dataclass(frozen=True)
class IsParallelWrapped:
    """Returns whether the parallel environment in a `JointEnv` has a wrapper, as `IsWrapped`."""

    module: str
    name: str

    def __call__(self, env: Any) -> bool:
        inner = env.env
        while hasattr(inner, "env"):
            if _is_of(inner, self.module, self.name):
                return True
            inner = inner.env
        return False


def _is_of(wrapper: Any, module: str, name: str) -> bool:
    """Returns whether a wrapper is of the class of this name, or of a derived one."""
    return any((it.__module__, it.__qualname__) == (module, name) for it in type(wrapper).__mro__)
