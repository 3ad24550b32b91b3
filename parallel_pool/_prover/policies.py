"""Policies: actions that are drawn without looking at observations."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.arguments import a_type
from parallel_pool._engine.buffers import Array

NAMES = ("random", "sticky", "extreme")
# steps for which a sticky policy keeps an action, in the mean
STICKY_STEPS = 8
# in place of the infinite bounds of a Box
FINITE_BOUND = 1e3


def actions(space: Any, policy: str, steps: int, num_envs: int, rng: np.random.Generator) -> Array:
    """Returns actions, of shape (steps, num_envs, *space.shape)."""
    size = (steps, num_envs)
    if policy == "random":
        return uniform(space, size, rng)
    if policy == "sticky":
        return _held(uniform(space, size, rng), rng)
    drawn = extreme(space, size, rng)
    # a corner that is kept takes the state to where random actions never do
    return _held(drawn, rng) if rng.random() < 0.5 else drawn


def uniform(space: Any, size: tuple[int, int], rng: np.random.Generator) -> Array:
    """Returns actions from the whole space.

    Raises:
        ValueError: actions are no arrays of numbers.
    """
    low, high = corners(space)
    shape = (*size, *space.shape)
    if isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind == "f":
        drawn = low + (high - low) * rng.random(shape)
        clipped: Array = np.clip(drawn.astype(space.dtype), low, high)
        return clipped
    numbers: Array = rng.integers(low, high, shape, endpoint=True).astype(space.dtype)
    return numbers


def extreme(space: Any, size: tuple[int, int], rng: np.random.Generator) -> Array:
    """Returns actions of bounds, corners and the middle."""
    low, high = corners(space)
    shape = (*size, *space.shape)
    is_low = rng.random(shape) < 0.5
    drawn = np.where(is_low, low, high)
    if isinstance(space, spaces.Box):
        # zero is where signs change
        is_zero = (rng.random(shape) < 0.2) & (low <= 0) & (high >= 0)
        drawn = np.where(is_zero, np.zeros_like(drawn), drawn)
        signs = rng.random(shape) < 0.5
        if drawn.dtype.kind == "f":
            drawn = np.where(is_zero & signs, -drawn, drawn)
    converted: Array = drawn.astype(space.dtype)
    return converted


def corners(space: Any) -> tuple[Any, Any]:
    """Returns the lowest and the highest action.

    Raises:
        ValueError: actions are no arrays of numbers.
    """
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    if isinstance(space, spaces.MultiBinary):
        return 0, 1
    if isinstance(space, spaces.Box):
        return bounds(space)
    raise ValueError(
        f"the action space is {a_type(space)}: the prover takes Discrete, MultiDiscrete,"
        " MultiBinary and Box"
    )


def bounds(space: spaces.Box) -> tuple[Array, Array]:
    """Returns a Box's bounds, with finite numbers in place of infinite ones."""
    low = np.where(np.isneginf(space.low), -FINITE_BOUND, space.low)
    high = np.where(np.isposinf(space.high), FINITE_BOUND, space.high)
    return low.astype(space.dtype), high.astype(space.dtype)


def simplest(space: Any) -> Array:
    """Returns the action that reads most easily: zeros, or what is next to them."""
    low, high = corners(space)
    return np.clip(np.zeros(space.shape), low, high).astype(space.dtype)


def _held(drawn: Array, rng: np.random.Generator) -> Array:
    """Keeps each environment's action for some steps."""
    held = drawn.copy()
    keeps = rng.random(drawn.shape[:2]) >= 1 / STICKY_STEPS
    for step in range(1, len(drawn)):
        held[step, keeps[step]] = held[step - 1, keeps[step]]
    return held
