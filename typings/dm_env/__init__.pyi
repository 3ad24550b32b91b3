"""What parallel_pool uses of dm_env 1.6, which has no types."""

import abc
import enum
from types import TracebackType
from typing import Any, NamedTuple, Self

from dm_env import specs as specs

class StepType(enum.IntEnum):
    FIRST = 0
    MID = 1
    LAST = 2

class TimeStep(NamedTuple):
    step_type: Any
    reward: Any
    discount: Any
    observation: Any

    def first(self) -> bool: ...
    def mid(self) -> bool: ...
    def last(self) -> bool: ...

# the specs may be trees
class Environment(abc.ABC):
    @abc.abstractmethod
    def reset(self) -> TimeStep: ...
    @abc.abstractmethod
    def step(self, action: Any) -> TimeStep: ...
    def reward_spec(self) -> Any: ...
    def discount_spec(self) -> Any: ...
    @abc.abstractmethod
    def observation_spec(self) -> Any: ...
    @abc.abstractmethod
    def action_spec(self) -> Any: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
