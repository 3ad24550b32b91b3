"""Ctrl-C at every place where Python looks for it, in EnvPool's calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool import make_dm, make_gym, make_gymnasium
from tests.support.interrupts import Interrupter
from tests.support.same import assert_same

pytestmark = [
    pytest.mark.usefixtures("alarm"),
    # `Interrupter` also raises where a generator is closed: no Ctrl-C arrives there
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def make_old_gym(*arguments: Any, **options: Any) -> Any:
    """Makes environments for a program that has imported gym before 0.26."""
    gym = SimpleNamespace(__version__="0.23.1", spaces=spaces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "gym", gym)
        return make_gym(*arguments, **options)


MAKERS: dict[str, Callable[..., Any]] = {
    "gymnasium": partial(make_gymnasium, "CartPole-v1", num_envs=3, max_episode_steps=3),
    "infos": partial(make_gymnasium, "test/Fault-v0", num_envs=3),
    "gym": partial(make_gym, "CartPole-v1", num_envs=3, max_episode_steps=3),
    "gym before 0.26": partial(make_old_gym, "CartPole-v1", num_envs=3, max_episode_steps=3),
    "dm": partial(make_dm, "CartPole-v1", num_envs=3, max_episode_steps=3),
    "turns": partial(make_gymnasium, "test/Turns-v0", num_envs=3),
    "players who drop out": partial(make_gymnasium, "test/Elimination-v0", num_envs=3),
}


def actions_for(envs: Any, result: Any) -> Any:
    """Returns an action for each row of a result."""
    space = None if hasattr(envs, "action_spec") else envs.action_space
    rows = 3
    if isinstance(result, tuple) and isinstance(result[-1], dict):
        rows = len(result[-1]["players"]["env_id"])
    return np.zeros((rows, *(space.shape if space is not None else ())), np.int64)


def cut(place: int, envs: Any, call: Any, wait: Any) -> tuple[Any, bool]:
    """Returns the result of a call, and whether Ctrl-C ended it before it was there."""
    try:
        return Interrupter(place).run(call), False
    except KeyboardInterrupt:
        return wait() if envs.pool.in_flight else call(), True


@pytest.mark.quick(2)
@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_ctrl_c_in_a_step_loses_nothing(make: Any, is_split: bool) -> None:
    interrupted = calm = place = 0
    with make(num_threads=1, seed=1) as envs, make(num_threads=1, seed=1) as twin:
        expected = twin.reset()
        assert_same(envs.reset(), expected, "reset")
        while calm < 8:
            place += 1
            for turn in range(2):
                actions = actions_for(envs, expected)
                step: Any = partial(envs.step, actions)
                if is_split:
                    envs.send(actions)
                    step = envs.recv
                result, is_cut = cut(place, envs, step, envs.recv)
                interrupted += is_cut
                calm = 0 if is_cut else calm + 1
                expected = twin.step(actions)
                assert_same(result, expected, f"place {place}, turn {turn}")
    assert interrupted > 10


@pytest.mark.quick(2)
@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_ctrl_c_in_a_reset_loses_nothing(make: Any, is_split: bool) -> None:
    calm = place = 0
    with make(num_threads=1, seed=1) as envs, make(num_threads=1, seed=1) as twin:
        assert_same(envs.reset(), twin.reset(), "reset")
        wait = partial(envs.recv, reset=True)
        while calm < 4:
            place += 1
            # without seeds: a second reset would be seen
            if is_split:
                envs.async_reset()
            result, is_cut = cut(place, envs, wait if is_split else envs.reset, wait)
            calm = 0 if is_cut else calm + 1
            expected = twin.reset()
            assert_same(result, expected, f"place {place}")
            actions = actions_for(envs, expected)
            assert_same(envs.step(actions), twin.step(actions), f"place {place}, step")
    assert place > 5


@pytest.mark.quick(1)
@pytest.mark.parametrize("min_rows", [None, 1, 2])
@pytest.mark.parametrize("is_reset", [False, True])
@pytest.mark.parametrize("make", [make_gymnasium, make_old_gym])
def test_ctrl_c_in_recv_of_an_asynchronous_pool_loses_nothing(
    make: Any, min_rows: int | None, is_reset: bool
) -> None:
    """Each environment counts its own steps, so none is lost, done twice or delivered twice."""
    seen = dict.fromkeys(range(4), -1)
    interrupted = calm = place = 0
    options = {"gym_reset_return_info": True} if make is make_old_gym else {}
    with make("test/Fault-v0", num_envs=4, batch_size=2, num_threads=1, **options) as envs:
        receive = partial(envs.recv, reset=is_reset, min_rows=min_rows)
        envs.async_reset()
        while calm < 8:
            place += 1
            for _ in range(2):
                result, is_cut = cut(place, envs, receive, receive)
                interrupted += is_cut
                calm = 0 if is_cut else calm + 1
                info = result[-1]
                rows = info.get("num_rows", 2)
                assert rows >= (min_rows or 2)
                for env_id, count in zip(info["env_id"], info["count"], strict=True):
                    if env_id >= 0:
                        seen[env_id] += 1
                        assert count == seen[env_id]
                assert (info["env_id"] >= 0).sum() == rows
                envs.send(np.zeros(rows, np.int64), info["env_id"][:rows])
    assert interrupted > 10
