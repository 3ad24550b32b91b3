"""Restores forged snapshots into native environments, for the soak test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parallel_pool._contract import forgery
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import EnvError

# one of each family whose states index something
IDS = ("Blackjack-v1", "Catch-v0", "FrozenLake-v1", "Taxi-v4", "classic/connect_four_v3")
# the environment that is forged, and its neighbours
FORGED_ENV, OTHERS = 1, (0, 2)
# snapshots that are forged of one honest one
OF_ONE = 64


class Forging:
    """Pools whose environments get forged snapshots, in turn.

    Attributes:
        accepted, refused: how many forged snapshots were.
        faults: descriptions of all faults.
    """

    def __init__(self, ids: Sequence[str] = IDS, seed: int = 0) -> None:
        self.accepted = self.refused = 0
        self.faults: list[str] = []
        self._pools = [Pool(env, 3, seed=seed, num_threads=1) for env in ids]
        self._made = [self._forgeries(pool) for pool in self._pools]
        self._next = 0
        for pool in self._pools:
            pool.reset()

    def _forgeries(self, pool: Pool) -> Iterator[forgery.Forgery]:
        for seed in range(10**9):
            (honest,) = pool.get_state([0])
            yield from forgery.forgeries(pool, honest, OF_ONE, seed)

    def step(self) -> None:
        """Restores a forged snapshot, steps on and restores what was before."""
        pool, made = self._pools[self._next], self._made[self._next]
        self._next = (self._next + 1) % len(self._pools)
        each, before = next(made), pool.get_state()
        try:
            pool.set_state([each.snapshot], [FORGED_ENV])
            self.accepted += 1
            self.go_on(pool)
        except ValueError:
            self.refused += 1
        others = pool.get_state(OTHERS)
        if others != [before[i] for i in OTHERS]:
            self.faults.append(f"{pool.definition.id}, {each.what}: a neighbour changed")
        pool.set_state(before)
        # so that the next honest snapshot is another
        pool.step(self._actions(pool))

    def go_on(self, pool: Pool) -> None:
        for _ in range(3):
            # an error does no harm
            with contextlib.suppress(EnvError):
                pool.step(self._actions(pool)[[FORGED_ENV]], [FORGED_ENV])

    def _actions(self, pool: Pool) -> Any:
        field = pool.spec.action
        players = (pool.spec.num_players,) if field.per_player else ()
        return np.zeros((pool.num_envs, *players, *field.shape), field.dtype)

    def close(self) -> None:
        """Closes the pools."""
        for pool in self._pools:
            pool.close()
