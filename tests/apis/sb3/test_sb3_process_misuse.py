"""PoolVecEnv over Python environments: wrong calls and wrong arguments."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import ClosedError, StateError
from tests.parity.test_process_parity import Teller
from tests.support.sb3_process_cases import (
    SPACES,
    compare_reset,
    compare_step,
    made,
    pair,
    process_ids,
    run_both,
    tellers,
)
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


# -------------------------------------------------------------------------------- order of calls --


def test_calls_in_a_wrong_order_are_refused() -> None:
    with made(tellers(3)) as env:
        env.reset()
        with pytest.raises(StateError):
            env.step_wait()
        env.step_async([0] * 3)
        for wrong in (
            lambda: env.step_async([0] * 3),
            lambda: env.get_attr("spec"),
            lambda: env.set_attr("x", 1),
            lambda: env.env_method("render"),
        ):
            with pytest.raises(StateError, match="in flight"):
                wrong()
        with pytest.raises(StateError) as caught:
            env.step([0] * 3)
        assert "call step_wait()" in caught.value.__notes__[0]
        assert len(env.step_wait()) == 4
        assert len(env.step([0] * 3)) == 4


def test_reset_drops_a_step_in_flight() -> None:
    with pair(tellers(3)) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(6)
        compare_reset(ours, theirs, "reset")
        theirs.step(np.zeros(3, int))
        ours.step_async(np.zeros(3, int))
        compare_reset(ours, theirs, "reset in flight")
        compare_step(ours, theirs, np.ones(3, int), "after it")


@pytest.mark.quick(1)
@pytest.mark.parametrize("actions", [[0, 1], [0, 1, 2, 0], {0, 1, 2}, "012", None, 7])
def test_wrong_actions_step_nothing(actions: Any) -> None:
    with made(tellers(3)) as env:
        env.reset()
        with pytest.raises((TypeError, ValueError), match="action"):
            env.step(actions)
        assert env.pool.in_flight == 0
        assert env.get_attr("count") == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("actions", [[(0, 1)], [(0,)] * 4, {0, 1, 2}, 7], ids=str)
def test_wrong_actions_of_many_parts_step_nothing(actions: Any) -> None:
    with made(tellers(3, acts=SPACES["flat tuple"])) as env:
        env.reset()
        with pytest.raises((TypeError, ValueError), match="action"):
            env.step(actions)
        assert env.get_attr("count") == [0, 0, 0]


class Echo(gymnasium.Env[Any, Any]):
    """Returns its last action in the infos."""

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return 0, 0.0, False, False, {"given": f"{type(action).__name__} {action!r}"}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "actions",
    [[0.5, 0, 1], [[0], [1], (2,)], ["a"] * 3, [None] * 3, np.array([[0.5], [1], [2]])],
    ids=str,
)
def test_actions_of_other_kinds_reach_environments_as_in_dummy_vec_env(actions: Any) -> None:
    with pair([Echo] * 3) as (theirs, ours):
        theirs.reset()
        ours.reset()
        infos = ours.step(actions)[3]
        assert [info["given"] for info in infos] == [
            info["given"] for info in theirs.step(actions)[3]
        ]


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [False, True])
def test_calls_after_close_are_refused(in_flight: bool) -> None:
    with made(tellers(3)) as env:
        env.reset()
        pids = process_ids(env)
        if in_flight:
            env.step_async([0] * 3)
        env.close()
        env.close()
        for call in (lambda: env.step([0] * 3), env.reset):
            with pytest.raises(ClosedError) as caught:
                call()
            assert not hasattr(caught.value, "__notes__")
        with pytest.raises(StateError):
            env.get_attr("spec")
        assert all(map(has_ended, pids))


def test_workers_of_a_dropped_vec_env_end_at_once() -> None:
    env = PoolVecEnv(tellers(3, of=SPACES["flat dict"]), "fork")
    env.reset()
    env.step([0] * 3)
    pids, pool = process_ids(env), weakref.ref(env.pool)
    del env
    assert pool() is None
    wait_for(lambda: all(map(has_ended, pids)))


# ------------------------------------------------------------------------------------- arguments --


class NotDerived:
    """Has the methods of gymnasium.Env, but is not derived from it."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)
    reset, step = Teller.reset, Teller.step


ENV = Teller()


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, "env=None is a NoneType: give the id.*or a list of functions"),
        ((Teller,), {}, TypeError, "is a type: give the id"),
        ((ENV,), {}, TypeError, "is a Teller: give the id"),
        (([],), {}, ValueError, "env_fns is empty"),
        (([ENV],), {}, TypeError, r"env_fns\[0\]=.* is a Teller: give functions"),
        ((["CartPole-v1"],), {}, TypeError, r"env_fns\[0\]='CartPole-v1' is a str"),
        (([Teller],), {"env_fns": [Teller]}, TypeError, "give one of the two"),
        (([Teller] * 2, 2), {}, TypeError, "n_envs=2: each function makes one"),
        (([Teller],), {"n_envs": 1}, TypeError, "n_envs=1: each function makes one"),
        (([Teller], "fork"), {"start_method": "spawn"}, TypeError, "n_envs='fork'"),
        (([Teller], "forks"), {}, ValueError, "'forks'"),
        (([Teller], 3.5), {}, TypeError, "n_envs=3.5"),
        (([Teller],), {"num_workers": 2}, ValueError, "num_workers=2 > num_envs=1"),
        (([Teller],), {"num_workers": 0}, ValueError, "num_workers=0"),
        (([Teller],), {"timeout": -1}, ValueError, "timeout=-1"),
        (([Teller],), {"on_error": "shrug"}, ValueError, "on_error='shrug'"),
        (([Teller],), {"num_threads": 2}, TypeError, r"num_threads=2: num_workers=\.\.\. says"),
        (([Teller],), {"thread_affinity_offset": 0}, TypeError, "it is for threads"),
        (([Teller],), {"max_episode_steps": 9}, TypeError, "max_episode_steps=9: functions make"),
        (([Teller],), {"render_mode": "human"}, TypeError, "render_mode='human': .*gymnasium.make"),
        (([Teller],), {"g": None}, TypeError, "g=None: .*itself takes start_method, num_workers"),
        (([lambda: ENV] * 2,), {}, ValueError, r"env_fns\[0\] and env_fns\[1\] return the same"),
        (
            ([NotDerived],),
            {},
            ValueError,
            r"NotDerived'> returned <.*, not a gymnasium.Env: return",
        ),
        (([lambda: None],), {}, ValueError, "returned None, which is a NoneType, not a"),
        (
            ([Teller, partial(Teller, SPACES["number"])],),
            {},
            ValueError,
            "environment 1 has the observation space Box.* and environment 0 Box",
        ),
        (
            ([partial(Teller, acts=SPACES[kind]) for kind in ("discrete", "text")],),
            {},
            ValueError,
            "environment 1 has the action space Text.*same shapes and dtypes",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    args: Any, kwargs: Any, error: type[Exception], message: str
) -> None:
    if args and isinstance(args[0], list):
        # fork is fast, and one worker is enough
        method = {} if len(args) > 1 else {"start_method": "fork"}
        kwargs = {"num_workers": 1, **method, **kwargs}
    with pytest.raises(error, match=message):
        PoolVecEnv(*args, **kwargs)


@pytest.mark.slow
def test_spaces_may_have_other_bounds_and_another_order_of_keys() -> None:
    """Stable-Baselines3 uses the first environment's."""

    def make(order: str, high: float) -> spaces.Dict:
        parts: dict[str, Any] = {"a": spaces.Box(-1, high, (2,)), "b": spaces.Discrete(int(high))}
        return spaces.Dict(OrderedDict((key, parts[key]) for key in order))

    env_fns = [partial(Teller, of=partial(make, *how)) for how in (("ab", 2), ("ba", 5))]
    with pair(env_fns) as (theirs, ours):
        run_both(theirs, ours, 16)
