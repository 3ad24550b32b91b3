"""A function that makes one Python environment as make_vec does; worker processes import this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gymnasium

from parallel_pool._apis.common import dependencies

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._engine.maker import Maker


@dataclass(frozen=True)
class EnvFn:
    """Makes the environment of a spec and applies wrappers to it, the innermost first.

    Attributes:
        spec: of the environment.
        kwargs: of gymnasium.make.
        wrappers: around it.
        maker: the class, for advice; None if a compiled environment could not stand for this one.
    """

    spec: EnvSpec
    kwargs: Mapping[str, Any]
    wrappers: tuple[Callable[[Any], Any], ...]
    maker: Maker | None = field(default=None, compare=False)

    def __call__(self) -> Any:
        with dependencies.explained(self.spec.entry_point):
            env: Any = gymnasium.make(self.spec, **self.kwargs)
        for wrapper in self.wrappers:
            env = wrapper(env)
        return env
