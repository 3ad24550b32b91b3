"""Twins: holds an environment in Python and its translation against each other, bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from parallel_pool._apis.gymnasium.make import make_vec
from parallel_pool._testing.play import ContractError

NUM_ENVS = 3
STEPS = 300
NAMES = ("observation", "reward", "terminated", "truncated", "info")


def is_same(one: Any, other: Any, *, of_infos: bool = False) -> bool:
    """Returns whether two results have the same keys, dtypes, shapes and numbers, bit by bit.

    All NaN count as equal: which of them a sum gives is not defined. An info that is an int in some
    results and a float in others is always a float in a native environment; in Gymnasium's array
    it is what the first environment gives, and others are cut off.
    """
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(is_same(one[key], other[key], of_infos=of_infos) for key in one)
        )
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(is_same, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if of_infos and one.dtype == np.int64 and other.dtype == np.float64:
        one, other = one.astype(np.float64), np.trunc(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool(one.tobytes() == other.tobytes())
    is_nan = np.isnan(one)
    signs = np.signbit(one) == np.signbit(other)
    return bool(((one == other) & signs | is_nan & np.isnan(other)).all())


def compare(
    cls: Any,
    env_id: str,
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
        env_id: of its translation.
        limit: steps of an episode.
        steps: of each environment.
        seed: of both, and of the actions.
        options: of the class's constructor.
        native_options: of the translation; None: those with which it was translated.

    Raises:
        ContractError: a result differs; the message shows both.
    """

    def make() -> Any:
        env = cls(**(options or {}))
        return env if limit is None else TimeLimit(env, limit)

    settings: dict[str, Any] = {**(native_options or {})}
    if limit is not None:
        settings["max_episode_steps"] = limit
    ours = make_vec(env_id, NUM_ENVS, backend="native", **settings)
    theirs = gymnasium.vector.SyncVectorEnv([make] * NUM_ENVS)
    try:
        for name in ("single_observation_space", "single_action_space"):
            one, other = getattr(theirs, name), getattr(ours, name)
            if one != other:
                raise ContractError(f"{name} is {other}, and in Python {one}")
        _check(theirs.reset(seed=seed), ours.reset(seed=seed), "reset", NAMES[::4])
        theirs.action_space.seed(seed)
        for step in range(steps):
            action = theirs.action_space.sample()
            what = f"step {step} of seed {seed}, with the actions {action}"
            _check(theirs.step(action), ours.step(action), what, NAMES)
    finally:
        ours.close()
        theirs.close()


def _check(
    expected: tuple[Any, ...], found: tuple[Any, ...], what: str, names: tuple[str, ...]
) -> None:
    for name, one, other in zip(names, expected, found, strict=True):
        if not is_same(one, other, of_infos=name == "info"):
            raise ContractError(f"{what}: {name} is\n{other}\nand in Python\n{one}")
