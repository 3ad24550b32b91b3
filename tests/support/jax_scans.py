"""Scans: a pool's steps in one compiled program, compared with the same steps in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

from parallel_pool._engine.pool import Pool
from parallel_pool.compat.jax import xla


def actions_of(pool: Pool, steps: int, seed: int = 0) -> Any:
    """Returns actions, (steps, num_envs, ...)."""
    space = pool.spec.action_space()
    space.seed(seed)
    drawn = [[space.sample() for _ in range(pool.num_envs)] for _ in range(steps)]
    return np.array(drawn)


def scan(step: Callable[..., Any], handle: Any, actions: Any) -> tuple[Any, Any]:
    """Steps in one compiled program; returns the last handle and all results."""

    @jax.jit
    def play(handle: Any, actions: Any) -> Any:
        return lax.scan(step, handle, actions)

    return play(handle, actions)


def compare(env: str, steps: int, num_envs: int = 3, part: int = 100) -> None:
    """Checks that a program's results have the bits of Python's.

    All columns are compared, final ones where an episode has ended: elsewhere a program has zeros.

    Args:
        env: an id.
        steps: of each environment.
        num_envs: environments.
        part: steps of one call of the program, whose results are in memory at once.
    """
    make = partial(Pool, env, num_envs, seed=5, autoreset="same_step", statistics=True)
    with make() as ours, make() as theirs:
        ours.reset()
        theirs.reset()
        all_actions = actions_of(theirs, steps)
        handle, _, _, step, *_ = xla(ours)
        play = jax.jit(lambda handle, actions: lax.scan(step, handle, actions))
        for start in range(0, steps, part):
            actions = all_actions[start : start + part]
            handle, results = play(handle, actions)
            results = jax.tree.map(np.asarray, results)
            for i, each in enumerate(actions):
                expected = theirs.step(each)
                assert type(results) is type(expected)
                ended = expected.terminated | expected.truncated
                for column, own, other in zip(theirs.columns, results, expected, strict=True):
                    found, rows = own[i], ended if column.is_final else slice(None)
                    where = f"{column.name}, step {start + i}"
                    np.testing.assert_array_equal(found[rows], other[rows], where)
                    assert found.dtype == other.dtype
                    assert not column.is_final or not found[~ended].any(), where
