"""Turn: one step of the environments of one chunk."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array, Observations


@public("turns")
class Turn(NamedTuple):
    """One step of the environments `rows`, of which there are k.

    Arrays are tensors if the chunks return tensors.

    Attributes:
        rows: the environments, a slice of 0 to num_envs.
        observations: what the policy was given, (k, *shape) of the space's dtype, or a dict or
            tuple of such arrays.
        actions: as the policy returned them, (k, *action shape) of its dtype.
        extras: what the policy returned beside its actions.
        rewards: float64 (k,).
        terminations: bool (k,).
        truncations: bool (k,).
        infos: as `step_wait` of the chunk returned them, for its k environments.
        next_observations: what the step returned, (k, *shape) of the space's dtype, or a dict or
            tuple of such arrays.

    Example:
        >>> def make(rows):
        ...     return parallel_pool.make_vec("CartPole-v1", len(rows))
        >>> def push_right(observations):
        ...     return np.ones(len(observations), int)
        >>> with parallel_pool.turns.PolicyLoop(make, 4, push_right, depth=2) as loop:
        ...     loop.reset(seed=1)
        ...     [(turn.rows, turn.rewards) for turn in loop.play(1)]
        [(slice(0, 2, None), array([1., 1.])), (slice(2, 4, None), array([1., 1.]))]
    """

    rows: slice
    observations: Observations
    actions: Array | Any
    extras: Mapping[str, Any]
    rewards: Array
    terminations: Array
    truncations: Array
    infos: Mapping[str, Any]
    next_observations: Observations


# of a policy that returns its actions only
NO_EXTRAS: Mapping[str, Any] = MappingProxyType({})
