"""The EnvPool-style API: make and its kin, what pools return, and what they refuse."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import ClipReward, NormalizeObservation, RecordEpisodeStatistics

import parallel_pool
from parallel_pool import (
    ClosedError,
    EnvError,
    ForkedError,
    PoolError,
    PoolTimeoutError,
    StateError,
    make,
    make_gym,
    make_gymnasium,
    make_spec,
)

ROOT = Path(__file__).resolve().parent.parent
IDS = [
    "Acrobot-v1",
    "Breakout-v5",
    "CartPole-v0",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Pong-v5",
]


def run(script: str) -> str:
    """Runs a program of its own; returns what it printed."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def equal(a: Any, b: Any) -> bool:
    """Says whether two results are the same arrays in the same places."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def sample(pool: Any, rows: int, seed: int = 0) -> np.ndarray:
    """Actions for so many rows."""
    pool.action_space.seed(seed)
    return np.array([pool.action_space.sample() for _ in range(rows)])


# ------------------------------------------------------------------------------------- making --


@pytest.mark.parametrize("env_id", IDS)
def test_every_task_is_listed_and_steps(env_id: str) -> None:
    assert env_id in parallel_pool.list_all_envs()
    with make_gymnasium(env_id, num_envs=3, seed=1) as pool:
        obs, _ = pool.reset()
        for _ in range(3):
            assert all(row in pool.observation_space for row in obs)
            obs, reward, term, trunc, info = pool.step(sample(pool, 3))
            assert (reward.dtype, term.dtype, trunc.dtype) == (np.float32, np.bool_, np.bool_)
            assert len(obs) == len(reward) == len(term) == len(trunc) == 3
        assert info["elapsed_step"].tolist() == [3, 3, 3]


def test_list_all_envs_leaves_out_tests_and_is_sorted() -> None:
    ids = parallel_pool.list_all_envs()
    assert ids == sorted(ids)
    assert not any(env_id.startswith("test/") for env_id in ids)


def test_names_are_offered_without_heavy_imports() -> None:
    script = """
import sys, parallel_pool as envpool
heavy = {"gymnasium", "dm_env", "torch", "ale_py", "envpool"}
envpool.list_all_envs()
spec = envpool.make_spec("CartPole-v1", num_envs=3)
spec.config, spec.state_array_spec, spec.reward_threshold, repr(spec)
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
envpool.make_gym("CartPole-v1").reset()
assert heavy & sys.modules.keys() == {"gymnasium"}
envpool.make_dm("CartPole-v1").reset()
assert heavy & sys.modules.keys() == {"gymnasium", "dm_env"}
"""
    run(script)


def test_package_lists_its_names() -> None:
    for name in parallel_pool.__all__:
        assert getattr(parallel_pool, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'make_nothing'"):
        _ = parallel_pool.make_nothing


def test_return_conventions() -> None:
    with make("CartPole-v1", env_type="gym", num_envs=2) as pool:
        assert isinstance(pool.reset(), np.ndarray)
        assert isinstance(pool.reset(np.array([1])), np.ndarray)
        assert len(pool.step(np.zeros(2, int))) == 5
        assert pool.config["gym_reset_return_info"] is False
    with make("CartPole-v1", "gym", num_envs=2, gym_reset_return_info=True) as pool:
        obs, info = pool.reset()
        assert obs.shape == (2, 4) and info["env_id"].tolist() == [0, 1]
    with make("CartPole-v1", env_type="gymnasium", num_envs=2) as pool:
        obs, info = pool.reset()
        assert obs.shape == (2, 4) and info["env_id"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"env_type": "pytorch"}, ValueError, "env_type='pytorch': choose 'dm', 'gym'"),
        ({}, TypeError, "env_type"),
        (
            {"env_type": "gym", "num_env": 3},
            TypeError,
            r"no option num_env: it has num_envs, batch",
        ),
        ({"env_type": "gym", "num_envs": 0}, ValueError, "num_envs=0: choose 1 or more"),
        ({"env_type": "gym", "num_envs": 2.0}, TypeError, "num_envs=2.0 is a float"),
        (
            {"env_type": "gym", "num_envs": 2, "batch_size": 3},
            ValueError,
            "batch_size=3 > num_envs",
        ),
        ({"env_type": "gym", "batch_size": -1}, ValueError, "batch_size=-1"),
        ({"env_type": "gym", "num_threads": -1}, ValueError, "num_threads=-1: choose 0 or more"),
        ({"env_type": "gym", "thread_affinity_offset": -2}, ValueError, "affinity_offset=-2"),
        ({"env_type": "gym", "max_num_players": 2}, ValueError, "CartPole-v1 has 1"),
        ({"env_type": "gym", "max_episode_steps": 0}, ValueError, "max_episode_steps=0"),
        ({"env_type": "gym", "seed": 1.5}, TypeError, "seed=1.5 is a float"),
        ({"env_type": "gym", "seed": True}, TypeError, "seed=True is a bool"),
        ({"env_type": "gym", "seed": -(2**31) - 1}, ValueError, "seed=-2147483649"),
        ({"env_type": "gym", "num_envs": 2, "seed": [1]}, ValueError, "1 seeds for 2 environments"),
        ({"env_type": "gym", "env_seed": [1, 2]}, ValueError, "2 seeds for 1 environments"),
        ({"env_type": "gym", "render_mode": "human"}, ValueError, "render_mode='human': choose"),
        ({"env_type": "gym", "sutton_barto_reward": 1}, TypeError, "sutton_barto_reward=1"),
        ({"env_type": "gymnasium", "gym_reset_return_info": False}, ValueError, "use make_gym"),
        ({"env_type": []}, TypeError, r"env_type=\[\] is a list: give 'dm', 'gym'"),
        ({"env_type": None}, TypeError, "env_type=None is a NoneType: give 'dm'"),
        ({"env_type": "gym", "batch_size": ""}, TypeError, "batch_size='' is a str"),
        ({"env_type": "gym", "batch_size": False}, TypeError, "batch_size=False is a bool"),
        ({"env_type": "gym", "batch_size": 0.0}, TypeError, "batch_size=0.0 is a float"),
        ({"env_type": "gym", "env_seed": 3}, TypeError, "env_seed=3 is a int: give a list"),
        ({"env_type": "gym", "env_seed": "3"}, TypeError, "env_seed='3' is a str: give a list"),
        ({"env_type": "gym", "seed": []}, ValueError, "0 seeds for 1 environments"),
        ({"env_type": "gym", "seed": np.zeros((1, 2), int)}, ValueError, r"shape \(1, 2\)"),
        ({"env_type": "gym", "seed": "x"}, TypeError, "seed='x' is a str: give an integer"),
        ({"env_type": "gym", "reward_threshold": "a"}, TypeError, "reward_threshold='a' is a str"),
        ({"env_type": "gym", "gym_reset_return_info": "no"}, TypeError, "info='no' is a str"),
        ({"env_type": "gym", "render_env_id": 1}, ValueError, "render_env_id=1: choose 0 to 0"),
        ({"env_type": "gym", "render_env_id": "a"}, TypeError, "render_env_id='a' is a str"),
    ],
)
def test_make_refuses(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make("CartPole-v1", **arguments)


@pytest.mark.parametrize("function", [make_gym, make_gymnasium, parallel_pool.make_dm, make_spec])
def test_unknown_task(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="no environment 'CartPole-v9': did you mean CartPole-v"):
        function("CartPole-v9")


@pytest.mark.parametrize("function", [make_gym, make_gymnasium, parallel_pool.make_dm, make_spec])
@pytest.mark.parametrize("task_id", [3, None, [], {}, b"CartPole-v1"])
def test_ids_are_strings(function: Callable[..., Any], task_id: Any) -> None:
    with pytest.raises(TypeError, match=r"task_id=.* is a \w+: give a string"):
        function(task_id)
    with pytest.raises(TypeError, match=r"task_id=.* is a \w+: give a string"):
        parallel_pool.register(task_id, path="nowhere.so", symbol="nothing")


@pytest.mark.parametrize("option", ["stack_num", "noop_max", "img_height", "img_width"])
def test_atari_options_outside_their_range(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option}=0: choose 1 to"):
        make_gym("Pong-v5", **{option: 0})
    with pytest.raises(ValueError, match="repeat_action_probability=7"):
        make_gym("Pong-v5", repeat_action_probability=7)


def test_environment_options_reach_the_environment() -> None:
    with make_gym("CartPole-v1", sutton_barto_reward=True, seed=3) as pool:
        assert pool.config["sutton_barto_reward"] is True
        pool.reset()
        assert pool.step(np.zeros(1, int))[1].tolist() == [0.0]
    with make_gym("Pong-v5", img_height=42, img_width=60, stack_num=2, num_envs=2) as pool:
        assert pool.reset().shape == (2, 2, 42, 60)


def test_base_path_and_affinity_are_taken() -> None:
    with make_gym("CartPole-v1", base_path="/nowhere", thread_affinity_offset=0) as pool:
        assert pool.reset().shape == (1, 4)


# -------------------------------------------------------------------------- what pools return --


@pytest.mark.parametrize(
    ("env_id", "steps"), [("CartPole-v1", 400), ("Acrobot-v1", 600), ("Pendulum-v1", 450)]
)
def test_results_are_gymnasiums(env_id: str, steps: int) -> None:
    """Same seed and actions: the arrays of Gymnasium's vector environments, rewards in float32."""
    reference = gymnasium.make_vec(env_id, num_envs=4, vectorization_mode="sync")
    pool = make_gymnasium(env_id, num_envs=4, seed=7)
    reference.action_space.seed(0)
    first = reference.reset(seed=7)[0]
    assert equal(pool.reset()[0], first)
    ended = 0
    for _ in range(steps):
        action = reference.action_space.sample()
        ours, theirs = pool.step(action), reference.step(action)
        assert equal(ours[0], theirs[0])
        assert equal(ours[1], theirs[1].astype(np.float32))
        assert equal(ours[2:4], theirs[2:4])
        ended += int((ours[2] | ours[3]).sum())
    assert ended >= 4
    pool.close()
    reference.close()


def test_info_is_nested_as_envpools() -> None:
    with make_gymnasium("Pong-v5", num_envs=2, seed=0) as pool:
        for info in (pool.reset()[1], pool.step(np.zeros(2, int))[4]):
            assert list(info) == [
                "env_id",
                "players",
                "lives",
                "reward",
                "terminated",
                "ram",
                "elapsed_step",
            ]
            assert list(info["players"]) == ["env_id"]
            assert info["env_id"].tolist() == info["players"]["env_id"].tolist() == [0, 1]
            dtypes = {key: info[key].dtype for key in info if key != "players"}
            assert dtypes == {
                "env_id": np.int32,
                "lives": np.int32,
                "reward": np.float32,
                "terminated": np.int32,
                "ram": np.uint8,
                "elapsed_step": np.int32,
            }
            assert info["ram"].shape == (2, 128)


def test_autoreset_is_next_step() -> None:
    with make_gymnasium("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        left = np.zeros(2, int)
        resets = 0
        before = np.zeros(2, bool)
        for _ in range(60):
            _, reward, term, trunc, info = pool.step(left)
            assert reward[before].tolist() == [0.0] * before.sum()
            assert not (term | trunc)[before].any()
            assert not info["elapsed_step"][before].any()
            assert reward[~before].tolist() == [1.0] * (~before).sum()
            before = term | trunc
            resets += int(before.sum())
        assert resets >= 6


def test_both_flags_when_an_episode_ends_on_its_time_limit() -> None:
    def first_end(**config: Any) -> tuple[int, bool, bool]:
        with make_gymnasium("CartPole-v1", seed=0, **config) as pool:
            pool.reset()
            while True:
                *_, term, trunc, info = pool.step(np.zeros(1, int))
                if term[0] or trunc[0]:
                    return int(info["elapsed_step"][0]), bool(term[0]), bool(trunc[0])

    steps, *flags = first_end()
    assert flags == [True, False]
    assert first_end(max_episode_steps=steps) == (steps, True, True)
    assert first_end(max_episode_steps=steps - 1) == (steps - 1, False, True)
    assert first_end(max_episode_steps=2**31 - 1) == (steps, True, False)


def test_first_step_without_reset_is_a_reset() -> None:
    with make_gymnasium("CartPole-v1", num_envs=2, seed=5) as pool:
        first, _ = pool.reset()
    with make_gymnasium("CartPole-v1", num_envs=2, seed=5) as pool:
        obs, reward, term, trunc, info = pool.step(np.ones(2, int))
        assert equal(obs, first)
        assert not reward.any() and not term.any() and not trunc.any()
        assert info["elapsed_step"].tolist() == [0, 0]
    with make_gymnasium("CartPole-v1", num_envs=2, seed=5) as pool:
        pool.send(np.ones(2, int))
        assert equal(pool.recv()[0], first)


def test_results_may_be_kept_and_written_to() -> None:
    with (
        make_gym("CartPole-v1", num_envs=3, seed=0) as pool,
        make_gym("CartPole-v1", num_envs=3, seed=0) as other,
    ):
        kept = [(pool.reset(), other.reset().copy())]
        for step in range(50):
            action = np.array([step % 2, 1, 0])
            kept.append((pool.step(action)[0], other.step(action)[0].copy()))
        assert all(equal(ours, copied) for ours, copied in kept)
        kept[-1][0][:] = 9
        assert equal(pool.step(action)[0], other.step(action)[0])


def test_spaces_describe_one_environment() -> None:
    with make_gym("CartPole-v1", num_envs=5) as pool:
        assert pool.action_space.n == 2
        assert pool.observation_space.shape == (4,)
        assert pool.single_action_space == pool.action_space
        assert pool.single_observation_space == pool.observation_space
        reference = gymnasium.make("CartPole-v1")
        assert pool.observation_space == reference.observation_space
        assert pool.action_space == reference.action_space
    with make_gym("Pong-v5") as pool:
        assert pool.observation_space == gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)
        assert pool.action_space == gymnasium.spaces.Discrete(6)


def test_attributes() -> None:
    with make_gym("CartPole-v1", num_envs=5, batch_size=2, num_threads=1) as pool:
        assert len(pool) == pool.num_envs == 5
        assert pool.is_async and pool.is_vector_env
        assert pool.all_env_ids.tolist() == [0, 1, 2, 3, 4] and pool.all_env_ids.dtype == np.int32
        assert pool.config["batch_size"] == 2 and pool.config["max_episode_steps"] == 500
        assert pool.spec.reward_threshold == 475.0
        assert repr(pool).startswith("GymnasiumEnvPool(CartPole-v1, num_envs=5, batch_size=2,")
    assert not make_gym("CartPole-v1").is_async


def test_attributes_that_programs_assign() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        first = pool.reset(seed=0)
        pool.num_envs = 7
        pool.is_vector_env = True
        pool.single_action_space = pool.action_space
        pool.single_observation_space = pool.observation_space
        pool.observation_space = pool.action_space = None
        assert equal(pool.reset(seed=0), first)
        assert pool.step(np.zeros(2, int))[0].shape == (2, 4)
        assert len(pool) == 2


# ---------------------------------------------------------------------------------- resetting --


def test_partial_reset_returns_only_its_rows() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, seed=0) as pool:
        pool.reset()
        pool.step(np.zeros(4, int))
        obs, info = pool.reset(np.array([2, 0]))
        assert obs.shape == (2, 4)
        assert info["env_id"].tolist() == [2, 0]
        assert info["elapsed_step"].tolist() == [0, 0]
        assert pool.step(np.zeros(4, int))[4]["elapsed_step"].tolist() == [1, 2, 1, 2]
        assert pool.reset([3])[0].shape == (1, 4)
        assert pool.reset(3)[0].shape == (1, 4)


def test_partial_step_returns_only_its_rows() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, seed=0) as pool:
        pool.reset()
        obs, *_, info = pool.step(np.zeros(2, int), np.array([3, 1]))
        assert obs.shape == (2, 4) and info["env_id"].tolist() == [3, 1]
        assert pool.step(np.zeros(4, int))[4]["elapsed_step"].tolist() == [1, 2, 1, 2]


def test_reset_mask() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, seed=0) as pool:
        pool.reset()
        options = {"reset_mask": np.array([True, False, False, True])}
        obs, info = pool.reset(seed=10, options=options)
        assert info["env_id"].tolist() == [0, 3]
        assert "reset_mask" in options
        again, _ = pool.reset(seed=10)
        assert equal(obs, again[[0, 3]])
        listed, _ = pool.reset(seed=[10, 11, 12, 13], options=options)
        assert equal(obs, listed)
        for mask, error in [
            (np.zeros(4, bool), ValueError),
            (np.ones(3, bool), ValueError),
            (np.ones(4), TypeError),
        ]:
            with pytest.raises(error, match="reset_mask"):
                pool.reset(options={"reset_mask": mask})
        with pytest.raises(TypeError, match="both name environments"):
            pool.reset(np.array([1]), options=options)


def test_reset_options_of_the_environment() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        obs = pool.reset(options={"low": 0.5, "high": 0.5})
        assert np.allclose(obs, 0.5)
        with pytest.raises(TypeError, match="no option lo: it has high, low"):
            pool.reset(options={"lo": 1})


def test_reset_with_seed_reseeds() -> None:
    with make_gym("CartPole-v1", num_envs=3) as pool:
        first = pool.reset(seed=5)
        assert not equal(pool.reset(), first)
        assert equal(pool.reset(seed=5), first)
        assert equal(pool.reset(seed=[5, 6, 7]), first)
        assert equal(pool.reset(seed=np.array([5, 6, 7])), first)
        assert equal(pool.reset(np.array([2, 1]), seed=5), first[[2, 1]])
        assert equal(pool.reset(np.array([2, 1]), seed=[7, 6]), first[[2, 1]])
        with pytest.raises(ValueError, match="2 seeds for 3 environments"):
            pool.reset(seed=[1, 2])


def test_seeds() -> None:
    def first(**config: Any) -> np.ndarray:
        with make_gym("CartPole-v1", num_envs=3, **config) as pool:
            return pool.reset()

    assert not equal(first(), first())
    assert equal(first(seed=4), first(seed=4))
    assert equal(first(seed=4), first(seed=[4, 5, 6]))
    assert equal(first(seed=4), first(seed=np.array([4, 5, 6], np.int32)))
    assert equal(first(seed=4), first(env_seed=[4, 5, 6]))
    assert equal(first(seed=1, env_seed=[4, 5, 6]), first(seed=4))
    assert equal(first(seed=2**40), first(seed=[2**40, 2**40 + 1, 2**40 + 2]))
    # EnvPool's int32: -1 is 2**32 - 1, and the next one is 0
    assert equal(first(seed=-1), first(seed=[2**32 - 1, 0, 1]))
    assert equal(first(seed=-7), first(seed=[-7, -6, -5]))
    assert equal(first(seed=2**31 - 1), first(seed=[2**31 - 1, -(2**31), -(2**31) + 1]))


@pytest.mark.parametrize(
    ("seed", "env_id"),
    [
        (-1, 0),
        (-2, 1),
        (np.int64(-1), 0),
        (np.int32(-3), 2),
        (np.array(-1), 0),
        (np.uint32(2**32 - 1), 0),
        (2**32 - 2, 1),
        ([5, -1, 7], 1),
        ((0, 1, 2**32 - 1), 2),
        (np.array([5, 6, -1]), 2),
    ],
)
def test_the_seed_that_means_the_clock(seed: Any, env_id: int) -> None:
    """ALE would take its seed from the clock, so Atari refuses it before anything is made."""
    message = rf"environment {env_id} would get seed -1 \(4294967295\).*: choose another"
    each = {"env_seed": seed} if np.ndim(seed) else {"seed": seed}
    for function in (make_gym, make_gymnasium, parallel_pool.make_dm, make_spec):
        for options in ({"seed": seed}, each):
            with pytest.raises(ValueError, match=message):
                function("Pong-v5", num_envs=3, **options)
    with make_gym("Pong-v5", num_envs=3, seed=4) as pool:
        before = pool.get_state()
        for reset in (pool.reset, pool.async_reset):
            with pytest.raises(ValueError, match=message):
                reset(seed=seed)
        assert pool.get_state() == before
    # others take it for the number it is
    make_gym("CartPole-v1", num_envs=3, seed=seed).reset()


def test_seeds_that_only_come_near_the_clock() -> None:
    for seed in (-4, 2**32, 2**32 - 4, [2**32, -2, None]):
        with make_gym("Pong-v5", num_envs=3, seed=seed) as pool:
            pool.reset()
    with make_gym("Pong-v5", num_envs=3, seed=0) as pool:
        pool.reset(np.array([2, 1]), seed=-4)
        # of the three seeds only those that the mask names are taken
        pool.reset(seed=[-1, 5, 6], options={"reset_mask": np.array([False, True, True])})
        with pytest.raises(ValueError, match="environment 2 would get seed -1"):
            pool.reset(np.array([2, 1]), seed=-3)
        with pytest.raises(ValueError, match="environment 1 would get seed -1"):
            pool.reset(np.array([2, 1]), seed=[5, -1])


def test_seed_warns_as_envpools() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=4) as pool:
        with pytest.warns(UserWarning, match=r"seed\(7\) changes nothing.*give the seed to make"):
            assert pool.seed(7) is None
        first = pool.reset()
    with make_gym("CartPole-v1", num_envs=2, seed=4) as pool:
        assert equal(pool.reset(), first)


@pytest.mark.parametrize("env_type", ["gym", "gymnasium", "dm"])
def test_xla_is_not_there(env_type: str) -> None:
    pool = make("CartPole-v1", env_type)
    with pytest.raises(NotImplementedError, match=r"xla\(\) is not implemented: call step"):
        pool.xla()


def test_config_makes_the_same_pool() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=[8, 3], max_episode_steps=9) as pool:
        first = pool.reset()
        config = pool.config
    with make_gym("CartPole-v1", **config) as pool:
        assert equal(pool.reset(), first)
        assert pool.config == config


# ------------------------------------------------------------------------------- asynchronous --


def test_async_loop_steps_every_environment() -> None:
    with make_gym("CartPole-v1", num_envs=6, batch_size=2, num_threads=2, seed=0) as pool:
        pool.async_reset()
        seen = np.zeros(6, int)
        for _ in range(120):
            obs, reward, term, trunc, info = pool.recv()
            assert obs.shape == (2, 4) and reward.shape == term.shape == trunc.shape == (2,)
            seen[info["env_id"]] += 1
            pool.send(np.random.default_rng(0).integers(2, size=2), info["env_id"])
        assert seen.min() > 0


def test_async_results_are_the_synchronous_ones() -> None:
    """Whatever the order of arrival, each environment's own sequence is the same."""
    with make_gym("Pendulum-v1", num_envs=5, seed=3) as pool:
        expected = [pool.reset()]
        for step in range(40):
            expected.append(pool.step(np.full((5, 1), np.sin(step)))[0])
    with make_gym("Pendulum-v1", num_envs=5, batch_size=2, num_threads=2, seed=3) as pool:
        pool.async_reset()
        for _ in range(60):
            obs, *_, info = pool.recv()
            for row, env_id, step in zip(obs, info["env_id"], info["elapsed_step"], strict=True):
                if step <= 40:
                    assert equal(row, expected[step][env_id])
            pool.send(np.sin(info["elapsed_step"])[:, None], info["env_id"])


def test_async_step_with_env_id_returns_whoever_is_first() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2, seed=0) as pool:
        pool.async_reset()
        info = pool.recv()[4]
        for _ in range(10):
            obs, *_, info = pool.step(np.zeros(2, int), info["env_id"])
            assert obs.shape == (2, 4)
        _, info = pool.step({"action": np.zeros(2, int), "env_id": info["env_id"]})[::4]
        assert len(info["env_id"]) == 2


def test_async_first_send_is_a_reset() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2, seed=0) as pool:
        pool.send(np.zeros(4, int))
        assert pool.recv()[4]["elapsed_step"].tolist() == [0, 0]


def test_async_recv_after_reset() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, batch_size=2) as pool:
        pool.async_reset()
        obs, info = pool.recv(reset=True)
        assert obs.shape == (2, 4) and info["env_id"].shape == (2,)
        assert pool.recv(reset=True, return_info=False).shape == (2, 4)


def test_async_reset_of_some_with_seed() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2, seed=0) as pool:
        pool.async_reset(np.array([3, 1]), seed=20)
        obs, *_, info = pool.recv()
    with make_gym("CartPole-v1", num_envs=4, seed=20) as pool:
        assert equal(obs, pool.reset()[info["env_id"]])


def test_async_reset_and_recv_are_what_reset_does() -> None:
    with (
        make_gymnasium("CartPole-v1", num_envs=6, batch_size=2, seed=3) as pool,
        make_gymnasium("CartPole-v1", num_envs=6, seed=3) as other,
    ):
        expected = other.reset()[0]
        shown = [pool.reset(), pool.recv(reset=True), pool.recv(reset=True)]
        for obs, info in shown:
            assert equal(obs, expected[info["env_id"]])
        assert sorted(np.concatenate([info["env_id"] for _, info in shown])) == list(range(6))
        # one that has what it needs in flight already
        pool.async_reset(np.array([0]))
        obs, info = pool.reset(np.array([4]), seed=9)
        assert sorted(info["env_id"]) == [0, 4]
        obs, info = pool.reset(options={"reset_mask": np.arange(6) < 2})
        assert sorted(info["env_id"]) == [0, 1]
    with make_gym("CartPole-v1", num_envs=6, batch_size=2) as pool:
        assert pool.reset().shape == (2, 4)
        obs, *_, info = pool.recv()
        pool.send(np.zeros(2, int), info["env_id"])


def test_async_reset_of_too_few_is_refused_and_changes_nothing() -> None:
    with make_gym("CartPole-v1", num_envs=6, batch_size=3) as pool:
        for few in (np.array([1, 2]), [0], 5):
            with pytest.raises(StateError, match=r"would leave \d in flight, a batch needs 3"):
                pool.reset(few)
        for timeout, error in [(-1, ValueError), ("1", TypeError)]:
            with pytest.raises(error, match="timeout="):
                pool.reset(timeout=timeout)
        pool.async_reset()
        with pytest.raises(StateError, match="environment 0 is already in flight"):
            pool.reset()
        # with a timeout another thread may send to others
        pool.recv(), pool.recv()
        with pytest.raises(PoolTimeoutError, match="2 environments are in flight"):
            pool.reset([1, 2], timeout=0.01)
        assert pool.reset([5]).shape == (3, 4)


def test_async_refuses_what_has_no_meaning() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2) as pool:
        with pytest.raises(StateError, match="0 environments are in flight, a batch needs 2"):
            pool.recv()
        with pytest.raises(PoolTimeoutError, match="no batch of 2 within"):
            pool.recv(timeout=0.01)
        with pytest.raises(TypeError, match="needs env_id: give info"):
            pool.step(np.zeros(4, int))
        pool.async_reset()
        with pytest.raises(StateError, match="environment 0 is already in flight"):
            pool.async_reset()
        with pytest.raises(StateError, match="already in flight"):
            pool.send(np.zeros(4, int))
        first, second = pool.recv()[4]["env_id"], pool.recv()[4]["env_id"]
        assert sorted([*first, *second]) == [0, 1, 2, 3]
        pool.async_reset()
        assert pool.recv()[0].shape == (2, 4)


def test_recv_with_timeout_waits_for_another_threads_send() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2) as pool:
        thread = threading.Thread(target=pool.async_reset)
        thread.start()
        assert pool.recv(timeout=60)[0].shape == (2, 4)
        thread.join()


def test_timeout_of_a_slow_step_loses_nothing() -> None:
    with make_gymnasium("test/Fault-v0", num_envs=2, batch_size=1, sleep_ms=500) as pool:
        pool.async_reset()
        ids = {int(pool.recv()[4]["env_id"][0]) for _ in range(2)}
        pool.send(np.zeros(1, int), [1])
        with pytest.raises(PoolTimeoutError, match="1 environments are in flight"):
            pool.recv(timeout=0)
        assert ids == {0, 1} and pool.recv()[4]["env_id"].tolist() == [1]


# ------------------------------------------------------------------------------- dict actions --


def test_dict_actions() -> None:
    with (
        make_gym("CartPole-v1", num_envs=3, seed=0) as pool,
        make_gym("CartPole-v1", num_envs=3, seed=0) as other,
    ):
        pool.reset(), other.reset()
        action, ids = np.array([0, 1], np.int32), np.array([2, 0], np.int32)
        expected = other.step(action, ids)
        assert equal(pool.step({"action": action, "env_id": ids}), expected)
        expected = other.step(action, ids)
        assert equal(pool.step({"action": action}, ids), expected)
        expected = other.step(action, ids)
        whole = {"action": action, "env_id": ids, "players": {"env_id": ids}}
        assert equal(pool.step(whole), expected)
        pool.send({"action": np.zeros(3, int)})
        assert pool.recv()[0].shape == (3, 4)


@pytest.mark.parametrize(
    ("action", "env_id", "message"),
    [
        ({"actions": np.zeros(2, int)}, None, "unknown 'actions'"),
        ({"env_id": np.arange(2)}, None, "action is missing"),
        ({"action": np.zeros(2, int), "env_id": np.arange(2)}, np.arange(2), "given twice"),
    ],
)
def test_dict_actions_refused(action: Any, env_id: Any, message: str) -> None:
    with make_gym("CartPole-v1", num_envs=2) as pool:
        pool.reset()
        with pytest.raises(TypeError, match=message):
            pool.step(action, env_id)


# ------------------------------------------------------------------------------------- misuse --

MISUSE: list[tuple[str, Callable[[Any], Any], type[Exception], str]] = [
    ("CartPole-v1", lambda p: p.step(np.zeros(2, int)), ValueError, r"shape \(2,\): 3 env"),
    ("CartPole-v1", lambda p: p.step(np.zeros(4, int)), ValueError, r"shape \(4,\)"),
    ("CartPole-v1", lambda p: p.step(np.zeros(3, int), [0, 1]), ValueError, r"shape \(3,\)"),
    ("CartPole-v1", lambda p: p.step(np.zeros(1, int), [0, 1]), ValueError, r"shape \(1,\)"),
    ("CartPole-v1", lambda p: p.step(np.zeros((3, 1), int)), ValueError, r"shape \(3, 1\)"),
    ("CartPole-v1", lambda p: p.step(np.array(1)), ValueError, r"shape \(\)"),
    ("CartPole-v1", lambda p: p.step(1), TypeError, "a int, 1, which holds no actions"),
    ("CartPole-v1", lambda p: p.step(np.full(3, 1.7)), TypeError, "dtype float64: give integers"),
    ("CartPole-v1", lambda p: p.step(np.ones(3, bool)), TypeError, "dtype bool"),
    ("CartPole-v1", lambda p: p.step(None), TypeError, "actions are None"),
    ("CartPole-v1", lambda p: p.step(np.array([0, 2, 0])), ValueError, "action 2 of environment 1"),
    ("CartPole-v1", lambda p: p.step(np.full(3, 2**31 - 1)), ValueError, "outside its space"),
    ("CartPole-v1", lambda p: p.step(np.full(3, -100000)), ValueError, "action -100000"),
    ("Pong-v5", lambda p: p.step(np.full(3, 99)), ValueError, "action 99 .* choose 0 to 5"),
    ("Pendulum-v1", lambda p: p.step(np.zeros((3, 3))), ValueError, r"shape \(3, 3\)"),
    ("Pendulum-v1", lambda p: p.step(np.zeros(3)), ValueError, r"shape \(3,\)"),
    ("Pendulum-v1", lambda p: p.step(np.full((3, 1), np.nan)), ValueError, "not finite"),
    ("CartPole-v1", lambda p: p.send(np.zeros(1, int), [3]), ValueError, "env_id 3: choose 0 to 2"),
    ("CartPole-v1", lambda p: p.send(np.zeros(1, int), [-1]), ValueError, "env_id -1"),
    (
        "CartPole-v1",
        lambda p: p.send(np.zeros(1, int), [2**40]),
        ValueError,
        "env_id 1099511627776",
    ),
    ("CartPole-v1", lambda p: p.step(np.zeros(2, int), [1, 1]), ValueError, "named twice"),
    ("CartPole-v1", lambda p: p.step(np.zeros(1, int), [0.0]), TypeError, "dtype float64"),
    ("CartPole-v1", lambda p: p.step(np.zeros(0, int), []), ValueError, "no environment is named"),
    ("CartPole-v1", lambda p: p.reset(np.array([5])), ValueError, "env_id 5"),
    ("CartPole-v1", lambda p: p.reset(np.array([1.0])), TypeError, "dtype float64"),
    ("CartPole-v1", lambda p: p.reset(np.array([1, 1])), ValueError, "named twice"),
    ("CartPole-v1", lambda p: p.reset(seed=0.5), TypeError, "seed=0.5"),
    ("CartPole-v1", lambda p: p.reset(np.array([7]), seed=1), ValueError, "env_id 7"),
    ("CartPole-v1", lambda p: p.recv(), StateError, "0 environments are in flight"),
    ("CartPole-v1", lambda p: p.recv(timeout=0), PoolTimeoutError, "within 0 s"),
    ("CartPole-v1", lambda p: p.render([3]), ValueError, "env_id 3"),
    ("CartPole-v1", lambda p: p.render([]), ValueError, "no environment is named"),
    ("CartPole-v1", lambda p: p.reset(options=3), TypeError, "options=3 is a int: give a dict"),
    ("CartPole-v1", lambda p: p.reset(options=[1]), TypeError, "is a list: give a dict"),
    ("CartPole-v1", lambda p: p.async_reset(options="low"), TypeError, "is a str: give a dict"),
    (
        "CartPole-v1",
        lambda p: p.reset([0, "a"], seed=1),
        TypeError,
        "env_id='a' is a str",
    ),
    ("CartPole-v1", lambda p: p.reset([[0, 1]], seed=1), ValueError, r"shape \(1, 2\): give one"),
    ("CartPole-v1", lambda p: p.reset([0.0], seed=1), TypeError, "dtype float64"),
    ("CartPole-v1", lambda p: p.reset(seed=np.zeros((3, 1), int)), ValueError, r"shape \(3, 1\)"),
    ("CartPole-v1", lambda p: p.reset(seed={1, 2, 3}), TypeError, "is a set: give an integer"),
    ("CartPole-v1", lambda p: p.reset(timeout=-1), ValueError, "timeout=-1: choose 0 or more"),
]


@pytest.mark.parametrize(("env_id", "misuse", "error", "message"), MISUSE)
def test_misuse_is_an_error_and_changes_nothing(
    env_id: str, misuse: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    config = {"num_envs": 3, "seed": 0, "num_threads": 2}
    with make_gym(env_id, **config) as pool, make_gym(env_id, **config) as untouched:
        assert equal(pool.reset(), untouched.reset())
        for _ in range(3):
            with pytest.raises(error, match=message):
                misuse(pool)
            action = sample(pool, 3)
            assert equal(pool.step(action), untouched.step(action))


def test_send_without_recv_is_refused() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        pool.send(np.zeros(2, int))
        for _ in range(50):
            with pytest.raises(StateError, match="already in flight"):
                pool.send(np.zeros(2, int))
        with pytest.raises(StateError, match="pending"):
            pool.step(np.zeros(2, int))
        assert pool.recv()[4]["elapsed_step"].tolist() == [1, 1]


def test_failed_environment() -> None:
    with make_gymnasium(
        "test/Fault-v0", num_envs=3, fail_on="step", fail_at_step=2, fail_env=1
    ) as pool:
        pool.reset()
        pool.step(np.ones(3, int))
        with pytest.raises(EnvError, match="environment 1 failed: told to fail") as caught:
            pool.step(np.ones(3, int))
        assert caught.value.env_ids == (1,)
        _, reward, *_, info = caught.value.batch
        assert reward.tolist() == [1.0, 0.0, 1.0]
        assert info["env_id"].tolist() == [0, 1, 2]
        assert info["count"].tolist() == [2, 0, 2]
        # it starts a new episode, the others go on
        assert pool.step(np.ones(3, int))[4]["elapsed_step"].tolist() == [3, 0, 3]


def test_failed_reset_gives_what_reset_gives() -> None:
    fault = {"num_envs": 2, "fail_on": "reset", "fail_at_step": 1, "fail_env": 0}
    with make_gym("test/Fault-v0", **fault) as pool:
        with pytest.raises(EnvError, match="environment 0 failed") as caught:
            pool.reset()
        assert caught.value.batch.shape == (2, 1)
    with make_gym("test/Fault-v0", **fault) as pool:
        pool.async_reset()
        with pytest.raises(EnvError, match="environment 0 failed") as caught:
            pool.recv(reset=True, return_info=True)
        obs, info = caught.value.batch
        assert obs.shape == (2, 1) and info["env_id"].tolist() == [0, 1]


def test_close() -> None:
    pool = make_gym("CartPole-v1", num_envs=2)
    obs = pool.reset()
    kept = obs.copy()
    assert not pool.closed
    pool.close()
    pool.close()
    assert pool.closed and equal(obs, kept)
    for call in (
        lambda: pool.step(np.zeros(2, int)),
        lambda: pool.send(np.zeros(2, int)),
        lambda: pool.reset(),
        lambda: pool.recv(),
        lambda: pool.async_reset(),
    ):
        with pytest.raises(ClosedError, match="the pool is closed"):
            call()


def test_dropped_pool_ends_its_threads() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/task"))

    gc.collect()
    before = count()
    pool = make_gym("CartPole-v1", num_envs=8, num_threads=4, batch_size=4)
    assert count() == before + 3  # the caller is the fourth
    gc.disable()  # it must not take the collector to end them
    try:
        del pool
    finally:
        gc.enable()
    # a joined thread leaves the list a moment later
    while count() > before:
        time.sleep(0.001)


def test_pools_and_pickle() -> None:
    with make_gym("CartPole-v1") as pool:
        for function in (pickle.dumps, copy.deepcopy, copy.copy):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                function(pool)


def test_fork() -> None:
    with make_gym("CartPole-v1", num_envs=4, num_threads=2, seed=0) as pool:
        pool.reset()
        child = os.fork()
        if not child:
            # only what the parent can see counts here: no exception may reach pytest
            code = 1
            try:
                pool.step(np.zeros(4, int))
            except ForkedError:
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert pool.step(np.zeros(4, int))[4]["elapsed_step"].tolist() == [1, 1, 1, 1]


def test_ctrl_c_ends_a_wait_and_loses_nothing() -> None:
    with make_gym("CartPole-v1", num_envs=4, batch_size=2) as pool:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            pool.recv(timeout=600)
        timer.join()
        pool.async_reset()
        assert pool.recv()[0].shape == (2, 4)


def test_two_threads_may_not_receive_at_once() -> None:
    with make_gym("CartPole-v1", num_envs=2) as pool:
        received = []

        def receive() -> None:
            while not received:
                # the other thread may be the one that is receiving
                with contextlib.suppress(StateError):
                    received.append(pool.recv(timeout=600))

        thread = threading.Thread(target=receive)
        thread.start()
        while True:
            try:
                pool.recv(timeout=0)
            except PoolTimeoutError:
                continue
            except StateError as error:
                assert "another thread is receiving" in str(error)
                break
        pool.async_reset()
        thread.join()
        assert received[0][0].shape == (2, 4)


def test_missing_rom() -> None:
    script = """
import sys
sys.modules["ale_py"] = None
import parallel_pool
try:
    parallel_pool.make_gym("Pong-v5")
except parallel_pool.MissingDependencyError as error:
    print(error)
"""
    assert "pip install 'parallel_pool[atari]'" in run(script)


def test_snapshots() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        states = pool.get_state()
        first = [pool.step(np.array([0, 1]))[0].copy() for _ in range(30)]
        pool.set_state(states)
        assert all(equal(obs, pool.step(np.array([0, 1]))[0]) for obs in first)
        (state,) = pool.get_state(np.array([1]))
        pool.set_state([state], np.array([0]))


def test_render() -> None:
    with make_gym("Pong-v5", num_envs=3, render_mode="rgb_array", render_env_id=2) as pool:
        pool.reset()
        assert pool.render_mode == "rgb_array"
        picture = pool.render()
        assert picture.shape == (1, 210, 160, 3) and picture.dtype == np.uint8
        every = pool.render(np.arange(3))
        assert every.shape == (3, 210, 160, 3) and equal(every[2:], picture)


def test_render_of_what_has_no_pictures_of_its_own() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=3) as pool:
        pool.reset()
        reference = gymnasium.make("CartPole-v1", render_mode="rgb_array")
        reference.reset(seed=3)
        for _ in range(3):
            assert equal(pool.render(), reference.render()[None])
            pool.step(np.array([1, 0]))
            reference.step(1)
        assert pool.render([1, 0]).shape == (2, 400, 600, 3)
        assert not equal(pool.render([1]), pool.render([0]))
        pool.send(np.zeros(2, int))
        with pytest.raises(StateError, match="in flight"):
            pool.render()
    with make_gym("test/Duel-v0") as pool:
        pool.reset()
        with pytest.raises(StateError, match="test/Duel-v0 draws no pictures"):
            pool.render()


# ------------------------------------------------------------------------------- Gymnasium --


def test_pools_are_vector_envs_and_envs() -> None:
    with make_gymnasium("CartPole-v1") as pool:
        assert isinstance(pool, VectorEnv)
        assert isinstance(pool, gymnasium.Env)
        assert str(pool) == repr(pool)
        assert pool.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
        assert pool.unwrapped is pool


def wrapped(env: Any) -> Any:
    return ClipReward(NormalizeObservation(RecordEpisodeStatistics(env)), -0.5, 0.5)


@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_vector_wrappers_do_what_they_do_over_gymnasiums_own() -> None:
    reference = wrapped(gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"))
    pool = wrapped(make_gymnasium("CartPole-v1", num_envs=3))
    ours, theirs = pool.reset(seed=4), reference.reset(seed=4)
    assert equal(ours[0], theirs[0])
    ended = 0
    for step in range(100):
        action = np.array([0, step % 2, 1])
        ours, theirs = pool.step(action), reference.step(action)
        assert equal(ours[0], theirs[0])
        assert (ours[1] == theirs[1]).all() and equal(ours[2:4], theirs[2:4])
        assert ("episode" in ours[4]) == ("episode" in theirs[4])
        if "episode" in ours[4]:
            ended += 1
            assert equal(ours[4]["_episode"], theirs[4]["_episode"])
            assert ours[4]["episode"]["r"].tolist() == theirs[4]["episode"]["r"].tolist()
            assert ours[4]["episode"]["l"].tolist() == theirs[4]["episode"]["l"].tolist()
    assert ended >= 5
    pool.close()
    assert pool.unwrapped.closed


# ------------------------------------------------------------------------------------- specs --


def test_make_spec_makes_no_environment() -> None:
    spec = make_spec("test/Fault-v0", num_envs=2, fail_on="init")
    assert spec.config.fail_on == "init"
    with pytest.raises(PoolError, match="environment 0 can't be made"):
        make_gym("test/Fault-v0", num_envs=2, fail_on="init")


def test_spec() -> None:
    spec = make_spec("CartPole-v1", num_envs=4, seed=3)
    assert spec.id == "CartPole-v1"
    assert list(spec.config._asdict().items()) == [
        ("num_envs", 4),
        ("batch_size", 4),
        ("num_threads", 0),
        ("max_num_players", 1),
        ("thread_affinity_offset", -1),
        ("base_path", ""),
        ("seed", 3),
        ("env_seed", []),
        ("gym_reset_return_info", True),
        ("max_episode_steps", 500),
        ("reward_threshold", 475.0),
        ("sutton_barto_reward", False),
    ]
    assert spec.reward_threshold == 475.0
    assert make_spec("CartPole-v1", reward_threshold=100).reward_threshold == 100
    assert make_spec("Pendulum-v1").reward_threshold is None
    assert not hasattr(make_spec("Pendulum-v1").config, "reward_threshold")
    assert make_spec("test/Fault-v0").config.max_episode_steps == 2**31 - 1
    assert spec.gen_config(num_envs=9, batch_size=3) == spec.config._replace(
        num_envs=9, batch_size=3, seed=None
    )
    with pytest.raises(ValueError, match="batch_size=5 > num_envs=4"):
        make_spec("CartPole-v1", num_envs=4, batch_size=5)
    assert repr(spec).startswith("EnvSpec(CartPole-v1, num_envs=4,")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pong-v5", "HalfCheetah-v5"])
def test_specs_and_configs_can_be_pickled_and_copied(env_id: str) -> None:
    spec = make_spec(env_id, num_envs=3, seed=[4, 2, 7], max_episode_steps=9)
    for again in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec), copy.copy(spec)):
        assert again is not spec and again.id == env_id
        assert again.config == spec.config and again.action_space == spec.action_space
        assert again.gen_config(num_envs=5) == spec.gen_config(num_envs=5)
    for config in (pickle.loads(pickle.dumps(spec.config)), copy.deepcopy(spec.config)):
        assert config == spec.config and type(config) is type(spec.config)
        assert config._replace(num_envs=4).num_envs == 4
    script = f"import pickle; print(pickle.loads({pickle.dumps(spec)!r}))"
    assert run(script).strip() == repr(spec)


def test_spec_of_atari() -> None:
    config = make_spec("Breakout-v5", episodic_life=True).config._asdict()
    assert config["episodic_life"] is True and config["max_episode_steps"] == 27000
    assert config["noop_max"] == 30 and config["use_fire_reset"] is True
    assert "rom" not in config and "reward_threshold" not in config


def test_array_specs() -> None:
    state = make_spec("Pong-v5").state_array_spec
    assert list(state) == [
        "info:env_id",
        "info:players.env_id",
        "elapsed_step",
        "done",
        "reward",
        "discount",
        "step_type",
        "trunc",
        "obs",
        "info:lives",
        "info:reward",
        "info:terminated",
        "info:ram",
    ]
    assert (state["obs"].shape, state["obs"].dtype) == ([4, 84, 84], np.uint8)
    assert (state["obs"].minimum, state["obs"].maximum) == (0, 255)
    assert (state["reward"].shape, state["reward"].minimum) == ([-1], -np.inf)
    assert (state["info:lives"].minimum, state["info:lives"].maximum) == (-(2**31), 2**31 - 1)
    action = make_spec("Pong-v5").action_array_spec
    assert list(action) == ["env_id", "players.env_id", "action"]
    assert (action["action"].shape, action["action"].maximum) == ([-1], 5)
    assert action["action"].is_discrete and action["action"].dtype == np.int32
    pendulum = make_spec("Pendulum-v1").action_array_spec["action"]
    assert (pendulum.shape, pendulum.minimum, pendulum.maximum) == ([-1, 1], -2, 2)
    duel = make_spec("test/Duel-v0").state_array_spec
    assert duel["obs:score"].shape == [-1, 2] and duel["obs:stake"].shape == []
    assert duel["info:players.last_move"].shape == [-1] and duel["info:round"].shape == []


# ----------------------------------------------------------------------------------- players --


def test_rows_are_players() -> None:
    with make_gymnasium("test/Duel-v0", num_envs=2, seed=0) as pool:
        obs, info = pool.reset()
        assert obs["score"].shape == (4, 2) and obs["stake"].shape == (2,)
        assert info["env_id"].tolist() == [0, 1]
        assert info["players"]["env_id"].tolist() == [0, 0, 1, 1]
        assert info["round"].shape == (2,)
        assert pool.action_space == gymnasium.spaces.Discrete(3)
        assert obs["score"][0] in pool.observation_space["score"]
        assert obs["stake"][0] in pool.observation_space["stake"]

        stake = obs["stake"]
        obs, reward, term, trunc, info = pool.step(np.array([1, 0, 0, 2]))
        assert reward.tolist() == [stake[0], -stake[0], stake[1], -stake[1]]
        assert term.shape == trunc.shape == (2,)
        assert info["players"]["last_move"].tolist() == [1, 0, 0, 2]
        assert obs["score"][:, 0].tolist() == [stake[0], 0, stake[1], 0]


def test_actions_of_players() -> None:
    config = {"num_envs": 3, "seed": 0}
    with make_gym("test/Duel-v0", **config) as pool, make_gym("test/Duel-v0", **config) as other:
        assert equal(pool.reset(), other.reset())
        moves = np.array([1, 0, 0, 2, 2, 2])
        assert equal(pool.step(moves.reshape(3, 2)), other.step(moves))
        # in any order, with their owners
        order = np.array([4, 1, 2, 3, 0, 5])
        owners = np.array([0, 0, 1, 1, 2, 2])[order]
        # rows 0 and 4 are of different environments, so players keep their order in each
        by_owner = {"action": moves[order], "players.env_id": owners}
        expected = np.concatenate([moves[order][owners == i] for i in range(3)])
        assert equal(pool.step(by_owner), other.step(expected))
        # some environments, named in an order of their own
        some = {"action": np.array([2, 0, 1, 1]), "env_id": [2, 0], "players.env_id": [0, 2, 0, 2]}
        assert equal(pool.step(some), other.step(np.array([0, 1, 2, 1]), [2, 0]))


def test_owners_of_players_are_integers() -> None:
    with make_gym("test/Duel-v0", num_envs=1) as pool:
        pool.reset()
        for owners in ("x", [0.5, 1]):
            with pytest.raises(TypeError, match=r"players\.env_id has dtype .*: give integers"):
                pool.step({"action": np.zeros(2, int), "players.env_id": owners})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros(3, int), r"shape \(3,\): 3 environments take \(3, 2\)"),
        (np.zeros(5, int), r"shape \(5,\)"),
        (np.array(0), r"shape \(\)"),
        (
            {"action": np.zeros(6, int), "players.env_id": [0, 0, 0, 1, 2, 2]},
            "environment 0 has 3 actions: give one for each of its 2 players",
        ),
        ({"action": np.zeros(5, int), "players.env_id": [0, 0, 1, 1, 2, 2]}, "one owner per row"),
        (
            {"action": np.zeros(4, int), "env_id": [0, 1], "players.env_id": [0, 0, 2, 2]},
            "name the same",
        ),
        ({"action": np.zeros(2, int), "players.env_id": [7, 7]}, "env_id 7"),
    ],
)
def test_actions_of_players_refused(action: Any, message: str) -> None:
    with make_gym("test/Duel-v0", num_envs=3, seed=0) as pool:
        pool.reset()
        with pytest.raises(ValueError, match=message):
            pool.step(action)
        assert pool.step(np.zeros(6, int))[4]["round"].tolist() == [1, 1, 1]


def test_players_partial_and_async() -> None:
    with make_gymnasium("test/Duel-v0", num_envs=3) as pool:
        pool.reset()
        obs, info = pool.reset(np.array([2]))
        assert obs["score"].shape == (2, 2) and info["players"]["env_id"].tolist() == [2, 2]
    with make_gym("test/Duel-v0", num_envs=4, batch_size=2, max_num_players=2) as pool:
        pool.async_reset()
        for _ in range(20):
            _, reward, term, _, info = pool.recv()
            assert reward.shape == (4,) and term.shape == (2,)
            assert info["players"]["env_id"].tolist() == np.repeat(info["env_id"], 2).tolist()
            pool.send(np.zeros(4, int), info["env_id"])
    with pytest.raises(ValueError, match="max_num_players=1: test/Duel-v0 has 2"):
        make_gym("test/Duel-v0", max_num_players=1)


# ------------------------------------------------------------------------------ registering --


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template, compiled out of tree under an id of its own."""
    folder = tmp_path_factory.mktemp("registered")
    source = (ROOT / "csrc" / "envs" / "_template.c").read_text()
    source = source.replace('"test/Template-v0"', '"Corridor-v0"').replace('"test"', '"mine"')
    (folder / "corridor.c").write_text(source)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    include = parallel_pool.get_include()
    command = [*compiler, "-std=c11", "-O1", "-shared", "-fPIC", f"-I{include}"]
    library = folder / "corridor.so"
    subprocess.run([*command, str(folder / "corridor.c"), "-o", str(library), "-lm"], check=True)
    return library


SYMBOL = "pp_env_test_template_v0"


def test_register(library: Path) -> None:
    script = f"""
import numpy as np, parallel_pool as envpool
path, symbol = {str(library)!r}, {SYMBOL!r}
before = envpool.list_all_envs()
envpool.register("Corridor-v0", path=path, symbol=symbol)
envpool.register("LongCorridor-v0", path=path, symbol=symbol, length=50, max_episode_steps=7)
assert set(envpool.list_all_envs()) - set(before) == {{"Corridor-v0", "LongCorridor-v0"}}
pool = envpool.make_gym("LongCorridor-v0", num_envs=2, seed=0)
assert pool.config["length"] == 50 and pool.config["max_episode_steps"] == 7
pool.reset()
for _ in range(7):
    *_, trunc, info = pool.step(np.zeros(2, int))
assert trunc.all()
assert envpool.make_spec("LongCorridor-v0", length=20).config.length == 20
assert envpool.make_spec("LongCorridor-v0").gen_config().length == 50
assert envpool.make_spec("Corridor-v0").config.length == 10
envpool.register("LongCorridor-v0", path=path, symbol=symbol, length=50, max_episode_steps=7)
for task, options, error in [
    ("LongCorridor-v0", dict(length=40), ValueError),
    ("CartPole-v1", dict(), ValueError),
    ("Corridor-v1", dict(lenth=40), TypeError),
    ("Corridor-v1", dict(length=-1), ValueError),
]:
    try:
        envpool.register(task, path=path, symbol=symbol, **options)
    except error as raised:
        print(raised)
    else:
        raise SystemExit(f"{{task}} {{options}} was taken")
assert "Corridor-v1" not in envpool.list_all_envs()
"""
    lines = run(script).splitlines()
    assert "'LongCorridor-v0' is taken" in lines[0] and "'CartPole-v1' is taken" in lines[1]
    assert "no option lenth" in lines[2] and "length=-1" in lines[3]


def test_register_refuses_what_is_not_there(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"none\.so"):
        parallel_pool.register("New-v0", path=tmp_path / "none.so", symbol=SYMBOL)
    with monkeypatch.context() as patch:
        patch.chdir(library.parent)
        with pytest.raises(ValueError, match="pp_env_nothing"):
            parallel_pool.register("New-v0", path="corridor.so", symbol="pp_env_nothing")
    with pytest.raises(ValueError, match="pp_env_nothing"):
        parallel_pool.register("New-v0", path=library, symbol="pp_env_nothing")
    assert "New-v0" not in parallel_pool.list_all_envs()
