"""Global generators: the random generators of Python, NumPy and torch that every process has."""

from __future__ import annotations

import contextlib
import random as python_random
import sys
from collections.abc import Iterator, Sequence
from typing import Any


def diverge(identity: Sequence[int]) -> None:
    """Gives this process's global generators states of their own, as far as they are loaded.

    A forked process has those of its parent, as has every other one that is forked from it. (Python
    seeds its own generator after a fork.) The new state follows from the inherited one and the
    identity, so a program that seeds its generators has workers that draw the same in each run.

    Args:
        identity: numbers that no other child of the parent has.
    """
    random: Any = sys.modules.get("numpy.random")
    if random is None:
        return
    words = random.randint(2**32, size=8, dtype="uint32")
    random.seed(random.SeedSequence([*words, *identity]).generate_state(8))
    # torch may be in the middle of its import
    generator: Any = getattr(sys.modules.get("torch"), "default_generator", None)
    if generator is not None:
        sequence = random.SeedSequence([*generator.get_state().tolist(), *identity])
        generator.manual_seed(int(sequence.generate_state(1, "uint64")[0]))


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keeps the state of Python's generator over a fork, after which Python seeds it anew."""
    state = python_random.getstate()
    try:
        yield
    finally:
        python_random.setstate(state)


def seed(number: int) -> None:
    """Seeds all that are loaded."""
    python_random.seed(number)
    random: Any = sys.modules.get("numpy.random")
    if random is not None:
        random.seed(random.SeedSequence(number).generate_state(8))
    generator: Any = getattr(sys.modules.get("torch"), "default_generator", None)
    if generator is not None:
        generator.manual_seed(number % 2**64)
