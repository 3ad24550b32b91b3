"""Rules that say when a worker fetches a newer policy: `Every` and `Adaptive`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from parallel_pool._engine.arguments import check_count, quote
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


class Rule(Protocol):
    """Says when a worker fetches a newer policy.

    Attributes:
        sample: states of a batch that `divergence` is measured on; 0 for none.
    """

    sample: int

    def wants(self, age: int, divergence: Callable[[], float]) -> bool:
        """Returns whether a worker is to fetch the newest policy with its next request.

        Args:
            age: how many versions its policy is behind, 1 or more.
            divergence: measures how far the newest policy is from its own.
        """
        ...


@public("cluster")
class Every:
    """A worker fetches the newest policy when its own is `period` versions behind.

    Attributes:
        period: as given.
        sample: 0, as it needs no divergence.

    Example:
        >>> from parallel_pool.cluster import Every
        >>> rule = Every(4)
        >>> rule.wants(3, divergence=lambda: 0.0), rule.wants(4, divergence=lambda: 0.0)
        (False, True)
    """

    sample = 0

    def __init__(self, period: int = 1) -> None:
        self.period = check_count("period", period, 1)

    def __repr__(self) -> str:
        return f"Every({self.period})"

    def wants(self, age: int, divergence: Callable[[], float]) -> bool:
        """Returns whether a worker whose policy is `age` versions behind is to fetch the newest."""
        return age >= self.period


@public("cluster")
class Adaptive:
    """A worker fetches the newest policy when that has moved away from its own.

    The distance is the Kullback-Leibler divergence of the newest policy from the worker's, in nats
    for one state, estimated on states of the batch that has just come from the worker. So it needs
    no message of its own. With threshold=0 this is `Every(1)`.

    Attributes:
        threshold: as given.
        max_age: as given.
        sample: as given.

    Example:
        >>> from parallel_pool.cluster import Adaptive
        >>> rule = Adaptive(threshold=0.01, max_age=16)
        >>> rule.wants(1, divergence=lambda: 0.002), rule.wants(1, divergence=lambda: 0.02)
        (False, True)
    """

    def __init__(self, threshold: float = 0.01, max_age: int = 16, sample: int = 128) -> None:
        """Sets the rule.

        Args:
            threshold: the divergence from which on a worker fetches, in nats.
            max_age: most versions that a worker's policy is behind when it begins a batch.
            sample: states of a batch that the divergence is measured on.
        """
        if not threshold >= 0:
            raise ValueError(f"threshold={quote(threshold)}: choose 0 or more")
        self.threshold = float(threshold)
        self.max_age = check_count("max_age", max_age, 1)
        self.sample = check_count("sample", sample, 1)

    def __repr__(self) -> str:
        return f"Adaptive({self.threshold:g}, max_age={self.max_age})"

    def wants(self, age: int, divergence: Callable[[], float]) -> bool:
        """Returns whether a worker whose policy is `age` versions behind is to fetch the newest."""
        # also if weights that are no numbers make it NaN
        return age > self.max_age or not divergence() < self.threshold


def divergence(newest: Array, behaviour: Array) -> float:
    """Estimates the Kullback-Leibler divergence of the newest policy from a worker's.

    Args:
        newest, behaviour: log probabilities (m,) of actions that the worker's policy drew.

    Returns:
        The mean over states of r - 1 - log r, where r is the ratio of the probabilities: its
        expectation is the divergence, and it is never negative (J. Schulman, "Approximating KL
        Divergence", 2020).
    """
    log_ratio = np.asarray(newest, np.float64) - np.asarray(behaviour, np.float64)
    return float(np.mean(np.expm1(log_ratio) - log_ratio))
