"""Gymnasium env: the contract of environments in Python, which pools run in worker processes."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from parallel_pool._contract.play import SEED, require
from parallel_pool._engine.arguments import a_type, quote

Make = Callable[..., Any]
# steps of one check
STEPS = 200


def api(make: Make, *, options: dict[str, Any] | None = None) -> None:
    """reset returns (observation, info), and step (observation, reward, two flags, info)."""
    env = _made(make, options)
    try:
        for at, result in enumerate(_play(env, SEED)):
            if len(result) == 2:
                info = result[1]
                require(isinstance(info, dict), f"reset returns {quote(info)} as its info")
                continue
            _, reward, terminated, truncated, info = result
            is_number = isinstance(reward, (int, float, np.integer, np.floating))
            require(
                is_number and math.isfinite(reward),
                f"the reward of step {at} is {quote(reward)}: return a finite number",
            )
            for name, flag in (("terminated", terminated), ("truncated", truncated)):
                require(
                    isinstance(flag, (bool, np.bool_)),
                    f"{name} of step {at} is {quote(flag)}, no bool",
                )
            require(isinstance(info, dict), f"the info of step {at} is {quote(info)}, no dict")
    finally:
        env.close()


def spaces(make: Make, *, options: dict[str, Any] | None = None) -> None:
    """Spaces hold every observation."""
    env = _made(make, options)
    try:
        for at, result in enumerate(_play(env, SEED)):
            require(
                env.observation_space.contains(result[0]),
                f"the observation {result[0]!r} of row {at} is not in {env.observation_space}: its"
                " dtype, shape or values differ",
            )
    finally:
        env.close()


def seeds(make: Make, *, options: dict[str, Any] | None = None) -> None:
    """The same seed gives the same results, in a new environment and in a later reset."""
    first, second = (_rows(make, options) for _ in range(2))
    _same(second, first, "a second environment with the same seed")
    env = _made(make, options)
    try:
        list(_play(env, 5, 20))
        late = [_copied(result) for result in _play(env, SEED)]
    finally:
        env.close()
    _same(late, first, "after a later reset with the same seed")


def neighbours(make: Make, *, options: dict[str, Any] | None = None) -> None:
    """Environments of one process that are stepped in turn change nothing in each other."""
    envs = [_made(make, options) for _ in range(3)]
    try:
        games = [_play(env, SEED + i) for i, env in enumerate(envs)]
        rows: list[list[Any]] = [[] for _ in envs]
        # the number of resets differs
        for results in itertools.zip_longest(*games):
            for own, result in zip(rows, results, strict=True):
                own.extend([] if result is None else [_copied(result)])
    finally:
        for env in envs:
            env.close()
    for i, own in enumerate(rows):
        _same(own, _rows(make, options, SEED + i), f"environment {i} among 3")


def workers(make: Make, *, options: dict[str, Any] | None = None) -> None:
    """Worker processes return what Gymnasium's loop over the environments returns."""
    from gymnasium.vector import SyncVectorEnv

    from parallel_pool._apis.gymnasium.make import PoolVectorEnv

    def made() -> Any:
        return _made(make, options)

    theirs = SyncVectorEnv([made] * 3)
    try:
        ours = PoolVectorEnv([made] * 3, num_workers=2)
        try:
            space = ours.action_space
            space.seed(1)
            _same([ours.reset(seed=SEED)], [theirs.reset(seed=SEED)], "reset")
            for at in range(STEPS // 4):
                actions = space.sample()
                _same([ours.step(actions)], [theirs.step(actions)], f"step {at}")
        finally:
            ours.close()
    finally:
        theirs.close()


# ----------------------------------------------------------------------------------- helpers --


def _made(make: Make, options: dict[str, Any] | None) -> Any:
    env = make(**(options or {}))
    require(
        isinstance(env, gymnasium.Env),
        f"the function made {a_type(env)}: make a gymnasium.Env",
    )
    return env


def _play(env: Any, seed: int, steps: int = STEPS) -> Any:
    """Yields the results of a reset, and of steps with actions that depend on their number."""
    # a space may belong to the class
    space = copy.deepcopy(env.action_space)
    space.seed(1)
    yield _checked_reset(env.reset(seed=seed))
    for _ in range(steps):
        result = env.step(space.sample())
        require(
            isinstance(result, tuple) and len(result) == 5,
            f"step returns {quote(result)}: return observation, reward, terminated, truncated,"
            " info",
        )
        yield result
        if result[2] or result[3]:
            yield _checked_reset(env.reset())


def _checked_reset(result: Any) -> Any:
    require(
        isinstance(result, tuple) and len(result) == 2,
        f"reset returns {quote(result)}: return observation and info",
    )
    return result


def _rows(make: Make, options: dict[str, Any] | None, seed: int = SEED) -> list[Any]:
    env = _made(make, options)
    try:
        return [_copied(result) for result in _play(env, seed)]
    finally:
        env.close()


def _copied(result: Any) -> Any:
    """Returns a copy: an environment may return the same array each time."""
    return copy.deepcopy(result)


def _same(ours: list[Any], theirs: list[Any], what: str) -> None:
    for at, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        try:
            np.testing.assert_equal(mine, other)
        except AssertionError as error:
            where = " ".join(str(error).split())
            require(False, f"{what}, row {at}: results differ: {where[:300]}")
    require(len(ours) == len(theirs), f"{what}: {len(ours)} rows, and should be {len(theirs)}")
