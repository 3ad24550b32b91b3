"""Seeds: checks those that users give, and splits them into words for NumPy's SeedSequence."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import quote, whole
from parallel_pool._engine.strict_zip import zip

if TYPE_CHECKING:
    Seed = int | Sequence[int | None] | np.ndarray[Any, Any] | None


def check(seed: Any) -> int:
    """Returns a seed as an int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is negative.
    """
    number = whole("seed", seed)
    if number < 0:
        raise ValueError(f"seed={quote(number)}: choose 0 or more")
    return number


def of_one(seed: Any) -> int | None:
    """Returns the seed of one environment, None for none; raises as `check` does."""
    return None if seed is None else check(seed)


def is_list(seed: Any) -> bool:
    """Returns whether `seed` is a sequence with one seed for each environment."""
    if isinstance(seed, np.ndarray):
        return seed.ndim > 0
    return isinstance(seed, Sequence) and not isinstance(seed, (str, bytes))


def spread(
    seed: Seed,
    count: int,
    env_ids: Sequence[int] | None = None,
    read: Callable[[Any], int] = check,
) -> list[int | None]:
    """Returns one seed for each of `count` environments: seed + i, or the i-th of a sequence.

    Args:
        seed: as users give it; None: no environment gets one.
        count: environments.
        env_ids: what is added to a single seed; None for 0 to count - 1.
        read: returns a seed as an int, or raises.

    Raises:
        TypeError: a seed is not an integer.
        ValueError: a seed is negative, or there are too few or too many.
    """
    if seed is None:
        return [None] * count
    if not is_list(seed):
        first = read(seed.item() if isinstance(seed, np.ndarray) else seed)
        return [first + i for i in (range(count) if env_ids is None else env_ids)]
    assert isinstance(seed, (Sequence, np.ndarray))
    if isinstance(seed, np.ndarray) and seed.ndim > 1:
        raise ValueError(f"seeds have shape {seed.shape}: give one axis")
    if len(seed) != count:
        raise ValueError(f"{len(seed)} seeds for {count} environments: give one for each")
    return [None if each is None else read(each) for each in seed]


def entropy(bits: int = 128) -> int:
    """Returns a seed from the system's entropy; NumPy, too, draws 128 bits by default."""
    return secrets.randbits(bits)


def entropies(count: int) -> list[int]:
    """Returns `count` seeds of 128 bits, from one read of the system's entropy."""
    drawn = secrets.token_bytes(16 * count)
    return [int.from_bytes(drawn[at : at + 16], "little") for at in range(0, len(drawn), 16)]


def words(seeds: Sequence[int | None]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Splits seeds into 32-bit words.

    Returns:
        The words of all seeds one after another, lowest first, uint32; and the number of words of
        each seed, int32 (len(seeds),), 0 for None.
    """
    counts = [0 if seed is None else max(1, -(-seed.bit_length() // 32)) for seed in seeds]
    flat = b"".join(
        seed.to_bytes(4 * count, "little")
        for seed, count in zip(seeds, counts, strict=True)
        if seed is not None
    )
    return np.frombuffer(flat or bytes(4), "<u4").astype(np.uint32), np.array(counts, np.int32)
