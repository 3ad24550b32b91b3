"""Ctrl-C at every place where Python looks for it, while a vector environment receives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.error import NoAsyncCallError
from gymnasium.wrappers import ClipReward, RecordEpisodeStatistics

import parallel_pool
from tests.support.interrupts import Interrupter
from tests.support.same import assert_same


def native(task_id: str, mode: str = "NextStep", **options: Any) -> Any:
    return parallel_pool.make_vec(
        task_id, 3, backend="native", num_threads=1, autoreset_mode=mode, **options
    )


WRAPPERS = [RecordEpisodeStatistics, partial(ClipReward, max_reward=0.5)]
MAKERS: dict[str, Callable[[], Any]] = {
    "plain": partial(native, "CartPole-v1"),
    "infos": partial(native, "test/Fault-v0"),
    "same step": partial(native, "CartPole-v1", "SameStep", max_episode_steps=2),
    "wrappers": partial(native, "CartPole-v1", max_episode_steps=2, wrappers=WRAPPERS),
    "wrappers, same step": partial(
        native, "CartPole-v1", "SameStep", max_episode_steps=2, wrappers=WRAPPERS
    ),
    "frames": partial(native, "CartPole-v1", max_episode_steps=2, render_mode="rgb_array_list"),
}

# drawing has many places, and takes long
CASES = [
    pytest.param(make, id=name, marks=[pytest.mark.sanitizers] if name == "frames" else [])
    for name, make in MAKERS.items()
]


def stride(env: Any) -> int:
    """Returns from how many places one is tried: drawing has many, and takes long."""
    return 1 if env.render_mode is None else 29


def without_times(infos: Any) -> Any:
    return {
        key: without_times(value) if isinstance(value, dict) else value
        for key, value in infos.items()
        if key not in ("t", "_t")
    }


def seen(env: Any, result: Any) -> list[Any]:
    """Returns what a user sees of a result and of what it has changed, without times."""
    found: list[Any] = [*result[:-1], without_times(result[-1])]
    if env.render_mode is not None:
        found += [list(frames) for frames in env.render()]
    if env.spec.additional_wrappers:
        found += [list(queue) for queue in env.get_attr("return_queue")]
        found += [env.get_attr("episode_returns"), env.get_attr("episode_count")]
    return found


def step_by_halves(env: Any, place: int, actions: Any) -> tuple[Any, bool]:
    env.step_async(actions)
    try:
        return Interrupter(place).run(env.step_wait), False
    except KeyboardInterrupt:
        return env.step_wait(), True


def step(env: Any, place: int, actions: Any) -> tuple[Any, bool]:
    try:
        return Interrupter(place).run(env.step, actions), False
    except KeyboardInterrupt:
        pass
    try:
        return env.step_wait(), True
    except NoAsyncCallError:
        # it was not sent
        return env.step(actions), True


@pytest.mark.quick(1)
@pytest.mark.parametrize("call", [step_by_halves, step])
@pytest.mark.parametrize("make", CASES)
def test_ctrl_c_in_a_step_loses_and_repeats_nothing(make: Callable[[], Any], call: Any) -> None:
    actions = np.array([0, 1, 1])
    interrupted = calm = place = 0
    with closing(make()) as env, closing(make()) as twin:
        assert_same(seen(env, env.reset(seed=1)), seen(twin, twin.reset(seed=1)), "reset")
        # steps that end episodes, and those that do not, have other places
        while calm < 6:
            place += stride(env)
            for turn in range(2):
                result, is_cut = call(env, place, actions)
                interrupted += is_cut
                calm = 0 if is_cut else calm + 1
                expected = seen(twin, twin.step(actions))
                assert_same(seen(env, result), expected, f"place {place}, turn {turn}")
    assert interrupted > 10


@pytest.mark.quick(6)
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("make", CASES)
def test_ctrl_c_in_a_reset_loses_nothing(make: Callable[[], Any], is_masked: bool) -> None:
    actions = np.array([0, 1, 1])
    mask = np.array([True, False, True])
    is_cut, place = True, 0

    def options() -> Any:
        return {"reset_mask": mask.copy()} if is_masked else None

    with closing(make()) as env, closing(make()) as twin:
        assert_same(seen(env, env.reset(seed=1)), seen(twin, twin.reset(seed=1)), "reset")
        while is_cut:
            place += stride(env)
            env.reset_async(seed=place, options=options())
            try:
                result, is_cut = Interrupter(place).run(env.reset_wait), False
            except KeyboardInterrupt:
                result, is_cut = env.reset_wait(), True
            expected = seen(twin, twin.reset(seed=place, options=options()))
            assert_same(seen(env, result), expected, f"place {place}")
            for turn in range(2):
                stepped = seen(twin, twin.step(actions))
                assert_same(seen(env, env.step(actions)), stepped, f"place {place}, step {turn}")
    assert place > 20


def test_ctrl_c_in_a_call_loses_nothing() -> None:
    is_cut, place = True, 0
    with closing(native("CartPole-v1", max_episode_steps=7)) as env:
        while is_cut:
            place += 1
            env.call_async("_max_episode_steps")
            try:
                result, is_cut = Interrupter(place).run(env.call_wait), False
            except KeyboardInterrupt:
                result, is_cut = env.call_wait(), True
            assert result == (7,) * 3
    assert place > 5
