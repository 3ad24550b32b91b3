"""Partial resets with random masks, seeds and options, for all kinds of vector environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from tests.support.same import assert_same


def check_partial_resets(
    theirs: Any,
    ours: Any,
    steps: int,
    options_at: Callable[[int], Sequence[dict[str, Any]]],
    *,
    compare: Callable[[Any, Any, str], None] = assert_same,
    num_actions: int = 2,
    shape: tuple[int, ...] = (),
    spoil: bool = True,
) -> None:
    """Steps two vector environments and resets random parts of them; compares all results.

    Args:
        theirs, ours: the vector environments, which must behave the same.
        steps: number of steps.
        options_at: returns the reset options to choose from at a step.
        compare: compares a result of ours with theirs.
        num_actions: size of each environment's action space.
        shape: of each environment's action, whose elements are whole numbers.
        spoil: writes into the observations that ours returned, which must have no effect.
    """
    rng = np.random.default_rng(5)
    count = theirs.num_envs
    compare(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    waiting = np.zeros(count, np.bool_)
    for step in range(steps):
        action = rng.integers(0, num_actions, (count, *shape))
        if rng.random() < 0.4 or waiting.any():
            mask = (rng.random(count) < 0.4) | waiting
            mask[rng.integers(count)] = True
            seeds = [None if rng.random() < 0.5 else int(rng.integers(99)) for _ in range(count)]
            seed = [None, 17, seeds][rng.integers(3)]
            choice = options_at(step)
            options = choice[rng.integers(len(choice))]
            expected = theirs.reset(seed=seed, options={"reset_mask": mask, **options})
            actual = ours.reset(seed=seed, options={"reset_mask": mask, **options})
            compare(actual, expected, f"reset at {step}")
        expected, actual = theirs.step(action), ours.step(action)
        compare(actual, expected, f"step {step}")
        if spoil:
            actual[0][:] = 99
        if theirs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            waiting = expected[2] | expected[3]
