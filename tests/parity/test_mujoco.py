"""MuJoCo tasks equal Gymnasium's, array by array and bit by bit, with all kinds of resets."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._families import mujoco as family
from tests.support.pairs import pair
from tests.support.same import assert_same
from tests.support.sampling import MUJOCO_TASKS, sampled, thinned

pytestmark = [pytest.mark.proven("csrc/envs/mujoco"), pytest.mark.usefixtures("own_folder")]

TASKS = [found for found in registry.builtin().values() if found.family == "mujoco"]
IDS = [task.id for task in TASKS if task.reference.startswith("gymnasium")]
# EnvPool's other ids of v4 tasks; Gymnasium refuses all of them with MuJoCo 3 and newer
ALIASES = [task.id for task in TASKS if task.id not in IDS]

# besides the default mode, which all other tests use
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]
SEEDS = [0, 2**31, 2**63 + 5, 123]

# for each Gymnasium option a value that changes the results
OTHERS: Mapping[str, Any] = {
    "frame_skip": 3,
    "forward_reward_weight": 1.7,
    "ctrl_cost_weight": 0.37,
    "contact_cost_weight": 2e-3,
    "contact_cost_range": (0.01, 0.5),
    "contact_force_range": (-0.3, 0.7),
    "healthy_reward": 0.3,
    "healthy_z_range": (0.3, 0.9),
    "healthy_angle_range": (-0.11, 0.13),
    "healthy_state_range": (-2.0, 1.5),
    "impact_cost_weight": 3e-4,
    "impact_cost_range": (0.01, 2.0),
    "uph_cost_weight": 0.7,
    "main_body": "front_left_leg",
    "terminate_when_unhealthy": False,
    "reset_noise_scale": 0.03,
    "exclude_current_positions_from_observation": False,
    "include_cinert_in_observation": False,
    "include_cvel_in_observation": False,
    "include_qfrc_actuator_in_observation": False,
    "include_cfrc_ext_in_observation": False,
    "use_contact_forces": True,
    "reward_near_weight": 0.8,
    "reward_dist_weight": 1.3,
    "reward_control_weight": 0.21,
}
# other values, where those would end every episode at its first step or no episode
OWN_OTHERS: Mapping[str, Mapping[str, Any]] = {
    "Hopper": {"healthy_z_range": (1.1, math.inf)},
    "Walker2d": {"healthy_z_range": (1.1, 1.9)},
    "Humanoid": {"healthy_z_range": (1.2, 1.7)},
}
# options of pictures, which these tests do not cover
VIEW = {"default_camera_config", "kwargs", "self"}


def options_of(env: str) -> dict[str, inspect.Parameter]:
    """Returns the options of Gymnasium's constructor."""
    spec = gymnasium.spec(env)
    assert isinstance(spec.entry_point, str)
    maker = gymnasium.envs.registration.load_env_creator(spec.entry_point)
    parameters = inspect.signature(maker.__init__).parameters  # type: ignore[misc]
    return {name: it for name, it in parameters.items() if name not in VIEW}


def other(env: str, option: str) -> Any:
    return OWN_OTHERS.get(env.partition("-")[0], {}).get(option, OTHERS[option])


def run(
    theirs: VectorEnv,
    ours: VectorEnv,
    steps: int,
    mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    reset_at: int = 40,
) -> int:
    """Steps both with the same actions, some of them beyond their bounds, and compares the results.

    After step `reset_at` both are reset without a seed. Returns how many episodes ended.
    """
    assert ours.observation_space == theirs.observation_space
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.action_space
    space = theirs.action_space
    space.seed(5)
    ends = 0
    seeds = SEEDS[: theirs.num_envs]
    assert_same(ours.reset(seed=seeds), theirs.reset(seed=seeds), "reset")
    for step in range(steps):
        action = space.sample() * np.float32(1.6 if step % 9 == 0 else 1)
        expected = theirs.step(action)
        assert_same(ours.step(action), expected, f"step {step}")
        ended = expected[2] | expected[3]
        ends += int(ended.sum())
        if step == reset_at:
            assert_same(ours.reset(), theirs.reset(), "reset without a seed")
        elif mode is AutoresetMode.DISABLED and ended.any():
            options = [{"reset_mask": ended.copy()} for _ in range(2)]
            again = theirs.reset(options=options[0])
            assert_same(ours.reset(options=options[1]), again, f"reset at {step}")
    return ends


# ------------------------------------------------------------------------------------- results --


@pytest.mark.slow
@pytest.mark.parametrize("env", IDS)
def test_long_runs_are_the_same(env: str) -> None:
    count = 2
    with pair(env, count) as (theirs, ours):
        ends = run(theirs, ours, 1100)
    # each environment ends at least once, by the time limit of 1000 steps or by itself
    assert ends >= count


@pytest.mark.quick(3)
@pytest.mark.parametrize("env", thinned(IDS, 2))
def test_short_runs_are_the_same(env: str) -> None:
    with pair(env, 2, max_episode_steps=23) as (theirs, ours):
        assert run(theirs, ours, 80) >= 4


# tasks whose resets add noise of any size
NOISY = [env for env in IDS if "reset_noise_scale" in options_of(env)]


@pytest.mark.quick(1)
@pytest.mark.parametrize("scale", [1.0, 5.0])
@pytest.mark.parametrize("env", thinned(NOISY, 2))
def test_bodies_that_begin_inside_of_each_other_are_the_same(env: str, scale: float) -> None:
    """Many contacts in one step, and states that MuJoCo resets itself."""
    with pair(env, 2, max_episode_steps=9, reset_noise_scale=scale) as (theirs, ours):
        assert run(theirs, ours, 80) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("env", IDS)
def test_autoreset_modes_are_the_same(env: str, mode: AutoresetMode) -> None:
    vector_kwargs = {"autoreset_mode": mode}
    with pair(env, 2, max_episode_steps=30, vector_kwargs=vector_kwargs) as (theirs, ours):
        assert run(theirs, ours, 100, mode) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_autoreset_of_ants_that_fall(mode: AutoresetMode) -> None:
    vector_kwargs = {"autoreset_mode": mode}
    options = {"healthy_z_range": (0.45, 0.8), "reset_noise_scale": 0.2}
    with pair("Ant-v5", 4, vector_kwargs=vector_kwargs, **options) as (theirs, ours):
        assert run(theirs, ours, 250, mode) >= 8


# ------------------------------------------------------------------------------------- options --


@pytest.mark.parametrize("env", IDS)
def test_every_option_exists_with_its_default(env: str) -> None:
    own = registry.find(env).options
    for name, parameter in options_of(env).items():
        assert name == "xml_file" or name in OTHERS, f"{name}: another value of it is missing here"
        ends = family.RANGES.get(name, (name,))
        values = parameter.default if name in family.RANGES else (parameter.default,)
        assert tuple(own[end].default for end in ends) == tuple(values), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "option"),
    [(env, option) for env in IDS for option in options_of(env) if option in OTHERS],
)
def test_each_option_is_the_same(env: str, option: str) -> None:
    with pair(env, 2, max_episode_steps=30, **{option: other(env, option)}) as (theirs, ours):
        assert run(theirs, ours, 70) >= 2


@pytest.mark.quick(1)
@pytest.mark.parametrize("env", sampled(IDS, MUJOCO_TASKS))
def test_all_options_at_once_are_the_same(env: str) -> None:
    options = {name: other(env, name) for name in options_of(env) if name in OTHERS}
    with pair(env, 2, max_episode_steps=30, **options) as (theirs, ours):
        run(theirs, ours, 70)


@pytest.mark.slow
@pytest.mark.parametrize(
    "env", sampled([env for env in IDS if "xml_file" in options_of(env)], MUJOCO_TASKS)
)
def test_a_users_own_model_is_the_same(env: str, own_folder: Path) -> None:
    """With another gravity and, if Gymnasium computes the size of observations, one more body."""
    default = registry.find(env).options["xml_file"].default
    text = (family.assets() / str(default)).read_text()
    text = text.replace("</mujoco>", '<option gravity="0.1 0 -8.5"/></mujoco>')
    if env.endswith("v5"):
        body = '<body pos="5 5 0.3"><geom type="sphere" size="0.2"/></body>'
        text = text.replace("</worldbody>", f"{body}</worldbody>")
    path = own_folder / "mine.xml"
    path.write_text(text)
    with pair(env, 2, max_episode_steps=40, xml_file=str(path)) as (theirs, ours):
        run(theirs, ours, 100)


def parts_of(env: str, **options: Any) -> list[str]:
    """Returns the parts of a state that C copies itself."""
    link = str(registry.fill_options(registry.find(env), options)["_link"])
    return [line for line in link.splitlines() if line.startswith("part") and "_size" in line]


def test_a_state_with_parts_of_another_kind_is_copied_by_mujoco(own_folder: Path) -> None:
    assert parts_of("Hopper-v5") == ["part0_size=1", *(f"part{i}_size=6" for i in (1, 2, 3))]
    text = (family.assets() / "hopper.xml").read_text()
    path = own_folder / "more.xml"
    path.write_text(text.replace("</mujoco>", '<size nuserdata="3"/></mujoco>'))
    assert parts_of("Hopper-v5", xml_file=str(path)) == []
    with pair("Hopper-v5", 2, max_episode_steps=40, xml_file=str(path)) as (theirs, ours):
        run(theirs, ours, 100)


# --------------------------------------------------------------------------------- definitions --


@pytest.mark.parametrize("env", IDS)
def test_definitions_are_the_same(env: str) -> None:
    definition, reference = registry.find(env), gymnasium.spec(env)
    assert definition.tolerance == 0
    assert definition.max_episode_steps == reference.max_episode_steps
    assert definition.reward_threshold == reference.reward_threshold


def test_all_gymnasium_tasks_exist() -> None:
    """Gymnasium refuses Pusher-v4, and all v2 and v3."""
    made = {
        spec.id
        for spec in gymnasium.registry.values()
        if "envs.mujoco" in str(spec.entry_point) and spec.id.endswith(("-v4", "-v5"))
    }
    assert set(IDS) == made - {"Pusher-v4"}
    assert len(IDS) == 21


@pytest.mark.quick(2)
@pytest.mark.parametrize("env", ALIASES)
def test_ids_of_envpool_alone_run_the_v4_code(env: str) -> None:
    name = env.partition("-")[0] + "-v4"
    options = {
        option.name: option.default
        for option in registry.find(name).options.values()
        if not option.is_hidden
    }
    assert registry.find(env).reference.startswith("none")
    pools = [Pool(each, 2, seed=3, options=options) for each in (env, name)]
    assert [column.name for column in pools[0].columns] == [c.name for c in pools[1].columns]
    rng = np.random.default_rng(0)
    for _ in range(40):
        action = rng.uniform(-1, 1, (2, *pools[0].spec.action.shape)).astype(np.float32)
        ours, theirs = (pool.step(action) for pool in pools)
        assert_same(list(ours), list(theirs), env)
