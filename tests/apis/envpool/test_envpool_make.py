"""The EnvPool-style API: making pools, their specs, and registering tasks."""

from __future__ import annotations

import copy
import os
import pickle
import shlex
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool import (
    PoolError,
    make,
    make_gym,
    make_gymnasium,
    make_spec,
)
from parallel_pool._apis.common import warn_once
from tests.support.envpool_cases import IDS, ROOT, run, sample

# ---------------------------------------------------------------------------------------- making --


@pytest.mark.parametrize("task_id", IDS)
def test_every_task_is_listed_and_steps(task_id: str) -> None:
    assert task_id in parallel_pool.list_all_envs()
    with make_gymnasium(task_id, num_envs=3, seed=1) as pool:
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
    assert not any(task_id.startswith("test/") for task_id in ids)


@pytest.mark.sanitizers
def test_functions_import_only_what_they_need() -> None:
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
        ({"env_type": "gym", "env_seed": 3}, TypeError, "env_seed=3 is an int: give a list"),
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
def test_unknown_id_suggests_another(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="no environment 'CartPole-v9': did you mean CartPole-v"):
        function("CartPole-v9")


@pytest.mark.parametrize("function", [make_gym, make_gymnasium, parallel_pool.make_dm, make_spec])
@pytest.mark.parametrize("task_id", [3, None, [], {}, b"CartPole-v1"])
def test_ids_that_are_no_strings_are_refused(function: Callable[..., Any], task_id: Any) -> None:
    with pytest.raises(TypeError, match=r"task_id=.* is an? \w+: give a string"):
        function(task_id)
    with pytest.raises(TypeError, match=r"task_id=.* is an? \w+: give a string"):
        parallel_pool.register(task_id, path="nowhere.so", symbol="nothing")


def test_atari_options_outside_their_range() -> None:
    for option in ("stack_num", "noop_max", "img_height", "img_width"):
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


def test_minigrids_options_have_envpools_names_too() -> None:
    spec = make_spec("MiniGrid-MultiRoom-N6-v0", min_num_rooms=2, max_num_rooms=3, max_room_size=5)
    assert (spec.config.minNumRooms, spec.config.maxNumRooms, spec.config.maxRoomSize) == (2, 3, 5)
    assert make_spec("MiniGrid-Fetch-8x8-N3-v0", num_objs=2).config.numObjs == 2
    assert make_spec("BabyAI-PutNextLocal-v0", num_objs=4).config.num_objs == 4
    options = {"agent_start_pos": (-1, -1), "agent_start_dir": -1}
    anywhere = make_spec("MiniGrid-Empty-5x5-v0", **options).config
    assert anywhere == make_spec("MiniGrid-Empty-5x5-v0", agent_start_pos=None).config
    with pytest.raises(TypeError, match="num_objs and numObjs are the same: give one of them"):
        make_spec("MiniGrid-Fetch-8x8-N3-v0", num_objs=2, numObjs=2)


def test_base_path_and_affinity_are_accepted() -> None:
    with make_gym("CartPole-v1", base_path="/nowhere", thread_affinity_offset=0) as pool:
        assert pool.reset().shape == (1, 4)


# ----------------------------------------------------------------------------------------- specs --


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
        ("gravity", 9.8),
        ("masscart", 1.0),
        ("masspole", 0.1),
        ("length", 0.5),
        ("force_mag", 10.0),
        ("tau", 0.02),
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


@pytest.mark.slow
@pytest.mark.parametrize("task_id", ["CartPole-v1", "Pong-v5", "HalfCheetah-v5"])
def test_specs_and_configs_can_be_pickled_and_copied(task_id: str) -> None:
    spec = make_spec(task_id, num_envs=3, seed=[4, 2, 7], max_episode_steps=9)
    for again in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec), copy.copy(spec)):
        assert again is not spec and again.id == task_id
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


# ----------------------------------------------------------------------------------- registering --


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template, compiled outside this repository under another id."""
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


@pytest.mark.sanitizers
def test_registered_ids_can_be_made_with_their_options(library: Path) -> None:
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


@pytest.mark.sanitizers
def test_register_refuses_missing_files_and_symbols(
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


@pytest.mark.parametrize("task_id", ["mpe/simple_tag_v3", "mpe/simple_adversary_v3"])
def test_default_options_of_a_spec_can_be_given(task_id: str) -> None:
    # EnvPool's API passes every option of the spec's config
    with make_gymnasium(task_id, num_envs=2) as pool:
        assert pool.reset()[0].shape[0] == 2 * pool.spec.num_players


def test_two_rows_that_could_be_unpacked_are_warned_of() -> None:
    """`obs, info = env.reset()` would unpack the observations of two environments in silence."""
    warn_once.warn_once.cache_clear()
    with pytest.warns(UserWarning, match="with two rows .* would unpack those: choose env_type"):
        make("CartPole-v1", env_type="gym", num_envs=2).close()
    warn_once.warn_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in (
            {"env_type": "gymnasium", "num_envs": 2},
            {"env_type": "gym", "num_envs": 2, "gym_reset_return_info": True},
            {"env_type": "gym", "num_envs": 3},
        ):
            make("CartPole-v1", **options).close()
