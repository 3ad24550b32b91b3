"""Archive: action sequences that reached something new, or stayed alive for long.

States are told apart by coarse cells of observation, reward and end. A sequence begins with a seed
and holds one episode; it is continued by being played again.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.buffers import Array
from parallel_pool._prover.player import Result

# cells between finite bounds: at first, and at most; and the most numbers of a cell
BINS, MAX_BINS, MAX_NUMBERS = 12, 192, 64
# shares of fresh episodes, of sequences that lived for long, and of those that went furthest out
FRESH_SHARE, LONG_SHARE, EXTREME_SHARE = 0.15, 0.2, 0.25
# bounds beyond this say nothing of where observations are
MAX_BOUND = 1e6


@dataclass
class Found:
    """Actions of one episode.

    Attributes:
        seed: of the reset.
        actions: of shape (steps, *shape of an action).
        visits: how often it was continued.
    """

    seed: int
    actions: Array
    visits: int = 0


class Archive:
    """The sequences that were kept.

    Attributes:
        cells: the sequence that reached each cell first.
        longest: sequences that lived for long, the longest first.
        extremes: by component and sign the value that is furthest out, and what reached it.
    """

    MAX_LONGEST = 8

    def __init__(self, space: Any) -> None:
        self.cells: dict[bytes, Found] = {}
        self.longest: list[Found] = []
        self.extremes: dict[tuple[int, int], tuple[float, Found]] = {}
        self._space, self._bins = space, BINS

    def refine(self) -> None:
        """Makes cells finer, when all that are reached are known."""
        self._bins = min(2 * self._bins, MAX_BINS)

    def cells_of(self, results: Sequence[Result]) -> list[list[bytes]]:
        """Returns the cell of each environment in each result of a step."""
        found = [leaves(self._space, result["observation"]) for result in results]
        parts = [
            _coarse(rows[0][0], np.concatenate([leaf for _, leaf in rows]), self._bins)
            for rows in zip(*found, strict=True)
        ]
        rewards, *ends = (
            np.concatenate([result[name] for result in results])[:, None]
            for name in ("reward", "terminated", "truncated")
        )
        flags = [each.astype(np.int16) for each in ends]
        fineness = np.full_like(flags[0], self._bins)
        table = np.concatenate([*parts, _signed_logs(rewards), *flags, fineness], axis=1)
        count = len(table) // len(results)
        cells = [row.tobytes() for row in table]
        return [cells[at : at + count] for at in range(0, len(cells), count)]

    def choose(self, count: int, rng: np.random.Generator) -> list[Found | None]:
        """Returns sequences to continue; None for a fresh episode."""
        kept = list(self.cells.values())
        if not kept:
            return [None] * count
        weights = np.array([1 / (1 + each.visits) ** 2 for each in kept])
        places = rng.choice(len(kept), count, p=weights / weights.sum())
        chosen: list[Found | None] = [kept[at] for at in places.tolist()]
        outer = [found for _, found in self.extremes.values()]
        share = FRESH_SHARE + LONG_SHARE
        for at, draw in enumerate(rng.random(count).tolist()):
            if draw < FRESH_SHARE:
                chosen[at] = None
            elif draw < share and self.longest:
                chosen[at] = self.longest[int(rng.integers(len(self.longest)))]
            elif share <= draw < share + EXTREME_SHARE and outer:
                chosen[at] = outer[int(rng.integers(len(outer)))]
        for each in chosen:
            if each is not None:
                each.visits += 1
        return chosen

    def keep(self, cell: bytes, seed: int, actions: Array) -> bool:
        """Keeps what reached a cell, if that is new or was reached in fewer steps."""
        there = self.cells.get(cell)
        if there is None:
            self.cells[cell] = Found(seed, actions)
        elif len(actions) < len(there.actions):
            there.seed, there.actions = seed, actions
        return there is None

    def keep_outer(
        self, results: Sequence[Result], lives: Sequence[int], seeds: Sequence[int], taken: Array
    ) -> dict[int, int]:
        """Keeps what went further out than anything before.

        Returns:
            The step at which each environment did so last.
        """
        rows = [leaves(self._space, result["observation"]) for result in results]
        flat = [
            np.concatenate([_numbers(leaf.reshape(len(leaf), -1)) for _, leaf in row], axis=1)
            for row in rows
        ]
        if flat[0].shape[1] > MAX_NUMBERS:
            return {}
        values = np.stack(flat).astype(np.float64)
        is_dead = np.arange(1, len(values) + 1)[:, None] > np.asarray(lives)
        values[is_dead] = np.nan
        values[~np.isfinite(values)] = np.nan
        last: dict[int, int] = {}
        for number in range(values.shape[2]):
            for sign in (-1, 1):
                signed = np.nan_to_num(sign * values[:, :, number], nan=-np.inf)
                step, at = divmod(int(signed.argmax()), values.shape[1])
                best, _ = self.extremes.get((number, sign), (-np.inf, None))
                if signed[step, at] > best:
                    found = Found(seeds[at], taken[: step + 1, at])
                    self.extremes[number, sign] = float(signed[step, at]), found
                    last[at] = max(last.get(at, 0), step + 1)
        return last

    def keep_long(self, seed: int, actions: Array) -> bool:
        """Keeps a sequence if it is among the longest."""
        if any(each.seed == seed and len(each.actions) >= len(actions) for each in self.longest):
            return False
        self.longest.append(Found(seed, actions))
        self.longest.sort(key=lambda each: -len(each.actions))
        dropped = self.longest[self.MAX_LONGEST :]
        del self.longest[self.MAX_LONGEST :]
        return not dropped or len(dropped[0].actions) < len(actions)


def leaves(space: Any, value: Any) -> list[tuple[Any, Array]]:
    """Returns the simple spaces of an observation with their rows."""
    if isinstance(space, spaces.Dict):
        return [pair for key in space for pair in leaves(space[key], value[key])]
    if isinstance(space, spaces.Tuple):
        pairs: Sequence[tuple[Any, Any]] = list(zip(space.spaces, value, strict=True))
        return [pair for each, rows in pairs for pair in leaves(each, rows)]
    return [(space, np.asarray(value))]


def _coarse(space: Any, rows: Array, bins: int) -> Array:
    """Returns some small numbers for each row, of shape (rows, numbers)."""
    flat = _numbers(rows.reshape(len(rows), -1))
    if flat.dtype.kind in "iub" and flat.shape[1] <= MAX_NUMBERS:
        return flat.astype(np.int64).astype(np.int16)
    values = _blocks(flat.astype(np.float64))
    sides = [
        np.broadcast_to(getattr(space, name, np.nan), space.shape).astype(np.float64)
        for name in ("low", "high")
    ]
    lows, highs = (_blocks(each.reshape(1, -1)) for each in sides)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share = (values - lows) / (highs - lows)
        is_bounded = (np.abs(lows) < MAX_BOUND) & (np.abs(highs) < MAX_BOUND) & (highs > lows)
        # what lies at a bound was often put there
        places = np.where(share <= 0, -1, np.nan_to_num(share) * bins)
        binned = np.where(is_bounded, places, _signed_logs(values * (bins / BINS)))
    cells: Array = np.clip(binned, -1000, 1000).astype(np.int16)
    return cells


def _numbers(flat: Array) -> Array:
    """Returns rows with texts as numbers, the same for equal ones."""
    if flat.dtype.kind != "U":
        return flat
    codes = [[zlib.crc32(text.encode()) for text in row] for row in flat.tolist()]
    return np.array(codes, np.int64)


def _blocks(flat: Array) -> Array:
    """Returns rows, those of pictures as the means of blocks."""
    if flat.shape[1] <= MAX_NUMBERS:
        return flat
    parts = np.array_split(flat, MAX_NUMBERS, axis=1)
    return np.stack([part.mean(axis=1) for part in parts], axis=1)


def _signed_logs(values: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        logs = np.sign(values) * np.floor(2 * np.log2(1 + 8 * np.abs(values)))
    whole: Array = np.nan_to_num(logs, nan=999, posinf=998, neginf=-998).astype(np.int16)
    return whole
