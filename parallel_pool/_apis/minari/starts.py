"""Starts: the seed and the options with which the episodes of environments began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from parallel_pool._apis.common import reset_mask
from parallel_pool._workers.run.episode_seeds import EpisodeSeeds


class Start(NamedTuple):
    """How an episode began.

    Attributes:
        seed: None if it had none: the environment's generator went on.
        options: of the reset; None for none.
    """

    seed: int | None = None
    options: dict[str, Any] | None = None


class Starts:
    """How the present episode of each environment began."""

    def __init__(self, num_envs: int, *, seeds_episodes: bool) -> None:
        """
        Args:
            num_envs: environments.
            seeds_episodes: whether every episode has a seed (episode_seeds=True).
        """
        self._seeds_episodes = seeds_episodes
        self._seeds = [EpisodeSeeds() for _ in range(num_envs)]

    def reset(
        self, seeds: Sequence[int | None], options: Mapping[str, Any] | None
    ) -> dict[int, Start]:
        """Returns by environment how the episodes begin that a reset begins.

        Args:
            seeds: of each environment, None for none.
            options: of the reset, with the mask of the environments that are reset.
        """
        own = None if options is None else {k: v for k, v in options.items() if k != reset_mask.KEY}
        mask = None if options is None else options.get(reset_mask.KEY)
        env_ids = range(len(seeds)) if mask is None else np.flatnonzero(mask).tolist()
        return {i: self.begin(i, seeds[i], own) for i in env_ids}

    def begin(
        self, i: int, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Start:
        """Returns how the next episode of an environment begins.

        Args:
            i: the environment.
            seed: which a reset gave it; None for none.
            options: of that reset; None for none.
        """
        return Start(self._next_seed(i, seed), options)

    def _next_seed(self, i: int, given: int | None) -> int | None:
        if not self._seeds_episodes:
            return given
        is_known = given is not None or self._seeds[i].seed is not None
        return self._seeds[i].begin(given) if is_known else None

    def forget(self, env_ids: Iterable[int]) -> None:
        """Forgets what environments were given: their next seeds are not known."""
        for i in env_ids:
            self._seeds[i] = EpisodeSeeds()
