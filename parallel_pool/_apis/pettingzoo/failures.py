"""Results of the calls in which some environments failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._engine.env_errors import env_error_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool.errors import EnvError


def failure_of(error: Exception) -> EnvError | None:
    """Returns the exception that holds the results of the other environments, if there are any."""
    failure = env_error_of(error)
    return failure if failure is not None and failure.batch else None


def without_failed(arrays: AgentArrays, env_ids: Sequence[int]) -> AgentArrays:
    """Returns the arrays of a call in which these environments failed.

    Their agents have no rewards and no ends, and do not act: the next step begins an episode.
    """
    keep = ~np.isin(arrays.env_ids, env_ids)[:, np.newaxis]
    return arrays._replace(
        rewards=np.where(keep, arrays.rewards, 0.0),
        terminations=arrays.terminations & keep,
        truncations=arrays.truncations & keep,
        live=arrays.live & keep,
    )


def without_steps(arrays: AgentArrays) -> AgentArrays:
    """Returns the arrays of a reset: rewards are 0, and no agent is terminated or truncated."""
    nothing = np.zeros(arrays.live.shape, np.bool_)
    return arrays._replace(
        rewards=np.zeros(nothing.shape), terminations=nothing, truncations=nothing.copy()
    )
