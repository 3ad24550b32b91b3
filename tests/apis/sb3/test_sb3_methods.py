"""PoolVecEnv over native environments: methods, attributes, arguments and failures."""

from __future__ import annotations

import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
)

import parallel_pool
from parallel_pool._apis.common import ale_ids
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import EnvError, StateError
from tests.support.python_ids import PYTHON_ID
from tests.support.same import assert_same
from tests.support.sb3_cases import (
    CLIPPED,
    Custom,
    assert_same_reset,
    assert_same_step,
    made,
    make_actions,
    pair,
)

pytestmark = pytest.mark.usefixtures("own_folder", "quiet_gymnasium")

# ------------------------------------------------------------------------ attributes and methods --


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("CartPole-v1", {}),
        ("CartPole-v1", {"render_mode": "rgb_array", "sutton_barto_reward": True}),
        ("Pendulum-v1", {"max_episode_steps": 30, "g": 9.0}),
        ("Acrobot-v1", {"max_episode_steps": -1}),
        ("MountainCarContinuous-v0", {"goal_velocity": 0.1}),
        ("Hopper-v5", {"healthy_reward": 0.5, "reset_noise_scale": 0.0}),
        ("Ant-v4", {"use_contact_forces": True}),
    ],
)
def test_attributes_and_wrappers_are_the_same(id: str, kwargs: dict[str, Any]) -> None:
    with pair(id, 3, **kwargs) as (theirs, ours):
        for name in ("num_envs", "observation_space", "action_space", "render_mode", "metadata"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert ours.observation_space.dtype == theirs.observation_space.dtype
        names = ["spec", "metadata", "render_mode", "observation_space", "action_space"]
        for name in [*names, "_max_episode_steps", "no_such_thing"]:
            assert ours.has_attr(name) == theirs.has_attr(name), name
            if theirs.has_attr(name):
                assert ours.get_attr(name) == theirs.get_attr(name), name
        for wrapper in (
            gymnasium.Wrapper,
            Monitor,
            *(gymnasium.wrappers.TimeLimit, gymnasium.wrappers.OrderEnforcing),
            *(gymnasium.wrappers.PassiveEnvChecker, gymnasium.wrappers.ClipReward),
        ):
            assert ours.env_is_wrapped(wrapper) == theirs.env_is_wrapped(wrapper), wrapper


@pytest.mark.parametrize("indices", [None, 0, 2, -1, [0], [2, 0], range(1, 3), []])
def test_indices_name_environments(indices: Any) -> None:
    with pair("CartPole-v1", 3) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(30)
            env.reset()
        found, expected = (
            [
                env.get_attr("np_random_seed", indices),
                env.env_is_wrapped(gymnasium.wrappers.TimeLimit, indices),
            ]
            for env in (ours, theirs)
        )
        assert found == expected


@pytest.mark.parametrize(
    "id, names",
    [
        ("CartPole-v1", ["gravity", "x_threshold", "kinematics_integrator"]),
        ("Pendulum-v1", ["max_torque", "g"]),
        ("Hopper-v5", ["frame_skip", "dt"]),
    ],
)
def test_constants_of_the_reference_can_be_read(id: str, names: list[str]) -> None:
    with pair(id, 3) as (theirs, ours):
        for name in names:
            assert ours.has_attr(name)
            assert ours.get_attr(name) == theirs.get_attr(name), name
            assert type(ours.get_attr(name)[0]) is type(theirs.get_attr(name)[0]), name


def test_wrong_indices_are_refused(cartpoles: PoolVecEnv) -> None:
    for indices in (3, -4, [0, 3]):
        with pytest.raises(IndexError, match="choose 0 to 2"):
            cartpoles.get_attr("spec", indices)


def test_options_are_attributes() -> None:
    with made("Pendulum-v1", 2, g=3.5) as env:
        assert env.get_attr("g") == [3.5, 3.5]
    with made("Pong-v5", 1, frame_skip=2) as env:
        assert env.get_attr("frame_skip") == [2]
        shown = env.get_attr("spec")[0]
        assert (shown.id, shown.kwargs) == ("Pong-v5", {"frame_skip": 2})
        assert not env.has_attr("_rom") and not env.has_attr("rom")


def test_the_state_and_methods_of_native_environments_are_refused(cartpoles: PoolVecEnv) -> None:
    for name in ("unwrapped", "state", "np_random", "reset"):
        with pytest.raises(AttributeError, match=f"{name}: CartPole-v1 is native.*by functions"):
            cartpoles.get_attr(name)
        assert not cartpoles.has_attr(name)
    with pytest.raises(
        AttributeError,
        match=r"gravity=3: .* fixed when they are made.*gymnasium.make\('CartPole-v1'",
    ):
        cartpoles.set_attr("gravity", 3)
    with pytest.raises(
        AttributeError,
        match=r"compute\(1, b='a'\): CartPole-v1 is native, and has no such method, only render: m",
    ):
        cartpoles.env_method("compute", 1, b="a", indices=[0])
    for name in ("reset", "step", "close"):
        with pytest.raises(AttributeError, match=f"call {name}\\(\\) of the vector environment"):
            cartpoles.env_method(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["get_action_meanings", "get_keys_to_action"])
def test_methods_of_atari_games(name: str) -> None:
    ale_ids.register("ALE/Pong-v5")
    theirs = DummyVecEnv([lambda: gymnasium.make("ALE/Pong-v5")] * 2)
    ours = PoolVecEnv("ALE/Pong-v5", 2)
    assert ours.has_attr(name) and theirs.has_attr(name)
    assert_same(ours.env_method(name), theirs.env_method(name), name)
    assert len(ours.env_method(name, indices=[1])) == 1
    with pytest.raises(AttributeError, match="only render, get_action_meanings, get_keys"):
        ours.env_method("getScreen")
    ours.close(), theirs.close()


def test_specs_are_accepted() -> None:
    with pair("CartPole-v1", 2, max_episode_steps=5) as (theirs, ours):
        again = PoolVecEnv(ours.get_attr("spec")[0], 2)
        for env in (theirs, ours, again):
            env.seed(1)
        expected = theirs.reset()
        assert_same(ours.reset(), expected, "id")
        assert_same(again.reset(), expected, "spec")
        for step in range(12):
            expected = theirs.step(np.ones(2, int))
            assert_same(ours.step(np.ones(2, int)), expected, f"{step} of id")
            assert_same(again.step(np.ones(2, int)), expected, f"{step} of spec")
        again.close()
    with made("parallel_pool/CartPole-v1") as env:
        assert env.observation_space.shape == (4,)


@pytest.mark.parametrize(
    ("env", "kwargs", "error", "message"),
    [
        (PYTHON_ID, {"num_threads": 2}, TypeError, "num_threads=2 .*no native.*num_workers"),
        (PYTHON_ID, {"thread_affinity_offset": 0}, TypeError, "stepped by processes"),
        (PYTHON_ID, {"n_envs": 0}, ValueError, "n_envs=0: choose 1 or more"),
        (PYTHON_ID, {"n_envs": 10**9}, ValueError, "n_envs=1000000000: choose 1 to"),
        (PYTHON_ID, {"nonsense": 1}, TypeError, "unexpected keyword argument 'nonsense'"),
        ("NoSuchThing-v0", {}, gymnasium.error.UnregisteredEnv, "NoSuchThing"),
        ("test/Duel-v0", {}, ValueError, "2 players.*one reward"),
        ("CartPole-v1", {"wind": 3}, TypeError, "no option wind: it has"),
        ("CartPole-v1", {"n_envs": 0}, ValueError, "n_envs=0: choose 1 or more"),
        ("CartPole-v1", {"n_envs": 2.0}, TypeError, "n_envs=2.0 is a float"),
        ("CartPole-v1", {"n_envs": "fork"}, TypeError, "n_envs='fork' is a str"),
        ("CartPole-v1", {"start_method": "fork"}, TypeError, "start_method='fork'.*leave it out"),
        ("CartPole-v1", {"num_workers": 2}, TypeError, r"num_workers=2: .*make\('CartPole-v1'\)"),
        (gymnasium.spec("Acrobot-v1"), {"timeout": 1}, TypeError, r"timeout=1: .*'Acrobot-v1'"),
        ("CartPole-v1", {"on_error": "restart"}, TypeError, "on_error='restart'"),
        ("CartPole-v1", {"episode_seeds": True}, TypeError, "episode_seeds=True"),
        ("CartPole-v1", {"prepare_resets": True}, TypeError, "prepare_resets=True"),
        ("CartPole-v1", {"max_episode_steps": 0}, ValueError, "or -1 for none"),
        ("CartPole-v1", {"render_mode": "ansi"}, ValueError, "'human' or 'rgb_array'"),
        ("CartPole-v1", {"render_mode": "rgb_array_list"}, ValueError, "'human' or 'rgb_array'"),
        ("test/Heap-v0", {"render_mode": "rgb_array"}, ValueError, "choose None"),
        ("CartPole-v1", {"num_threads": -1}, ValueError, "num_threads"),
    ],
)
def test_wrong_arguments_are_refused(
    env: Any, kwargs: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PoolVecEnv(env, **kwargs)


def test_specs_of_vector_environments_are_refused() -> None:
    envs = parallel_pool.make_vec("CartPole-v1", 3)
    with pytest.raises(ValueError, match="is of a vector environment"):
        PoolVecEnv(envs.spec)
    envs.close()


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("env", "kwargs", "reason"),
    [
        (PYTHON_ID, {"map_name": "8x8"}, f"{PYTHON_ID} has no native environment"),
        (PYTHON_ID, {"max_episode_steps": 3}, "no native"),
        (f"tests.support.python_ids:{PYTHON_ID}", {}, f"{PYTHON_ID} has no native"),
        (gymnasium.spec(PYTHON_ID), {}, "no native"),
        (CLIPPED, {}, "ClipReward"),
        pytest.param(
            replace(gymnasium.spec("CartPole-v1"), entry_point=Custom),
            {},
            "does not replace",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["option", "limit", "module", "spec", "wrapper", "entry_point"],
)
def test_what_is_not_native_runs_in_worker_processes(env: Any, kwargs: Any, reason: str) -> None:
    theirs = DummyVecEnv([lambda: gymnasium.make(env, **kwargs)] * 3)
    with made(env, 3, num_workers=1, **kwargs) as ours:
        assert ours.backend == "process"
        assert reason in ours.backend_reason
        for each in (theirs, ours):
            each.seed(4)
        assert_same_reset(ours, theirs, "reset")
        for step, actions in enumerate(make_actions(theirs.action_space, 3, 12)):
            assert_same_step(ours, theirs, actions, f"step {step}")
    with made("CartPole-v1") as ours:
        assert (ours.backend, ours.backend_reason) == ("native", "CartPole-v1 is native")


WITHOUT = """
import sys
sys.modules["stable_baselines3"] = None
from parallel_pool.errors import MissingDependencyError
try:
    from parallel_pool.compat.sb3 import PoolVecEnv
except MissingDependencyError as error:
    print(error)
"""


@pytest.mark.slow
def test_without_stable_baselines3_it_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "pip install 'parallel_pool[sb3]'" in done.stdout, done.stderr


# ------------------------------------------------------------------- order of calls and failures --


def test_calls_in_a_wrong_order_are_refused(cartpoles: PoolVecEnv) -> None:
    zeros = np.zeros(3, int)
    with pytest.raises(ResetNeeded, match="call reset"):
        cartpoles.step_async(zeros)
    with pytest.raises(ResetNeeded, match="call reset"):
        cartpoles.env_method("render")
    cartpoles.seed(1)
    cartpoles.reset()
    with pytest.raises(StateError):
        cartpoles.step_wait()
    cartpoles.step_async(zeros)
    with pytest.raises(StateError, match="in flight"):
        cartpoles.step_async(zeros)
    assert len(cartpoles.step_wait()) == 4


def test_reset_drops_a_step_in_flight() -> None:
    with pair("CartPole-v1", 3) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(6)
        assert_same_reset(ours, theirs, "reset")
        theirs.step(np.zeros(3, int))
        ours.step_async(np.zeros(3, int))
        assert_same_reset(ours, theirs, "reset in flight")
        assert_same_step(ours, theirs, np.ones(3, int), "after it")


@pytest.mark.parametrize(
    "actions", [[0, 1], [0, 1, 2], [0.5, 0, 0], [[0], [0], [0]], ["a"] * 3, None, [-1, 0, 0]]
)
def test_wrong_actions_step_nothing(cartpoles: PoolVecEnv, actions: Any) -> None:
    cartpoles.reset()
    before = cartpoles.pool.get_state()
    with pytest.raises((TypeError, ValueError), match="action"):
        cartpoles.step(actions)
    assert cartpoles.pool.get_state() == before
    assert cartpoles.pool.in_flight == 0


def test_a_dropped_vec_env_ends_its_threads_at_once() -> None:
    env = PoolVecEnv("CartPole-v1", 8, render_mode="rgb_array")
    env.reset()
    env.step([0] * 8)
    pool = weakref.ref(env.pool)
    assert isinstance(pool(), Pool)
    del env
    assert pool() is None


def test_a_failing_environment_is_named_and_begins_a_new_episode() -> None:
    options = {"fail_on": "step", "fail_at_step": 3, "fail_env": 1}
    with made("test/Fault-v0", 3, **options) as env:
        env.reset()
        for _ in range(2):
            env.step([1, 1, 1])
        env.reset_infos[:] = [None] * 3
        with pytest.raises(
            EnvError, match="environment 1 failed: made to fail in step 3"
        ) as caught:
            env.step([1, 1, 1])
        assert caught.value.env_ids == (1,)
        observations, rewards, dones, infos = caught.value.batch
        assert observations.tolist() == [[3], [0], [3]] and rewards.tolist() == [1, 0, 1]
        assert not dones.any() and infos[2] == {"count": 3, "TimeLimit.truncated": False}
        # its next step is a reset
        observations, rewards, dones, infos = env.step([1, 1, 1])
        assert observations.tolist() == [[4], [3], [4]] and rewards.tolist() == [1, 0, 1]
        assert not dones.any()
        assert [each["count"] for each in infos] == [4, 0, 4]
        assert env.reset_infos == [None, {"count": 3}, None]
        # later steps are normal
        observations, rewards, dones, infos = env.step([1, 1, 1])
        assert rewards.tolist() == [1, 1, 1] and infos[1]["count"] == 4
        assert env.reset_infos == [None, {"count": 3}, None]


def test_after_a_failing_reset_the_next_step_is_a_reset() -> None:
    options = {"fail_on": "reset", "fail_at_step": 2, "fail_env": 0}
    with made("test/Fault-v0", 2, **options) as env:
        env.reset()
        assert env.step([1, 1])[1].tolist() == [1, 1]
        with pytest.raises(EnvError, match="made to fail in reset 2") as caught:
            env.reset()
        assert caught.value.batch.tolist() == [[0], [1]]
        assert env.step([1, 1])[1].tolist() == [0, 1]
        assert env.reset_infos == [{"count": 1}, {"count": 0}]
        assert env.step([1, 1])[1].tolist() == [1, 1]


def test_further_rows_of_actions_are_refused() -> None:
    """DummyVecEnv steps one environment with the first of two actions, and drops the other."""
    env = PoolVecEnv("CartPole-v1", 1)
    env.seed(1)
    env.reset()
    state = env.pool.get_state()
    with pytest.raises(ValueError, match="shape"):
        env.step(np.array([[0], [1]]))
    assert env.pool.get_state() == state
    env.step(np.array([0]))
    env.close()
