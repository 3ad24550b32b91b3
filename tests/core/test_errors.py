"""Exceptions can be copied and pickled with all their attributes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import errors
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import StateError
from tests.support.same import assert_same

ALL_CLASSES = [each for each in vars(errors).values() if isinstance(each, type)]
CLASSES = [each for each in ALL_CLASSES if issubclass(each, errors.PoolError)]

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda error, p=protocol: pickle.loads(pickle.dumps(error, p))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


def test_each_is_exported_by_the_package() -> None:
    for each in CLASSES:
        assert getattr(parallel_pool, each.__name__) is each
        assert each.__name__ in parallel_pool.__all__


def made(kind: type[Exception]) -> Exception:
    message = "why, what was seen, and the cure"
    if issubclass(kind, errors.EnvError):
        error: Exception = kind(message, [1, 3], (np.arange(4.0), np.ones((4, 2), bool)))
    else:
        error = kind(message)
    error.add_note("where it was")
    return error


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_copy_is_equal(kind: type[Exception], way: str) -> None:
    error = made(kind)
    again = WAYS[way](error)
    assert type(again) is kind
    assert str(again) == str(error) != ""
    assert again.args == error.args
    assert_same(vars(again), vars(error), "attributes")


def test_exception_classes_are_found() -> None:
    assert errors.EnvError in CLASSES and len(CLASSES) >= 7


def test_the_exception_of_a_failing_environment_can_be_copied() -> None:
    pool = Pool("test/Fault-v0", 3, options={"fail_on": "step", "fail_env": 1})
    pool.reset()
    with pytest.raises(errors.EnvError) as caught:
        pool.step([0, 1, 0])
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.env_ids == error.env_ids == (1,)
    assert_same(again.batch, error.batch, "batch")


def test_every_api_raises_one_not_reset_error() -> None:
    """One class to catch; Gymnasium's and Stable-Baselines3's programs may catch theirs."""
    envs = parallel_pool.PoolVectorEnv("CartPole-v1", 2)
    vec_env = parallel_pool.PoolVecEnv("CartPole-v1", 2)
    single = gymnasium.make("parallel_pool/CartPole-v1").unwrapped
    calls = (lambda: envs.step([0, 1]), lambda: vec_env.step([0, 1]), lambda: single.step(0))
    for call in calls:
        with pytest.raises(parallel_pool.NotResetError) as raised:
            call()
        for expected in (StateError, gymnasium.error.ResetNeeded, AssertionError):
            assert isinstance(raised.value, expected)
    for env in (envs, vec_env, single):
        env.close()
