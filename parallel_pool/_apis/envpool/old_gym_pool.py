"""OldGymEnvPool: EnvPool's pool with the API of OpenAI's package gym before 0.26."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gymnasium import spaces

from parallel_pool._apis.envpool.actions import is_mapping
from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from types import ModuleType

    from parallel_pool._apis.envpool.results import ResultBuilder, Step
    from parallel_pool._apis.envpool.spec import EnvSpec


def old_gym() -> ModuleType | None:
    """Returns the module gym if the program has imported a version before 0.26."""
    gym = sys.modules.get("gym")
    version = re.match(r"0\.(\d+)", str(getattr(gym, "__version__", "")))
    return gym if version and int(version[1]) < 26 else None


class OldGymEnvPool(GymnasiumEnvPool):
    """A GymnasiumEnvPool for programs that use gym before 0.26, like EnvPool's up to 0.8.

    `step` and `recv` return observations, rewards, dones and infos. A done is True if the episode
    is terminated or truncated; infos have "TimeLimit.truncated". Spaces are gym's.
    """

    def __init__(self, gym: ModuleType, spec: EnvSpec, **arguments: Any) -> None:
        """Makes the environments; `make_gym` calls this.

        Args:
            gym: the package.
            spec, arguments: as for `GymnasiumEnvPool`.
        """
        super().__init__(spec, **arguments)
        self.observation_space = _convert(self.observation_space, gym.spaces)
        self.action_space = _convert(self.action_space, gym.spaces)
        self.single_observation_space = self.observation_space
        self.single_action_space = self.action_space
        self._convert = partial(_done_of_views, self._rows.convert)

    def _warn_of_two_rows(self) -> None:
        """Does nothing: programs of that time expect observations only."""

    def _as_asked(self, step: Any, reset: bool, return_info: bool | None = None) -> Any:
        return super()._as_asked(step, True, return_info) if reset else _with_done(step)

    def _step_of_rollout(self, actions: Any) -> Step:
        if not self._is_plain or is_mapping(actions):
            actions, _ = self._arrange_step(actions, None)
        try:
            step: Step = self.pool.step_as(self._rows.convert, actions)
        except EnvError as error:
            error.batch = self._rows.results(error.batch)
            raise
        return step

    def _converters(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        return partial(_done_of, self._rows), super()._converters()[1]


def _done_of(rows: ResultBuilder, batch: Any) -> Any:
    return _with_done(rows.results(batch))


def _done_of_views(convert: Callable[[Any], Any], views: Any) -> Any:
    return _with_done(convert(views))


def _with_done(step: Any) -> Any:
    observation, reward, terminated, truncated, info = step
    info["TimeLimit.truncated"] = truncated
    return observation, reward, terminated | truncated, info


def _convert(space: Any, old: Any) -> Any:
    """Returns a Gymnasium space as a gym space; `old` is gym's module `spaces`."""
    match space:
        case spaces.Box():
            return old.Box(space.low, space.high, space.shape, space.dtype)
        case spaces.Discrete() if not space.start:
            return old.Discrete(int(space.n))
        case spaces.MultiDiscrete() if not space.start.any():
            return old.MultiDiscrete(space.nvec)
        case spaces.MultiBinary():
            return old.MultiBinary(space.shape)
        case spaces.Dict():
            return old.Dict({name: _convert(each, old) for name, each in space.items()})
    raise TypeError(f"{space} has no counterpart in gym: import gymnasium instead")
