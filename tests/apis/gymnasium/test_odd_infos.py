"""Infos and observations that an environment changes after it returned them, or that contain
themselves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool._workers.data import info_copies
from parallel_pool.errors import EnvError
from tests.support.same import assert_same

WORKERS = [0, 1, 2]
# an array, for which workers step all their environments in one go
NOTHING = np.zeros(2, np.int64)


class Reusing(gymnasium.Env[Any, Any]):
    """Returns the same array and the same dict again and again; an episode has three steps."""

    observation_space: ClassVar[Any] = spaces.Box(0, 999, (1,))
    action_space: ClassVar[Any] = spaces.Discrete(2)

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.seen = np.zeros(1, np.float32)
        self.info: dict[str, Any] = {"n": 0, "at": np.zeros(2), "part": {"n": 0, "at": np.zeros(1)}}

    def show(self, number: int) -> tuple[Any, dict[str, Any]]:
        self.seen[:] = number
        self.info["n"] = self.info["part"]["n"] = number
        self.info["at"][:] = self.info["part"]["at"][:] = number
        return self.seen, self.info

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.steps = self.start
        return self.show(100)

    def step(self, action: Any) -> Any:
        self.steps += 1
        observation, info = self.show(self.steps)
        return observation, 1.0, self.steps % 3 == 0, False, info


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", WORKERS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_infos_of_a_dict_that_is_used_again(mode: AutoresetMode, num_workers: int) -> None:
    env_fns = [partial(Reusing, i % 2) for i in range(4)]
    theirs = SyncVectorEnv(env_fns, autoreset_mode=mode)
    ours = parallel_pool.PoolVectorEnv(env_fns, num_workers=num_workers, autoreset_mode=mode)
    try:
        assert_same(ours.reset(), theirs.reset(), "reset")
        for step in range(7):
            actual, expected = (envs.step(np.zeros(4, np.int64)) for envs in (ours, theirs))
            # Gymnasium's last observations are those of the reset, if an environment writes to them
            finals = actual[4].pop("final_obs", None), expected[4].pop("final_obs", None)
            assert_same(actual, expected, f"step {step}")
            if finals[0] is not None:
                shown = [None if final is None else final.tolist() for final in finals[0]]
                ended = expected[4]["_final_obs"].tolist()
                assert shown == [[3.0] if end else None for end in ended]
    finally:
        ours.close()
        theirs.close()


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", WORKERS)
def test_a_vec_env_has_the_infos_of_the_last_step(num_workers: int) -> None:
    """DummyVecEnv returns those of the reset, because it keeps the dict and not its values."""
    envs = parallel_pool.PoolVecEnv([Reusing] * 2, num_workers=num_workers)
    envs.reset()
    for _ in range(3):
        _, _, dones, infos = envs.step(np.zeros(2, np.int64))
    assert dones.all()
    for info, of_reset in zip(infos, envs.reset_infos, strict=True):
        assert info["n"] == info["part"]["n"] == 3 and of_reset["n"] == 100
        assert info["at"].tolist() == [3, 3] and info["part"]["at"].tolist() == [3]
        assert info["terminal_observation"].tolist() == [3]
    envs.close()


# ------------------------------------------------------------------------- infos without an end --


def cycle() -> dict[str, Any]:
    info: dict[str, Any] = {}
    info["self"] = info
    return info


def cycle_of_lists() -> dict[str, Any]:
    values: list[Any] = []
    values.append([values])
    return {"list": values}


def deep() -> dict[str, Any]:
    info: dict[str, Any] = {}
    for _ in range(5000):
        info = {"part": info}
    return info


class Tells(gymnasium.Env[Any, Any]):
    """Returns what a function makes as the infos of its second step, which ends the episode."""

    observation_space: ClassVar[Any] = spaces.Box(0, 1, (1,))
    action_space: ClassVar[Any] = spaces.Discrete(2)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        ends = self.steps == 2
        return np.zeros(1, np.float32), 1.0, ends, False, self.make() if ends else {}


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", WORKERS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(
    ("make", "place"),
    [
        (cycle, r"info\['self'\]\['self'\]\['self'\]\.\.\. contains itself"),
        (cycle_of_lists, r"info\['list'\]\[0\]\[0\]\.\.\. contains itself"),
        (deep, r"info\['part'\].* more than 100 levels"),
    ],
)
def test_infos_without_an_end(make: Any, place: str, mode: AutoresetMode, num_workers: int) -> None:
    envs = parallel_pool.PoolVectorEnv(
        [partial(Tells, dict), partial(Tells, make)], num_workers=num_workers, autoreset_mode=mode
    )
    envs.reset()
    envs.step(NOTHING)
    with pytest.raises(ValueError, match=place) as caught:
        envs.step(NOTHING)
    error = caught.value.__cause__
    assert isinstance(error, EnvError) and error.env_ids == (1,)
    # it begins a new episode
    assert envs.step(NOTHING)[1][1] == 0.0 or mode is AutoresetMode.SAME_STEP
    envs.close()


class Incomparable:
    """A key that no dict can look up."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("can't be compared")

    def __hash__(self) -> int:
        return 1


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", WORKERS)
def test_keys_that_can_not_be_compared(num_workers: int) -> None:
    """Such keys end no worker."""
    make = partial(Tells, lambda: {Incomparable(): 1})
    envs = parallel_pool.PoolVectorEnv([make] * 2, num_workers=num_workers)
    envs.reset()
    envs.step(NOTHING)
    with pytest.raises(RuntimeError, match="can't be compared"):
        envs.step(NOTHING)
    envs.reset()
    assert envs.step(NOTHING)[1].tolist() == [1, 1]
    envs.close()


# --------------------------------------------------------------------------------------- copies --


class Pair(NamedTuple):
    first: Any
    second: Any


def test_copies_share_nothing_that_changes() -> None:
    leaf, shared = object(), [1]
    value = {
        "array": np.arange(2),
        "pair": Pair(np.zeros(1), [np.ones(1)]),
        "ordered": OrderedDict(a=shared),
        "tuple": (shared, leaf),
    }
    copy = info_copies.copied(value)
    assert_same(copy["array"], value["array"], "array")
    assert copy["array"] is not value["array"]
    assert type(copy["pair"]) is Pair and copy["pair"].second[0] is not value["pair"].second[0]
    assert type(copy["ordered"]) is OrderedDict
    assert copy["tuple"][0] is copy["ordered"]["a"] is not shared
    assert copy["tuple"][1] is leaf


def test_depth_is_measured_without_walking_what_occurs_twice() -> None:
    """A list that holds another twice, and so on, has 2^80 paths."""
    value: list[Any] = []
    for _ in range(80):
        value = [value, value]
    info_copies.check_depth(value)
    assert len(info_copies.copied(value)) == 2
