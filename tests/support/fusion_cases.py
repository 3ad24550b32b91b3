"""What the tests of Gymnasium's wrappers on native environments share."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import (
    ClipReward,
    TimeLimit,
)

MODES = list(AutoresetMode)
SPEC = EnvSpec("Made-v0", entry_point="nowhere:Made")


def spec_with(*added: WrapperSpec, **kwargs: Any) -> EnvSpec:
    return EnvSpec("Made-v0", entry_point="nowhere:Made", additional_wrappers=added, **kwargs)


def twice(reward: Any) -> Any:
    return 2 * reward


class MyTimeLimit(TimeLimit):  # type: ignore[type-arg]
    """A wrapper that Gymnasium does not have."""


class MyPartial(functools.partial):  # type: ignore[type-arg]
    """A wrapper that may call anything."""


clip = partial(ClipReward, min_reward=-0.5, max_reward=0.5)
