"""PoolVecEnv over native environments returns what DummyVecEnv returns."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecCheckNan,
    VecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import StateError
from tests.support.interrupts import Interrupter
from tests.support.same import assert_same, leaves
from tests.support.sampling import sampled, thinned
from tests.support.sb3_cases import (
    CLASSIC,
    MUJOCO,
    assert_same_reset,
    assert_same_step,
    made,
    make_actions,
    pair,
)

pytestmark = pytest.mark.usefixtures("own_folder", "quiet_gymnasium")

# ---------------------------------------------------------------------------------------- parity --


@dataclass(frozen=True)
class Case:
    """What to make and how to run it; `reset` are reset options."""

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reset: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 2000
    num_envs: int = 3

    def __str__(self) -> str:
        parts = {**self.kwargs, **self.reset}
        return "-".join([self.id, *(f"{name}={value}" for name, value in parts.items())])


CASES = [
    *(Case(id) for id in CLASSIC),
    # with a short time limit episodes end in all environments at once
    *(Case(id, {"max_episode_steps": 7}, steps=60) for id in CLASSIC),
    Case("CartPole-v1", {"max_episode_steps": 1}, steps=30),
    Case("CartPole-v1", {"max_episode_steps": -1}, steps=300),
    Case("CartPole-v1", {"sutton_barto_reward": True}, {"low": -0.2, "high": 0.1}, steps=300),
    Case("CartPole-v1", num_envs=1, steps=300),
    Case("CartPole-v1", {"max_episode_steps": 9}, num_envs=16, steps=300),
    Case("Pendulum-v1", {"g": 9.81}, {"x_init": 1.0, "y_init": 0.5}, steps=450),
    Case("Hopper-v5"),
    Case("Walker2d-v4"),
    Case("HalfCheetah-v5", steps=1100, num_envs=2),
    Case("InvertedPendulum-v5", num_envs=2),
    *(Case(id, {"max_episode_steps": 13}, steps=80, num_envs=2) for id in MUJOCO),
    Case("Ant-v5", {"include_cfrc_ext_in_observation": False}, steps=200, num_envs=2),
    Case("Humanoid-v5", {"healthy_reward": 2.5}, steps=200, num_envs=2),
]
QUICK = [
    *(case for case in CASES if case.id in CLASSIC and case.steps < 2000),
    *(Case("CartPole-v1"), Case("Ant-v5", {"max_episode_steps": 13}, steps=80, num_envs=2)),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, QUICK), ids=str)
def test_a_run_is_the_same(case: Case) -> None:
    with pair(case.id, case.num_envs, **case.kwargs) as (theirs, ours):
        for env in (theirs, ours):
            assert env.seed(11) == [11 + i for i in range(case.num_envs)]
            env.set_options(dict(case.reset))
        assert_same_reset(ours, theirs, "reset")
        ends = 0
        for step, actions in enumerate(
            make_actions(theirs.action_space, case.num_envs, case.steps)
        ):
            ends += assert_same_step(ours, theirs, actions, f"step {step}")[2].sum()
            if step == case.steps // 2:
                # seeds and options were used up
                assert_same_reset(ours, theirs, "reset without a seed")
    if case.kwargs.get("max_episode_steps", 10**6) < case.steps or "Pole" in case.id:
        assert ends > case.num_envs


@pytest.mark.parametrize("seed", [0, 123, 2**31, 2**40, None])
def test_seeds_are_the_same(seed: int | None) -> None:
    with pair("Acrobot-v1", 3) as (theirs, ours):
        for env in (theirs, ours):
            np.random.seed(4)  # noqa: NPY002 (VecEnv.seed draws from it where it is given None)
            seeds = env.seed(seed)
            assert len(set(seeds)) == 3
        assert_same_reset(ours, theirs, "first")
        assert ours.get_attr("np_random_seed") == theirs.get_attr("np_random_seed") == seeds
        assert_same_reset(ours, theirs, "second")


def test_the_constructors_seed_is_that_of_make_vec_env() -> None:
    theirs = make_vec_env("Pendulum-v1", 3, seed=5)
    ours = PoolVecEnv("Pendulum-v1", 3, seed=5)
    assert_same_reset(ours, theirs, "reset")
    assert_same(ours.action_space.sample(), theirs.action_space.sample(), "action")


def test_without_a_seed_no_two_runs_are_the_same() -> None:
    first = [PoolVecEnv("CartPole-v1", 2).reset() for _ in range(2)]
    assert len({row.tobytes() for each in first for row in each}) == 4


def test_each_environment_gets_its_own_options() -> None:
    with pair("MountainCar-v0", 4) as (theirs, ours):
        own = [{"low": -0.5, "high": -0.4}, {}, {"high": -0.3}, {"low": -0.5, "high": -0.4}]
        for round in range(3):
            for env in (theirs, ours):
                env.seed(round)
                env.set_options(own)
            assert_same_reset(ours, theirs, f"reset {round}")
            assert_same_reset(ours, theirs, f"reset {round} without")
        for env in (theirs, ours):
            env.set_options([{"low": -0.5, "high": -0.4}] * 4)
        assert_same_reset(ours, theirs, "list of one dict")


def test_wrong_options_are_named() -> None:
    with made("CartPole-v1", 2) as env:
        env.set_options({"colour": 3})
        with pytest.raises(TypeError, match="no option colour"):
            env.reset()
        # nothing was reset: a step is refused
        with pytest.raises(ResetNeeded):
            env.step([0, 0])


@pytest.mark.parametrize("env", ["CartPole-v1", [CartPoleEnv] * 3], ids=["native", "process"])
def test_misuse_raises_and_changes_nothing(env: Any) -> None:
    """Errors give cause, value and cure; earlier seeds and options stay."""
    size = {"n_envs": 3} if isinstance(env, str) else {"num_workers": 1}
    twin = PoolVecEnv("CartPole-v1", 3)
    with made(env, **size) as env:
        for each in (env, twin):
            each.seed(5)
            each.set_options({"low": -0.2, "high": 0.2})
        for call, error, message in [
            (
                lambda: env.seed([1, 2, 3]),
                TypeError,
                r"seed=\[1, 2, 3\] is a list: give one integer",
            ),
            (lambda: env.seed(np.arange(3)), TypeError, "is an ndarray: give one integer"),
            (lambda: env.seed("a"), TypeError, "seed='a' is a str: give an integer"),
            (lambda: env.seed(1.5), TypeError, "seed=1.5 is a float: give an integer"),
            (lambda: env.seed(True), TypeError, "seed=True is a bool: give an integer"),
            (lambda: env.seed(-2), ValueError, "seed=-2: choose 0 or more"),
            (lambda: env.set_options(3), TypeError, "options=3 is an int: give a dict, or a list"),
            (lambda: env.set_options("abc"), TypeError, "options='abc' is a str: give a dict"),
            (lambda: env.set_options([{}]), ValueError, "options for 1 of 3 environments: give"),
            (lambda: env.set_options([{}, 1, {}]), TypeError, r"options\[1\]=1 is an int: give a"),
            (lambda: env.get_attr("spec", 3), IndexError, "indices=3: choose 0 to 2, a list of"),
            (lambda: env.get_attr("spec", [-4]), IndexError, r"indices=\[-4\]: choose 0 to 2"),
            (lambda: env.env_method("render", indices="a"), TypeError, "indices='a': choose 0 to"),
            (lambda: env.env_method("render", indices=1.0), TypeError, "indices=1.0: choose 0 to"),
            (lambda: env.set_attr("x", 1, [[0]]), TypeError, r"indices=\[\[0\]\]: choose 0 to 2"),
            (lambda: env.get_attr("spec", [True, False, True]), TypeError, "choose 0 to 2, a list"),
            (lambda: env.env_is_wrapped("Monitor"), TypeError, "give a class, such as Monitor"),
        ]:
            with pytest.raises(error, match=message):
                call()
        assert len(env.get_attr("metadata", np.int64(1))) == 1
        assert_same(env.reset(), twin.reset(), "nothing changed")
        with pytest.raises(StateError, match="send first") as caught:
            env.step_wait()
        assert caught.value.__notes__ == ["No step is in flight: call step_async(actions) first."]
        twin.close()


def test_the_constructor_refuses_wrong_seeds() -> None:
    for seed, error in (([1, 2], TypeError), (-1, ValueError), ("x", TypeError)):
        with pytest.raises(error, match="seed="):
            PoolVecEnv("CartPole-v1", 2, seed=seed)  # type: ignore[arg-type]
    with made("CartPole-v1", 2, seed=np.int64(3)) as env:
        assert env.reset().shape == (2, 4)


# ------------------------------------------------------------------------ infos and observations --

LAMPS = r"""
#include "pp_env.h"

typedef struct lamps { int64_t count, total, start; } lamps;

static const pp_field fields[] = {
    {.name = "light", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .low = 0, .high = 99},
    {.name = "count", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 12},
    {.name = "total", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
    {.name = "start", .is_info = true, .when = PP_ON_RESET, .dtype = PP_FLOAT64},
    {.name = "last", .is_info = true, .when = PP_ON_STEP, .dtype = PP_FLOAT32, .ndim = 1,
     .shape = {3}},
    {.name = "odd", .is_info = true, .when = PP_ON_STEP, .dtype = PP_BOOL},
};

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  lamps *it = env->state;
  it->start = it->count = it->total % 3;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  lamps *it = env->state;
  int64_t more = *(const int64_t *)action;
  it->count += more;
  it->total += more;
  result->reward[0] = 0.1 * (double)more;
  result->terminated = it->count >= 7;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const lamps *it = env->state;
  (void)is_reset;
  float *light = rows[0], *last = rows[4];
  if (light) light[0] = (float)it->count / 2, light[1] = (float)it->start;
  if (rows[1]) *(int64_t *)rows[1] = it->count;
  if (rows[2]) *(int64_t *)rows[2] = it->total;
  if (rows[3]) *(double *)rows[3] = (double)it->start;
  for (int i = 0; last && i < 3; i++) last[i] = (float)(it->count + i);
  if (rows[5]) *(uint8_t *)rows[5] = it->count % 2 == 1;
  return PP_OK;
}

const pp_env_def pp_env_lamps = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "Lamps-v0",
    .family = "mine",
    .reference = "none",
    .max_episode_steps = 9,
    .state_size = sizeof(lamps),
    .num_fields = 6,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .reset = reset,
    .step = step,
    .observe = observe,
};
"""


class Lamps(gymnasium.Env[Any, Any]):
    """The same environment in Python."""

    observation_space = Dict({"light": Box(0, 99, (2,), np.float32), "count": Discrete(12)})
    action_space = Discrete(3)

    # how often an episode terminated at the step that was its last by the time limit
    coincidences = 0

    def __init__(self) -> None:
        self.total = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.start = self.count = self.total % 3
        self.steps = 0
        return self._look(), {"total": self.total, "start": np.float64(self.start)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += int(action)
        self.total += int(action)
        self.steps += 1
        last = np.arange(self.count, self.count + 3, dtype=np.float32)
        infos = {"total": self.total, "last": last, "odd": self.count % 2 == 1}
        terminated, truncated = self.count >= 7, self.steps >= 9
        Lamps.coincidences += terminated and truncated
        return self._look(), 0.1 * action, terminated, truncated, infos

    def _look(self) -> dict[str, Any]:
        light = np.array([self.count / 2, self.start], np.float32)
        return {"light": light, "count": np.int64(self.count)}


@pytest.fixture
def lamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes Lamps-v0 known for one test."""
    source, library = tmp_path / "lamps.c", tmp_path / "lamps.so"
    source.write_text(LAMPS)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    include = f"-I{parallel_pool.get_include()}"
    subprocess.run([*compiler, *flags, include, str(source), "-o", str(library)], check=True)
    monkeypatch.setattr(registry, "loaded_by_id", {})
    registry.load(library, "pp_env_lamps")


@pytest.mark.slow
@pytest.mark.usefixtures("lamps")
def test_infos_of_every_kind_and_dict_observations_are_the_same() -> None:
    """Infos of every row, of resets only, of steps only; numbers, bools and arrays."""
    theirs: VecEnv = DummyVecEnv([Lamps] * 5)
    ours = PoolVecEnv("Lamps-v0", 5)
    assert ours.observation_space == theirs.observation_space
    assert_same_reset(ours, theirs, "reset")
    ways, before = set(), Lamps.coincidences
    for step, actions in enumerate(make_actions(theirs.action_space, 5, 400)):
        _, _, dones, infos = assert_same_step(ours, theirs, actions, f"step {step}")
        ways |= {infos[i]["TimeLimit.truncated"] for i in np.flatnonzero(dones)}
        if step % 90 == 89:
            assert_same_reset(ours, theirs, f"reset at {step}")
    assert ways == {True, False} and Lamps.coincidences > before


@pytest.mark.usefixtures("lamps")
def test_results_are_the_callers_own() -> None:
    """Results that are kept do not change, and writing to them changes no later result."""
    with made("Lamps-v0", 4) as env, made("Lamps-v0", 4) as twin:
        kept = [(env.reset(), *[None] * 3)]
        wanted = [(twin.reset(), *[None] * 3)]
        twin.action_space.seed(3)
        for actions in make_actions(twin.action_space, 4, 60):
            kept.append(env.step(actions))
            wanted.append(copied(twin.step(actions)))
        for i, (found, expected) in enumerate(zip(kept, wanted, strict=True)):
            assert_same(found, expected, f"result {i}")
        # a kept info must not keep the whole result alive
        assert all(array.base is None for each in kept for array in leaves(each[3]))
        arrays = list(leaves(kept))
        owners = [array for array in arrays if array.size]
        for i, one in enumerate(owners):
            assert not any(np.shares_memory(one, other) for other in owners[i + 1 : i + 40])
        for array in arrays:
            array[...] = 1
        actions = np.ones(4, np.int64)
        for _ in range(20):
            assert_same(env.step(actions), twin.step(actions), "after writing")


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copied(each) for each in value)
    return value.copy() if isinstance(value, np.ndarray) else value


def test_actions_may_be_changed_while_a_step_is_in_flight() -> None:
    with pair("Pendulum-v1", 3) as (theirs, ours):
        theirs.seed(2)
        ours.seed(2)
        assert_same_reset(ours, theirs, "reset")
        actions = np.ones((3, 1), np.float32)
        ours.step_async(actions)
        actions[:] = -1
        assert_same(ours.step_wait(), theirs.step(np.ones((3, 1), np.float32)), "step")


# -------------------------------------------------------------------------------------- pictures --


@pytest.mark.slow
@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1"])
def test_pictures_are_the_same(id: str) -> None:
    with pair(id, 3, render_mode="rgb_array", max_episode_steps=2) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(9)
            env.reset()
        assert_same(ours.get_images(), theirs.get_images(), "after reset")
        for step, actions in enumerate(make_actions(theirs.action_space, 3, 5)):
            assert_same_step(ours, theirs, actions, f"step {step}")
            assert_same(ours.get_images(), theirs.get_images(), f"images of {step}")
        assert_same(ours.render(), theirs.render(), "tiles")
        assert_same(ours.render("rgb_array"), theirs.render("rgb_array"), "tiles by name")
        assert_same_reset(ours, theirs, "reset again")
        assert_same(ours.get_images(), theirs.get_images(), "after another reset")
        found, expected = (env.env_method("render", indices=[2, 0]) for env in (ours, theirs))
        assert_same(found, expected, "by method")


def test_pictures_before_a_reset_are_refused() -> None:
    with (
        made("CartPole-v1", 1, render_mode="rgb_array") as env,
        pytest.raises(ResetNeeded, match="a picture before reset"),
    ):
        env.get_images()


def test_without_a_render_mode_there_are_warnings(cartpoles: PoolVecEnv) -> None:
    cartpoles.reset()
    with pytest.warns(UserWarning, match="render_mode=None"):
        assert cartpoles.get_images() == [None] * 3
    with pytest.warns(UserWarning, match="no `render_mode`"):
        assert cartpoles.render() is None
    assert cartpoles.env_method("render") == [None] * 3


# -------------------------------------------------------------------------------------- wrappers --

WRAPPERS: dict[str, Callable[[VecEnv], VecEnv]] = {
    "VecMonitor": VecMonitor,
    "VecNormalize": VecNormalize,
    "VecFrameStack": lambda env: VecFrameStack(env, 3),
    "VecCheckNan": lambda env: VecCheckNan(env, raise_exception=True),
    "all": lambda env: VecNormalize(VecFrameStack(VecCheckNan(VecMonitor(env)), 2)),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1", "Hopper-v5"])
@pytest.mark.parametrize("name", thinned(WRAPPERS, 2))
def test_wrappers_return_the_same_as_around_dummy_vec_env(name: str, id: str) -> None:
    with pair(id, 3, max_episode_steps=40) as both:
        theirs, ours = (WRAPPERS[name](env) for env in both)
        for env in (theirs, ours):
            env.seed(1)
        assert_same_reset(ours, theirs, "reset")
        episodes = 0
        for step, actions in enumerate(make_actions(theirs.action_space, 3, 100)):
            expected, found = theirs.step(actions), ours.step(actions)
            for info in (*expected[3], *found[3]):
                episodes += "episode" in info
                # the time of day
                info.get("episode", {}).pop("t", None)
            assert_same(found, expected, f"step {step}")
        assert bool(episodes) == (name in ("VecMonitor", "all"))


def test_evaluate_policy_accepts_it() -> None:
    class Left:
        def predict(self, observations: Any, **kwargs: Any) -> tuple[Any, None]:
            return np.zeros(len(observations), int), None

    with pair("CartPole-v1", 2) as both:
        results = []
        for env in both:
            env.seed(3)
            results.append(evaluate_policy(Left(), env, 6, return_episode_rewards=True, warn=False))
        assert results[0] == results[1]
        with pytest.warns(UserWarning, match="Monitor"):
            evaluate_policy(Left(), both[1], 2)


def test_ctrl_c_in_step_wait_loses_nothing() -> None:
    options: dict[str, Any] = {"max_episode_steps": 2, "num_threads": 1}
    ours, twin = (PoolVecEnv("CartPole-v1", 2, seed=1, **options) for _ in range(2))
    actions = np.array([0, 1])
    assert_same(ours.reset(), twin.reset(), "reset")
    calm = place = 0
    # steps that end episodes, and those that do not, have other places
    while calm < 4:
        place += 1
        for turn in range(2):
            ours.step_async(actions)
            try:
                result = Interrupter(place).run(ours.step_wait)
                calm += 1
            except KeyboardInterrupt:
                result, calm = ours.step_wait(), 0
            assert_same(result, twin.step(actions), f"place {place}, turn {turn}")
            assert_same(ours.reset_infos, twin.reset_infos, f"infos, place {place}, turn {turn}")
    assert place > 20
    ours.close()
    twin.close()
