"""Twins: holds an environment in Python and its translation against each other, bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from parallel_pool._apis.gymnasium.make import make_vec
from parallel_pool._contract import games
from parallel_pool._contract.reseeding import is_reseeded
from parallel_pool._prover.comparison import is_same
from parallel_pool._prover.contract_error import ContractError
from parallel_pool._translator import players

NUM_ENVS = 3
STEPS = 300
NAMES = ("observation", "reward", "terminated", "truncated", "info")


def compare(
    cls: Any,
    task_id: str,
    *,
    limit: int | None = None,
    steps: int = STEPS,
    seed: int = 3,
    options: Mapping[str, Any] | None = None,
    native_options: Mapping[str, Any] | None = None,
) -> None:
    """Steps both with the same random actions, through resets.

    Args:
        cls: the class in Python.
        task_id: of its translation.
        limit: steps of an episode.
        steps: of each environment.
        seed: of both, and of the actions.
        options: of the class's constructor.
        native_options: of the translation; None: those with which it was translated.

    Raises:
        ContractError: a result differs; the message shows both.
    """

    if players.is_parallel(cls):
        games.compare(cls, task_id, steps, seed, options or {}, native_options or {})
        return

    def make() -> Any:
        env = cls(**(options or {}))
        return env if limit is None else TimeLimit(env, limit)

    settings: dict[str, Any] = {**(native_options or {})}
    if limit is not None:
        settings["max_episode_steps"] = limit
    ours = make_vec(task_id, NUM_ENVS, backend="native", **settings)
    theirs = gymnasium.vector.SyncVectorEnv([make] * NUM_ENVS)
    try:
        for name in ("single_observation_space", "single_action_space"):
            one, other = getattr(theirs, name), getattr(ours, name)
            if one != other:
                raise ContractError(f"{name} is {other}, and in Python {one}")
        difference = _difference(theirs.reset(seed=seed), ours.reset(seed=seed), NAMES[::4])
        if difference:
            raise ContractError(f"reset: {difference}")
        theirs.action_space.seed(seed)
        is_once = is_reseeded(cls, options or {})
        for step in range(steps):
            action = theirs.action_space.sample()
            expected, found = theirs.step(action), ours.step(action)
            difference = _difference(expected, found, NAMES)
            if difference:
                what = f"step {step} of seed {seed}, with the actions {action}"
                raise ContractError(f"{what}: {difference}")
            if is_once and (expected[2] | expected[3]).any():
                return
    finally:
        ours.close()
        theirs.close()


def _difference(
    expected: tuple[Any, ...], found: tuple[Any, ...], names: tuple[str, ...]
) -> str | None:
    """Returns what differs, or None."""
    for name, one, other in zip(names, expected, found, strict=True):
        if name == "info":
            one, other = _with_floats(one, other)
        if not is_same(one, other):
            return f"{name} is\n{other}\nand in Python\n{one}"
    return None


def _with_floats(expected: Any, found: Any) -> tuple[Any, Any]:
    """Returns infos, where those agree that are ints in some results and floats in others.

    They are always floats in a native environment. In Gymnasium's array they have the dtype that
    the first environment gives, which cuts off the others.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        pairs = {key: _with_floats(expected[key], found.get(key)) for key in expected}
        rest = {key: value for key, value in found.items() if key not in expected}
        return (
            {key: one for key, (one, _) in pairs.items()},
            {**{key: other for key, (_, other) in pairs.items() if key in found}, **rest},
        )
    one, other = np.asarray(expected), np.asarray(found)
    if one.dtype == np.int64 and other.dtype == np.float64:
        return one.astype(np.float64), np.trunc(other)
    return expected, found
