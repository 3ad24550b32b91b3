"""The spaces of a vector environment, made from those of its environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Space
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from parallel_pool._engine.arguments import a_type, quote

AnySpace = Space[Any]


@dataclass(frozen=True)
class VectorSpaces:
    """Spaces of one environment, and of all of them."""

    single_observation: AnySpace
    observation: AnySpace
    single_action: AnySpace
    action: AnySpace


def combine(
    observation_mode: Any, observations: Sequence[AnySpace], actions: Sequence[AnySpace]
) -> VectorSpaces:
    """Checks the spaces of all environments and returns those of the vector environment.

    Args:
        observation_mode: "same": the observation spaces are equal; "different": they share shape
            and dtype; or a tuple of a batched and a single observation space to show instead.
        observations, actions: spaces, one per environment.

    Raises:
        TypeError, ValueError: observation_mode is none of these.
        RuntimeError: the environments' spaces differ by more than observation_mode allows.
    """
    count = len(observations)
    single = observations[0]
    if isinstance(observation_mode, tuple) and len(observation_mode) == 2:
        for space in observation_mode:
            if not isinstance(space, Space):
                raise TypeError(
                    f"observation_mode holds {quote(space)}, {a_type(space)}: give a tuple of"
                    " a batched and a single space"
                )
        batched, single = observation_mode
    elif observation_mode == "same":
        batched = batch_space(single, count)
    elif observation_mode == "different":
        batched = None
    else:
        raise ValueError(
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of single and"
            f" batch observation space, actual got {observation_mode} (in a tuple, the batched"
            " space comes first)"
        )
    for i, space in enumerate(observations):
        _check_observation(observation_mode, i, space, single)
    for i, space in enumerate(actions):
        if space != actions[0]:
            raise RuntimeError(
                f"environment {i} has the action space {space}, and environment 0 {actions[0]}:"
                " those of all environments must be equal"
            )
    if batched is None:
        # after the check, whose error is clearer
        batched = batch_differing_spaces(list(observations))
    return VectorSpaces(single, batched, actions[0], batch_space(actions[0], count))


def _check_observation(observation_mode: Any, i: int, space: AnySpace, single: AnySpace) -> None:
    if observation_mode == "same":
        if space != single:
            raise RuntimeError(
                "PoolVectorEnv(..., observation_mode='same') however the sub-environments"
                f" observation spaces are not equivalent. Environment {i} has {space}, and"
                f" environment 0 {single}. If this is intentional, use"
                " `observation_mode='different'` instead."
            )
    elif not is_space_dtype_shape_equiv(space, single):
        raise RuntimeError(
            f"PoolVectorEnv(..., observation_mode={_mode_repr(observation_mode)}) however the"
            " sub-environments observation spaces do not share a common shape and dtype."
            f" Environment {i} has {space}, which can't be batched with {single}: make"
            " environments whose spaces differ in their bounds alone"
        )


def _mode_repr(observation_mode: Any) -> str:
    return repr(observation_mode) if isinstance(observation_mode, str) else "custom space"
