"""Rollout: the steps that a policy has made, as arrays (steps, num_envs, ...)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.trees import map_leaves
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array, Observations


@public("compat.gymnasium")
@dataclass
class Rollout:
    """The steps of a rollout; arrays (steps, n, ...) that are the caller's own.

    Arrays are C-contiguous, so `array.reshape(-1, *array.shape[2:])` copies nothing. None of them
    is ever written again, however long you keep it; their memory is used again once you have
    dropped all of them.

    Attributes:
        observations: (steps, n, *shape) of the space's dtype, before each step; an array, or a tree
            of such. Texts are arrays of objects. With frames=True `Stacks` instead.
        next_observations: (steps, n, *shape) of the same dtype, after each step, in the same
            memory: row i is row i + 1 of `observations`. After a step that ended an episode: the
            last observation of that episode; with SAME_STEP the first one of the next.
        actions: (steps, n, *action shape), of the dtype that the policy returned, or the common one
            if that differs between steps; a tree if its actions are one.
        rewards: float64 (steps, n); in EnvPool's API float32 (steps, rows), with a row for each
            player.
        terminations: bool (steps, n).
        truncations: bool (steps, n).
        resets: bool (steps, n): steps that reset their environment and ignored the action
            (NEXT_STEP): leave them out of a loss.
        final_observations: with SAME_STEP (steps, n, *shape) of the space's dtype, the last
            observation of the episode in rows that ended one, arbitrary values in others; else
            None, as `next_observations` has them.
        extras: what else the policy returned, (steps, n, ...) of its dtype or the common one, by
            name; 0, or an empty text, at steps at which it was left out.
        infos: the infos of each step, as `step` returns them.

    Example:
        >>> envs = parallel_pool.make_vec("CartPole-v1", 4, backend="native")
        >>> observations, infos = envs.reset(seed=1)
        >>> rollout = envs.rollout(32).collect(lambda observations: np.zeros(4, np.int64))
        >>> rollout.observations.shape, rollout.rewards.shape
        ((32, 4, 4), (32, 4))
        >>> envs.close()
    """

    observations: Observations
    next_observations: Observations
    actions: Array | Any
    rewards: Array
    terminations: Array
    truncations: Array
    resets: Array
    final_observations: Observations | None
    extras: dict[str, Array]
    infos: list[dict[str, Any]]

    def map(self, function: Callable[[Any], Any]) -> Rollout:
        """Returns a rollout with what a function returns for each array, such as
        `torch.from_numpy` or `jax.numpy.asarray`, or for `Stacks`; infos stay as they are."""
        changed = {
            field.name: map_leaves(function, getattr(self, field.name))
            for field in fields(self)
            if field.name != "infos" and getattr(self, field.name) is not None
        }
        return replace(self, **changed)
