"""EpisodeSeeds: seeds of an environment's episodes that do not depend on earlier episodes."""

from __future__ import annotations

import numpy as np

from parallel_pool._engine import seeds
from parallel_pool._workers.data.messages import SEED_BITS


def of_episode(seed: int, episode: int) -> int:
    """Returns the seed of an episode, below 2**31, which old libraries take too.

    Args:
        seed: which the environment was given.
        episode: counted from 1, the first that begins without a seed of its own.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(episode,))
    return int(sequence.generate_state(1, np.uint32)[0]) >> 1


class EpisodeSeeds:
    """The seeds of one environment's episodes: the one that it was given, then those that follow.

    Attributes:
        seed: that was given last, or drawn; None before the first episode.
        episode: episodes that were begun since.
    """

    def __init__(self) -> None:
        self.seed: int | None = None
        self.episode = 0

    def begin(self, given: int | None) -> int:
        """Returns the seed of the episode that begins.

        Args:
            given: a seed of its own; None for the next one.
        """
        if given is None and self.seed is None:
            given = seeds.entropy(SEED_BITS)
        if given is not None:
            self.seed, self.episode = given, 0
            return given
        following = self.following()
        assert following is not None
        self.episode += 1
        return following

    def following(self) -> int | None:
        """Returns the seed of the episode after this one; None before the first."""
        return None if self.seed is None else of_episode(self.seed, self.episode + 1)
