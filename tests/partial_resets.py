"""Partial resets: one draw of masks, seeds and options for all kinds of vector environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from tests.same import assert_same


def check_partial_resets(
    theirs: Any,
    ours: Any,
    steps: int,
    options_at: Callable[[int], Sequence[dict[str, Any]]],
    *,
    compare: Callable[[Any, Any, str], None] = assert_same,
    num_actions: int = 2,
    spoil: bool = True,
) -> None:
    """Resets of any environments, at any moment, with seeds and options, and steps between them.

    Args:
        theirs, ours: two vector environments that must do the same.
        steps: how many.
        options_at: the choice of reset options at a step.
        compare: holds a result of ours against theirs.
        num_actions: of each environment.
        spoil: writes into what ours returned, which must not come back.
    """
    rng = np.random.default_rng(5)
    count = theirs.num_envs
    compare(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    waiting = np.zeros(count, np.bool_)
    for step in range(steps):
        action = rng.integers(0, num_actions, count)
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
            actual[0][:] = 1e9
        if theirs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            waiting = expected[2] | expected[3]
