"""Misuse: wrong arguments of constructors and resets are refused with a cure."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine.pool import MAX_ENVS, Pool
from parallel_pool._families import atari
from parallel_pool._native import ffi, lib, new_error, text
from parallel_pool.errors import (
    MissingDependencyError,
    PoolError,
)
from tests.faults.misuse import Call, assert_refused

# ------------------------------------------------------------------------------------- making --

MAKING: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_envs": 0}, ValueError, "num_envs=0: choose 1 or more"),
    ({"num_envs": -1}, ValueError, "num_envs=-1: choose 1 or more"),
    ({"num_envs": 2**24 + 1, "seed": 0}, ValueError, "num_envs=16777217: choose 1 to 16777216"),
    ({"num_envs": 2**31 - 1}, ValueError, "num_envs=2147483647: choose 1 to 16777216"),
    ({"num_envs": 2**70}, ValueError, "num_envs=1180591620717411303424: choose 1 to 16777216"),
    ({"num_envs": 3.0}, TypeError, "num_envs=3.0 is a float: give an integer"),
    ({"num_envs": True}, TypeError, "num_envs=True is a bool: give an integer"),
    ({"num_envs": "3"}, TypeError, "num_envs='3' is a str: give an integer"),
    ({"num_envs": None}, TypeError, "num_envs=None is a NoneType: give an integer"),
    (
        {"num_envs": 2, "batch_size": 3},
        ValueError,
        "batch_size=3 > num_envs=2: choose batch_size <= num_envs",
    ),
    ({"batch_size": -1}, ValueError, "batch_size=-1: choose 1 or more"),
    ({"batch_size": 1.5}, TypeError, "batch_size=1.5 is a float: give an integer"),
    ({"num_threads": -1}, ValueError, "num_threads=-1: choose 0 or more"),
    ({"num_threads": 2**31 - 1}, ValueError, "num_threads=2147483647: choose 1 to 1024, or 0"),
    ({"num_threads": 2.0}, TypeError, "num_threads=2.0 is a float: give an integer"),
    ({"thread_affinity_offset": -2}, ValueError, "thread_affinity_offset=-2: choose -1 or more"),
    ({"autoreset": "later"}, ValueError, "autoreset='later': choose 'next_step' or 'same_step'"),
    ({"autoreset": ["same_step"]}, ValueError, r"autoreset=\['same_step'\]: choose 'next_step'"),
    ({"max_episode_steps": -1}, ValueError, "max_episode_steps=-1: choose 0 or more"),
    ({"max_episode_steps": 2**31}, ValueError, "max_episode_steps=2147483648: choose 0 to 2147"),
    ({"max_episode_steps": 1.5}, TypeError, "max_episode_steps=1.5 is a float: give an integer"),
    ({"reward_dtype": "int8"}, ValueError, "reward_dtype='int8': choose 'float32' or 'float64'"),
    ({"seed": -1}, ValueError, "seed=-1: choose 0 or more"),
    ({"seed": [3, -4]}, ValueError, "seed=-4: choose 0 or more"),
    ({"seed": 1.5}, TypeError, "seed=1.5 is a float: give an integer"),
    ({"seed": np.array([1.0, 2.0])}, TypeError, "is a float64: give an integer"),
    ({"seed": True}, TypeError, "seed=True is a bool: give an integer"),
    ({"seed": "1"}, TypeError, "seed='1' is a str: give an integer"),
    ({"seed": [1]}, ValueError, "1 seeds for 2 environments: give one for each"),
    ({"seed": [1, 2, 3]}, ValueError, "3 seeds for 2 environments: give one for each"),
    ({"seed": [1, 2**512]}, ValueError, "seed of environment 1 has 544 bits: choose .* 512 bits"),
    ({"options": {"mass": 1}}, TypeError, "CartPole-v1 has no option mass: it has force_mag"),
    ({"options": {"seed": 1}}, TypeError, "no option seed: give the seed to reset"),
    ({"options": {1: 1}}, TypeError, "CartPole-v1 has no option 1: it has force_mag"),
    ({"options": {"sutton_barto_reward": 1}}, TypeError, "reward=1 is an int: give True or False"),
    ({"options": [("a", 1)]}, TypeError, r"options=\[\('a', 1\)\] is a list: give a dict"),
    ({"options": "ab"}, TypeError, "options='ab' is a str: give a dict"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), MAKING)
def test_wrong_arguments_of_the_constructor_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        Pool("CartPole-v1", **{"num_envs": 2, **arguments})
    assert caught.type is error
    with Pool("CartPole-v1", 2, seed=0) as pool:
        assert pool.reset()[0].shape == (2, 4)


def test_max_envs_is_the_limit_of_the_engine() -> None:
    definition = Pool("CartPole-v1").definition
    values = definition.configure().values.raw
    options = ffi.new("pp_pool_options *", {"num_envs": MAX_ENVS + 1, "batch_size": 1})
    out, error = ffi.new("pp_pool **"), new_error()
    assert lib.pp_pool_create(definition.raw, values, options, out, error) == lib.PP_ERR_ARGUMENT
    assert text(error.text) == f"num_envs={MAX_ENVS + 1}: choose 1 to {MAX_ENVS}"


def test_num_envs_is_checked_before_seeds_are_listed() -> None:
    with pytest.raises(ValueError, match="num_envs=2147483647: choose 1 to 16777216"):
        parallel_pool.make_spec("CartPole-v1", num_envs=2**31 - 1, seed=0)


OPTIONS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("Pendulum-v1", {"g": "10"}, TypeError, "g='10' is a str: give a number"),
    ("Pendulum-v1", {"g": True}, TypeError, "g=True is a bool: give a number"),
    ("Pendulum-v1", {"g": np.nan}, ValueError, "g=nan: choose"),
    ("Pendulum-v1", {"g": -np.inf}, ValueError, "g=-inf: choose"),
    ("Pendulum-v1", {"g": 10**400}, ValueError, "g=an integer of 1329 bits: choose"),
    ("Pendulum-v1", {"gravity": 1.0}, TypeError, "Pendulum-v1 has no option gravity: it has g"),
    ("Pong-v5", {"stack_num": 0}, ValueError, "stack_num=0: choose 1 to 64"),
    ("Pong-v5", {"stack_num": 2**70}, ValueError, "stack_num=1180591620717411303424: choose 1 to"),
    ("Pong-v5", {"stack_num": 4.0}, TypeError, "stack_num=4.0 is a float: give an integer"),
    ("Pong-v5", {"noop_max": 0}, ValueError, "noop_max=0: choose 1 to"),
    ("Pong-v5", {"noop_max": -1}, ValueError, "noop_max=-1: choose 1 to"),
    ("Pong-v5", {"img_height": 0}, ValueError, "img_height=0: choose 1 to"),
    ("Pong-v5", {"img_width": -84}, ValueError, "img_width=-84: choose 1 to"),
    ("Pong-v5", {"img_width": 10**9}, ValueError, "img_width=1000000000: choose 1 to"),
    ("Pong-v5", {"frame_skip": -1}, ValueError, "frame_skip=-1: choose 0 to"),
    ("Pong-v5", {"repeat_action_probability": 7}, ValueError, "probability=7.0: choose 0 to 1"),
    ("Pong-v5", {"repeat_action_probability": np.nan}, ValueError, "probability=nan: choose 0"),
    ("Pong-v5", {"mode": 99}, ValueError, "Pong-v5: mode=99: choose -1, 0, 1"),
    ("Pong-v5", {"difficulty": 77}, ValueError, "Pong-v5: difficulty=77: choose -1, 0, 1, 2, 3"),
    ("Pong-v5", {"episodic_life": 1}, TypeError, "episodic_life=1 is an int: give True or False"),
    ("Pong-v5", {"img_heigth": 84}, TypeError, "Pong-v5 has no option img_heigth: it has .*img_h"),
    ("Pong-v5", {"rom": "pong.bin"}, TypeError, "rom='pong.bin' is a str: give bytes"),
    ("Pong-v5", {"rom": b""}, ValueError, "rom of pong has 0 bytes: choose one of 2048"),
    ("Pong-v5", {"rom": bytes(4095)}, ValueError, "rom of pong has 4095 bytes: choose"),
    ("test/Fault-v0", {"fail_on": "never"}, ValueError, "fail_on='never': choose none, step"),
]


@pytest.mark.quick(5)
@pytest.mark.parametrize(("task_id", "options", "error", "message"), OPTIONS)
def test_wrong_options_are_refused(
    task_id: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        Pool(task_id, 2, options=options)
    assert caught.type is error
    with Pool(task_id, 2, seed=0) as pool:
        assert len(pool.reset()[0]) == 2


RESETS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"seed": -1}, ValueError, "seed=-1: choose 0 or more"),
    ({"seed": [1, 2]}, ValueError, "2 seeds for 3 environments: give one for each"),
    ({"seed": [1, 2, 3.0]}, TypeError, "seed=3.0 is a float: give an integer"),
    ({"seed": [1, 2, 2**512]}, ValueError, "seed of environment 2 has 544 bits: choose one of at"),
    ({"options": {"lower": 0.0}}, TypeError, "reset of CartPole-v1 has no option lower: it has h"),
    ({"options": {"low": "0"}}, TypeError, "low='0' is a str: give a number"),
    ({"options": {"low": np.nan}}, ValueError, "low=nan: choose"),
    ({"options": {"low": 2.0, "high": 1.0}}, ValueError, "low=2, high=1: choose low <= high"),
    ({"seed": 4, "options": {"low": 2.0, "high": 1.0}}, ValueError, "choose low <= high"),
    ({"options": ["low"]}, TypeError, r"options=\['low'\] is a list: give a dict"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), RESETS)
def test_wrong_arguments_of_reset_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    calls: list[Call] = [
        lambda pool: pool.reset(**arguments),
        lambda pool: pool.send_reset(**arguments),
        # if the pool kept a seed or an option, the next reset would show it
        lambda pool: pool.send_reset([0, 1, 2], **arguments),
    ]
    assert_refused("CartPole-v1", calls, error, message, max_episode_steps=4)


@pytest.mark.parametrize(
    ("task_id", "message"),
    [
        ("CartPole-v2", "no environment 'CartPole-v2': did you mean CartPole-v1"),
        ("cartpole-v1", "no environment 'cartpole-v1': did you mean CartPole-v1"),
        ("ALE/Pung-v5", "no environment 'ALE/Pung-v5': did you mean ALE/Pong-v5"),
        ("quite another", "no environment 'quite another': see parallel_pool.list_all_envs"),
        ("", "no environment '': see parallel_pool.list_all_envs"),
    ],
)
def test_unknown_ids_are_refused(task_id: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pool(task_id)


@pytest.mark.parametrize("wrong", [None, 3, b"CartPole-v1"])
def test_ids_of_wrong_types_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"definition=.* is an? (NoneType|int|bytes): give an id"):
        Pool(wrong)


@pytest.fixture
def unread_roms() -> Iterator[None]:
    """Clears the cache of ROMs, before the test and after it."""
    atari.read_rom.cache_clear()
    yield
    atari.read_rom.cache_clear()


@pytest.mark.usefixtures("unread_roms")
def test_without_ale_py_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(MissingDependencyError, match="ale-py, which is not inst") as caught:
            Pool("Pong-v5")
        assert "pip install 'parallel_pool[atari]'" in str(caught.value)
        assert isinstance(caught.value, ImportError) and isinstance(caught.value, PoolError)
        # environments without a ROM still work
        Pool("CartPole-v1").close()
    with Pool("Pong-v5") as pool:
        assert pool.reset()[0].shape == (1, 4, 84, 84)


@pytest.mark.usefixtures("unread_roms")
def test_a_missing_or_damaged_rom_is_an_error_with_a_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = importlib.machinery.ModuleSpec("ale_py", None, is_package=True)
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: spec)
        with pytest.raises(MissingDependencyError, match="ROM of pong can't be read") as caught:
            Pool("Pong-v5")
        assert str(tmp_path) in str(caught.value)
        assert "pip install 'parallel_pool[atari]'" in str(caught.value)
        (tmp_path / "roms").mkdir()
        (tmp_path / "roms" / "pong.bin").write_bytes(b"not a ROM")
        damaged = "pong in .* is damaged: it has 9 bytes, as no cartridge has: pip install --force"
        with pytest.raises(MissingDependencyError, match=damaged):
            Pool("Pong-v5")
