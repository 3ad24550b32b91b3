"""WorldRandom: draws for several worlds, each from the world's own generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

    Size = int | Sequence[int]


@public("mujoco_batch")
class WorldRandom:
    """Random numbers for the worlds that begin an episode, of which each has a generator.

    The first axis of what a method returns is that of the worlds. A world's numbers depend on its
    own seed alone, so its episode is the same beside any other worlds.

    Attributes:
        generators: a `numpy.random.Generator` for each of the worlds, in order.

    Example:
        >>> from parallel_pool.mujoco_batch import WorldRandom
        >>> rng = WorldRandom([np.random.default_rng(seed) for seed in (1, 2, 3)])
        >>> rng.uniform(-1, 1, 2).shape
        (3, 2)
        >>> WorldRandom([np.random.default_rng(2)]).uniform(-1, 1, 2) == rng.uniform(-1, 1, 2)[1]
        array([[False, False]])
    """

    def __init__(self, generators: Sequence[np.random.Generator]) -> None:
        """
        Args:
            generators: of the worlds.
        """
        self.generators = generators

    def __len__(self) -> int:
        return len(self.generators)

    def __iter__(self) -> Iterator[np.random.Generator]:
        return iter(self.generators)

    def random(self, size: Size = ()) -> Array:
        """Returns float64 numbers from 0 to 1, 1 excluded, (worlds, *size)."""
        return self._filled(size, lambda generator, row: generator.random(out=row))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = ()) -> Array:
        """Returns float64 numbers from low to high, (worlds, *size).

        Args:
            low: a number, or an array that fits to the result.
            high: a number, or an array that fits to the result.
            size: of each world's numbers; () for one number.
        """
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        uniform: Array = low + (high - low) * self.random(size)
        return uniform

    def standard_normal(self, size: Size = ()) -> Array:
        """Returns float64 numbers of mean 0 and deviation 1, (worlds, *size)."""
        return self._filled(size, lambda generator, row: generator.standard_normal(out=row))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = ()) -> Array:
        """Returns float64 numbers of mean loc and deviation scale, (worlds, *size).

        Args:
            loc: a number, or an array that fits to the result.
            scale: a number, or an array that fits to the result.
            size: of each world's numbers; () for one number.
        """
        normal: Array = np.asarray(loc) + np.asarray(scale) * self.standard_normal(size)
        return normal

    def integers(self, low: int, high: int | None = None, size: Size = ()) -> Array:
        """Returns int64 numbers from low to high, high excluded, (worlds, *size).

        Args:
            low: the least number; the bound if high is None, and the least is 0.
            high: the bound.
            size: of each world's numbers; () for one number.
        """
        drawn = [generator.integers(low, high, _shape(size)) for generator in self.generators]
        return np.array(drawn, np.int64).reshape(len(self), *_shape(size))

    def _filled(self, size: Size, fill: Callable[[np.random.Generator, Array], Any]) -> Array:
        """Returns float64 numbers, those of each world filled in from its own generator."""
        drawn: Array = np.empty((len(self), *_shape(size)))
        for generator, row in zip(self.generators, drawn.reshape(len(self), -1), strict=True):
            fill(generator, row)
        return drawn


def _shape(size: Size) -> tuple[int, ...]:
    return (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)
