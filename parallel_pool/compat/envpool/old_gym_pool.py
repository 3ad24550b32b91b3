"""EnvPool's pool by the conventions of OpenAI's package gym before 0.26."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from gymnasium import spaces

from parallel_pool.compat.envpool.gymnasium_pool import GymnasiumEnvPool
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from types import ModuleType

    from parallel_pool.compat.envpool.spec import EnvSpec


def old_gym() -> ModuleType | None:
    """Returns the module gym if the program has imported one of before 0.26."""
    gym = sys.modules.get("gym")
    version = re.match(r"0\.(\d+)", str(getattr(gym, "__version__", "")))
    return gym if version and int(version[1]) < 26 else None


class OldGymEnvPool(GymnasiumEnvPool):
    """The same pool for programs that use gym before 0.26, as EnvPool's is up to 0.8.

    `step` and `recv` return observations, rewards, dones and infos, where a done says that the
    episode has terminated or is truncated, and infos have "TimeLimit.truncated". Spaces are gym's.
    """

    def __init__(self, gym: ModuleType, spec: EnvSpec, **arguments: Any) -> None:
        """Makes the environments; `make_gym` calls it.

        Args:
            gym: the package.
            spec, arguments: as for `GymnasiumEnvPool`.
        """
        super().__init__(spec, **arguments)
        self.observation_space = _convert(self.observation_space, gym.spaces)
        self.action_space = _convert(self.action_space, gym.spaces)
        self.single_observation_space = self.observation_space
        self.single_action_space = self.action_space

    def step(self, action: Any, env_id: Any = None, *, timeout: float | None = None) -> Any:
        """Sends actions and receives the next results, as `GymnasiumEnvPool.step` does."""
        try:
            return _with_done(super().step(action, env_id, timeout=timeout))
        except EnvError as error:
            error.batch = _with_done(error.batch)
            raise

    def recv(
        self,
        reset: bool = False,
        return_info: bool | None = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Receives the next results, as `GymnasiumEnvPool.recv` does."""
        show = _as_it_is if reset else _with_done
        try:
            return show(super().recv(reset, return_info, timeout=timeout))
        except EnvError as error:
            error.batch = show(error.batch)
            raise


def _as_it_is(result: Any) -> Any:
    return result


def _with_done(step: Any) -> Any:
    observation, reward, terminated, truncated, info = step
    info["TimeLimit.truncated"] = truncated
    return observation, reward, terminated | truncated, info


def _convert(space: Any, old: Any) -> Any:
    """Returns one of Gymnasium's spaces as a space of gym, whose module of spaces is `old`."""
    match space:
        case spaces.Box():
            return old.Box(space.low, space.high, space.shape, space.dtype)
        case spaces.Discrete():
            return old.Discrete(int(space.n))
        case spaces.MultiDiscrete():
            return old.MultiDiscrete(space.nvec)
        case spaces.MultiBinary():
            return old.MultiBinary(space.shape)
        case spaces.Dict():
            return old.Dict({name: _convert(each, old) for name, each in space.items()})
    raise TypeError(f"{space} has no counterpart in gym: import gymnasium instead")
