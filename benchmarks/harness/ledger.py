"""Checks the rows of the soak test: each must follow from the row before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.harness.counting import ACTION, EPISODE, LIFE, STEP, TOTAL

Array = np.ndarray[Any, Any]

MAX_WRONG_ROWS = 10


class Ledger:
    """Checks the rows of a vector environment of `Counting` with autoreset mode NEXT_STEP.

    Attributes:
        rows: checked so far.
        restarts: rows that report a restart of their worker.
        wrong: descriptions of the first MAX_WRONG_ROWS wrong rows. A row is wrong if it is torn or
            belongs to another environment, or if a row before it was lost or doubled.
        num_wrong: number of failed checks; a row has two.
    """

    def __init__(self, obs: Mapping[str, Array]) -> None:
        self.rows = self.restarts = self.num_wrong = 0
        self.wrong: list[str] = []
        self._count = obs["count"].copy()
        self._ended = np.zeros(len(self._count), bool)
        # environments that have returned no row since their restart
        self._fresh = np.zeros(len(self._count), bool)
        self._note(self._is_first() & is_one_shade(obs), self._count, "is no first observation")

    def _is_first(self) -> Array:
        count = self._count
        return (count[:, TOTAL] == 1) & (count[:, STEP] == 0) & (count[:, ACTION] == -1)

    def check(
        self,
        actions: Array,
        obs: Mapping[str, Array],
        rewards: Array,
        terminated: Array,
        truncated: Array,
        infos: Mapping[str, Any],
    ) -> None:
        """Checks what `step(actions)` returned."""
        count = obs["count"]
        no_row = np.zeros(len(count), bool)
        restarted = np.asarray(infos.get("_worker_restarted", no_row))
        is_quiet = (rewards == 0) & ~terminated
        repeats = (count == self._count).all(1) & is_quiet & truncated
        repeats &= np.asarray(infos.get("_restart_seed", no_row))
        begins = self._begins(count) & is_quiet & ~truncated
        goes_on = self._goes_on(count, actions) & (rewards == count[:, STEP])
        follows = np.where(restarted, repeats, np.where(self._ended, begins, goes_on))
        self._note(follows & is_one_shade(obs), count, "does not follow")
        self._note(has_own_info(infos, count) | restarted, count, "has a wrong info")
        self.rows += len(count)
        self.restarts += int(restarted.sum())
        self._fresh = restarted
        self._ended = terminated | truncated
        self._count = count.copy()

    def _begins(self, count: Array) -> Array:
        """Returns which rows are a reset: the first of a new life, or of the next episode."""
        old = self._count
        is_new = (count[:, LIFE] != old[:, LIFE]) & (count[:, TOTAL] == 1)
        is_next = (
            (count[:, LIFE] == old[:, LIFE])
            & (count[:, TOTAL] == old[:, TOTAL] + 1)
            & (count[:, EPISODE] == old[:, EPISODE] + 1)
        )
        is_reset = (count[:, STEP] == 0) & (count[:, ACTION] == -1)
        return is_reset & np.where(self._fresh, is_new, is_next)

    def _goes_on(self, count: Array, actions: Array) -> Array:
        """Returns which rows are the next step of the same episode."""
        old = self._count
        return (
            (count[:, LIFE] == old[:, LIFE])
            & (count[:, EPISODE] == old[:, EPISODE])
            & (count[:, STEP] == old[:, STEP] + 1)
            & (count[:, TOTAL] == old[:, TOTAL] + 1)
            & (count[:, ACTION] == actions)
        )

    def close(self, lives: Array, totals: Array) -> None:
        """Compares the last rows with the final counts of the environments themselves."""
        is_same = (lives == self._count[:, LIFE]) & (totals == self._count[:, TOTAL])
        # environments that have just restarted have returned no row to compare with
        counts = np.stack([lives, totals], 1)
        self._note(is_same | self._fresh, counts, "has other counts")

    def _note(self, is_right: Array, count: Array, what: str) -> None:
        for i in np.flatnonzero(~is_right):
            self.num_wrong += 1
            if len(self.wrong) < MAX_WRONG_ROWS:
                text = f"environment {i} {what}: {count[i].tolist()}"
                self.wrong.append(f"{text} after {self._count[i].tolist()}, row {self.rows}")


def is_one_shade(obs: Mapping[str, Array]) -> Array:
    """Returns which pictures have the shade that their count implies, in all pixels."""
    shades = (obs["count"][:, TOTAL] & 255).astype(np.uint8)
    same: Array = (obs["picture"] == shades[:, None, None]).all((1, 2))
    return same


def has_own_info(infos: Mapping[str, Any], count: Array) -> Array:
    """Returns which rows have the infos of the same call."""
    totals = np.asarray(infos.get("total", np.full(len(count), -1)))
    right = totals == count[:, TOTAL]
    for i in np.flatnonzero(infos.get("_said", ())):
        right[i] &= infos["said"][i] == f"{count[i, LIFE]}: {count[i, TOTAL]}"
    return right
