"""Gymnasium's own classes, translated from its source, equal themselves and those in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.envs import classic_control, toy_text

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.translator_sources import OF_TRANSLATED

pytestmark = pytest.mark.proven(*OF_TRANSLATED, "csrc/envs/classic_control", "csrc/envs/toy_text")

CLASSES: list[tuple[type, str, int | None, dict[str, Any]]] = [
    (classic_control.CartPoleEnv, "CartPole-v1", 500, {}),
    (classic_control.CartPoleEnv, "CartPole-v1", 30, {"sutton_barto_reward": True}),
    (classic_control.MountainCarEnv, "MountainCar-v0", 200, {}),
    (classic_control.MountainCarEnv, "MountainCar-v0", 50, {"goal_velocity": 0.01}),
    (classic_control.Continuous_MountainCarEnv, "MountainCarContinuous-v0", 100, {}),
    (classic_control.PendulumEnv, "Pendulum-v1", 200, {}),
    (classic_control.PendulumEnv, "Pendulum-v1", 200, {"g": 9.81}),
    (classic_control.AcrobotEnv, "Acrobot-v1", 100, {}),
    (toy_text.FrozenLakeEnv, "FrozenLake-v1", 100, {}),
    (toy_text.FrozenLakeEnv, "FrozenLake-v1", 100, {"map_name": "8x8", "is_slippery": False}),
    (toy_text.FrozenLakeEnv, "FrozenLake-v1", 100, {"success_rate": 0.7}),
    (toy_text.CliffWalkingEnv, "CliffWalking-v1", 100, {}),
    (toy_text.CliffWalkingEnv, "CliffWalking-v1", 100, {"is_slippery": True}),
    (toy_text.TaxiEnv, "Taxi-v4", 200, {}),
    (toy_text.TaxiEnv, "Taxi-v4", 200, {"is_rainy": True, "fickle_passenger": True}),
    (toy_text.BlackjackEnv, "Blackjack-v1", None, {"natural": False, "sab": False}),
    (toy_text.BlackjackEnv, "Blackjack-v1", None, {"natural": True, "sab": False}),
    (toy_text.BlackjackEnv, "Blackjack-v1", None, {"natural": False, "sab": True}),
]
NAMES = [
    f"{cls.__name__}-{'-'.join(k for k, v in options.items() if v) or 'plain'}"
    for cls, _, _, options in CLASSES
]
STEPS = 200


@pytest.mark.quick(1)
@pytest.mark.parametrize("cls, built_in, limit, options", CLASSES, ids=NAMES)
def test_a_class_of_gymnasiums_equals_its_translation(
    cls: Any, built_in: str, limit: int | None, options: dict[str, Any]
) -> None:
    task_id = f"translated/{NAMES[CLASSES.index((cls, built_in, limit, options))]}-v0"
    parallel_pool.compile(cls, task_id, **options)
    twins.compare(cls, task_id, limit=limit, options=options)
    _check_equal(task_id, built_in, {} if limit is None else {"max_episode_steps": limit}, options)


def _check_equal(
    task_id: str, built_in: str, limit: dict[str, Any], options: dict[str, Any]
) -> None:
    """Compares the translation with the environment that is written in C."""
    ours = parallel_pool.make_vec(task_id, 4, **limit)
    theirs = parallel_pool.make_vec(built_in, 4, backend="native", **limit, **options)
    try:
        _same(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
        ours.action_space.seed(1)
        for _ in range(STEPS):
            action = ours.action_space.sample()
            for one, other in zip(ours.step(action)[:4], theirs.step(action)[:4], strict=True):
                _same(one, other)
    finally:
        ours.close()
        theirs.close()


def _same(one: Any, other: Any) -> None:
    if isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
        return
    np.testing.assert_array_equal(one, other)
