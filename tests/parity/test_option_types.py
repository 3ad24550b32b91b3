"""Options keep the caller's type, as NumPy computes with it: np.float64(0.3) is not 0.3.

A sweep gives NumPy's numbers (np.linspace, Generator.uniform), and NumPy 2 computes a float32
action times such a float64 in float64, but times a Python float in float32. Every option of every
native id with a reference gets a value of every type. Native environments then equal the reference
bit by bit, infos and their dtypes included, or refuse the value with an error that names the cure.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import Pool, each, each_reset
from parallel_pool._apis.common import attribute_options
from parallel_pool._engine import registry
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = [pytest.mark.proven("csrc/envs"), pytest.mark.usefixtures("own_folder")]

TYPES: Mapping[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "array": np.array,
    "bool_": np.bool_,
}
INTEGERS = {"int", "int32", "int64", "uint8"}
BOOLS = {"bool", "bool_"}

# A value that floats do not hold exactly, and one for integers. A tuple is one value of the option.
VALUES: Mapping[str, tuple[Any, Any]] = {
    "frame_skip": (3, 3),
    "forward_reward_weight": (1.7, 2),
    "ctrl_cost_weight": (0.37, 2),
    "contact_cost_weight": (2.1e-3, 1),
    "contact_cost_range": ((0.01, 0.53), (0, 1)),
    "contact_force_range": ((-0.3, 0.7), (0, 1)),
    "healthy_reward": (0.3, 2),
    "healthy_z_range": ((0.31, 1.27), (0, 2)),
    "healthy_angle_range": ((-0.11, 0.13), (0, 1)),
    "healthy_state_range": ((-2.3, 1.5), (0, 100)),
    "impact_cost_weight": (3.1e-4, 1),
    "impact_cost_range": ((0.01, 2.3), (0, 2)),
    "uph_cost_weight": (0.7, 2),
    "main_body": (2, 2),
    "reset_noise_scale": (0.03, 0),
    "reward_near_weight": (0.8, 2),
    "reward_dist_weight": (1.3, 2),
    "reward_control_weight": (0.21, 2),
    "g": (9.81, 9),
    "gravity": (-9.81, -9),
    "wind_power": (15.3, 15),
    "turbulence_power": (1.37, 1),
    "goal_velocity": (0.07, 0),
    "success_rate": (0.71, 1),
    "reward_schedule": ((1.1, -0.3, 0.01), (2, 0, 0)),
    "rainy_probability": (0.83, 1),
    "fickle_probability": (0.61, 1),
}
# what must be set for an option to have an effect
ALSO: Mapping[str, Mapping[str, Any]] = {
    "wind_power": {"enable_wind": True},
    "turbulence_power": {"enable_wind": True},
    "rainy_probability": {"is_rainy": True},
    "fickle_probability": {"fickle_passenger": True},
    "contact_cost_weight": {},
}
FAMILIES = ("box2d", "classic_control", "mujoco", "toy_text")
# types that native environments may refuse, with the cure
REFUSED: Mapping[str, set[str]] = {
    "healthy_reward": {"float16", "uint8"},
    "reset_noise_scale": {"uint8"},
    "success_rate": {"float16", "int32", "uint8"},
    "rainy_probability": {"float16", "float32", *INTEGERS},
    "fickle_probability": {"float16"},
}
# options that are integers
WHOLE = {"frame_skip", "main_body"}
# options that are no numbers
OTHERS = {"self", "render_mode", "kwargs", "xml_file", "default_camera_config", "desc", "map_name"}


def constructor_options(task_id: str) -> Mapping[str, inspect.Parameter]:
    spec = gymnasium.spec(task_id)
    assert isinstance(spec.entry_point, str)
    creator = gymnasium.envs.registration.load_env_creator(spec.entry_point)
    return inspect.signature(creator.__init__).parameters  # type: ignore[misc]


def value_of(name: str, default: Any, kind: str) -> Any:
    """Returns a value of a type, None if the option has no value of that type that makes sense."""
    make = TYPES[kind]
    if isinstance(default, bool):
        return make(not default)
    if kind in BOOLS:
        return make(True)
    value = VALUES[name][kind in INTEGERS]
    if kind == "uint8" and np.any(np.less(value, 0)):
        value = abs(value)
    return tuple(map(make, value)) if isinstance(value, tuple) else make(value)


def cases() -> list[tuple[str, str, str]]:
    found = []
    for task_id, definition in registry.definitions().items():
        if definition.family not in FAMILIES or not definition.reference.startswith("gymnasium"):
            continue
        for name in constructor_options(task_id):
            if name not in OTHERS:
                found += [(task_id, name, kind) for kind in TYPES]
    return found


def play(env: Any, actions: list[Any]) -> list[Any]:
    results = [env.reset(seed=[3, 4])]
    for step, action in enumerate(actions):
        if step == 25:
            results.append(env.reset())
        results.append(env.step(action))
    return results


@functools.cache
def action_space(task_id: str, options: frozenset[tuple[str, bool]]) -> Any:
    """Returns the action space of two environments."""
    with closing(
        gymnasium.make_vec(task_id, 2, vectorization_mode="sync", **dict(options))
    ) as envs:
        return envs.action_space


def compare(task_id: str, options: Mapping[str, Any], steps: int = 30, dtype: Any = None) -> str:
    """Returns "same", "both refused", "refused: ..." or "native only: ..." with the other's error;
    fails if results differ."""
    own = {"max_episode_steps": 9, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = action_space(task_id, frozenset(without_number(options).items()))
        space.seed(5)
        actions = [space.sample() for _ in range(steps)]
        if dtype is not None:
            # -1 as uint64 is 2^64 - 1, which no native environment takes as an action
            unsigned = dtype.kind == "u"
            actions = [(abs(each) if unsigned else each).astype(dtype) for each in actions]
        theirs = ours = None
        try:
            theirs = gymnasium.make_vec(task_id, 2, vectorization_mode="sync", **own)
            expected: Any = play(theirs, actions)
        except Exception as error:
            expected = error
        try:
            ours = parallel_pool.make_vec(task_id, 2, backend="native", **own)
            actual: Any = play(ours, actions)
        except (TypeError, ValueError) as error:
            actual = error
        for env in (theirs, ours):
            if env is not None:
                env.close()
    if isinstance(actual, Exception):
        return "both refused" if isinstance(expected, Exception) else f"refused: {actual}"
    if isinstance(expected, Exception):
        return f"native only: {expected!r}"
    assert_same(actual, expected, task_id)
    return "same"


def without_number(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that change the action space."""
    of_space = ("continuous", "full_action_space")
    return {name: bool(options[name]) for name in options if name in of_space}


def may_refuse(name: str, default: Any, kind: str) -> bool:
    """Returns whether native environments may refuse a value that the reference accepts."""
    if isinstance(default, bool):
        return kind not in BOOLS
    if kind in BOOLS or kind == "array" or kind in REFUSED.get(name, ()):
        return True
    return isinstance(default, int) and name in WHOLE and kind not in INTEGERS


@pytest.mark.quick(1)
@pytest.mark.parametrize(("task_id", "name", "kind"), thinned(cases(), 29))
def test_options_of_all_types(task_id: str, name: str, kind: str) -> None:
    default = constructor_options(task_id)[name].default
    outcome = compare(task_id, {name: value_of(name, default, kind), **ALSO.get(name, {})})
    assert outcome in ("same", "both refused") or may_refuse(name, default, kind), outcome
    assert not outcome.startswith("refused") or "give " in outcome


ACTION_WEIGHTS = [
    ("HalfCheetah-v5", "ctrl_cost_weight"),
    ("Ant-v4", "ctrl_cost_weight"),
    ("Reacher-v5", "reward_control_weight"),
    ("Pusher-v5", "reward_control_weight"),
]
NUMBERS = [kind for kind in TYPES if kind not in BOOLS and kind != "array"]
ACTIONS = ["float16", "float64", "int8", "int32", "uint16", "uint64"]


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("weight", "kind", "dtype"),
    thinned([(w, k, a) for w in ACTION_WEIGHTS for k in NUMBERS for a in ACTIONS], 13),
)
def test_weights_and_actions_promote_each_other(
    weight: tuple[str, str], kind: str, dtype: str
) -> None:
    task_id, name = weight
    assert compare(task_id, {name: value_of(name, 1.0, kind)}, 12, np.dtype(dtype)) == "same"


@pytest.mark.quick(6)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("varied", [("g",), ("m",), ("l",), ("g", "m", "l")])
def test_pendulums_physics(varied: tuple[str, ...], dtype: str, kind: str) -> None:
    values = {"g": 9.81, "m": 1.37, "l": 0.71}
    compare_physics("Pendulum-v1", values, varied, kind, np.dtype(dtype))


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    "varied", [("masspole",), ("masscart",), ("length", "masspole"), ("gravity", "tau")]
)
def test_cart_poles_physics(varied: tuple[str, ...], kind: str) -> None:
    values = {"masspole": 0.13, "masscart": 1.71, "length": 0.53, "gravity": 9.81, "tau": 0.021}
    compare_physics("CartPole-v1", values, varied, kind, None)


def compare_physics(
    task_id: str, values: Mapping[str, float], varied: tuple[str, ...], kind: str, dtype: Any
) -> None:
    """Compares environments with values of a type for attributes of attribute_options.NAMES."""
    make = TYPES[kind]
    options = {
        name: make(max(1, round(values[name])) if kind in INTEGERS else values[name])
        for name in varied
    }
    taken, attributes = attribute_options.split(registry.find(task_id), options)
    theirs = gymnasium.make_vec(task_id, 2, vectorization_mode="sync", **taken)
    ours = parallel_pool.make_vec(task_id, 2, backend="native", **options)
    for env in theirs.envs:
        attribute_options.apply(env.unwrapped, attributes)
    theirs.action_space.seed(5)
    actions = [theirs.action_space.sample() for _ in range(40)]
    actions = actions if dtype is None else [action.astype(dtype) for action in actions]
    assert_same(play(ours, actions), play(theirs, actions), str(options))
    theirs.close(), ours.close()


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_goal_velocity_is_compared_in_its_type(kind: str) -> None:
    """A goal a little above a float32 velocity rounds to it, unless it is a float64."""
    options = {"low": 0.4, "high": 0.4}
    env = gymnasium.make("MountainCarContinuous-v0")
    env.reset(seed=0, options=options)
    terminated = False
    while not terminated:
        obs, _, terminated, *_ = env.step(np.ones(1, np.float32))
    goal = TYPES[kind](0 if kind in INTEGERS else float(obs[1]) + 1e-10)
    theirs = gymnasium.make("MountainCarContinuous-v0", goal_velocity=goal)
    ours = parallel_pool.make_vec("MountainCarContinuous-v0", 1, goal_velocity=goal)
    theirs.reset(seed=0, options=options), ours.reset(seed=0, options=options)
    ends = []
    for _ in range(60):
        expected = bool(theirs.step(np.ones(1, np.float32))[2])
        assert ours.step(np.ones((1, 1), np.float32))[2].tolist() == [expected]
        ends.append(expected)
        if expected:
            break
    assert any(ends)
    env.close(), theirs.close(), ours.close()


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    ("task_id", "names"), [("CartPole-v1", "low high"), ("Pendulum-v1", "x_init y_init")]
)
def test_reset_options_are_converted(task_id: str, names: str, kind: str) -> None:
    """Gymnasium makes Python floats of them."""
    low, high = names.split()
    options = {low: TYPES[kind](0 if kind in INTEGERS else 0.013), high: TYPES[kind](1)}
    theirs = gymnasium.make_vec(task_id, 2, vectorization_mode="sync")
    ours = parallel_pool.make_vec(task_id, 2, backend="native")
    assert_same(ours.reset(seed=3, options=options), theirs.reset(seed=3, options=options), task_id)
    theirs.close(), ours.close()


# ------------------------------------------------------------------------- values that differ --


def rewards(weight: Any) -> Any:
    env = parallel_pool.make_vec("HalfCheetah-v5", 3, backend="native", ctrl_cost_weight=weight)
    env.reset(seed=1)
    env.action_space.seed(1)
    found = [env.step(env.action_space.sample()) for _ in range(5)]
    env.close()
    return [(step[1], step[4]["reward_ctrl"]) for step in found]


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32, float, int])
def test_each_keeps_the_type(kind: Any) -> None:
    """A value in each([...]), a drawn choice, and an array's element are as if given alone."""
    weight = kind(2) / kind(5) if kind not in (int, np.int32) else kind(2)
    alone = rewards(weight)
    assert_same(rewards(each([weight] * 3)), alone, "each")
    assert_same(rewards(each_reset([weight])), alone, "each_reset")
    if isinstance(weight, np.generic):
        assert_same(rewards(each(np.full(3, weight))), alone, "array")


def test_drawn_numbers_are_python_floats() -> None:
    for kind in (float, np.float64, np.float32):
        weight = kind(0.5)
        assert_same(rewards(each_reset(weight, weight)), rewards(0.5), kind.__name__)
    assert_same(rewards(each_reset(2, 2)), rewards(2.0), "int")


def test_pythons_numbers_may_be_mixed_and_are_floats() -> None:
    mixed = Pool("Ant-v5", 2, options={"healthy_reward": each([1, 0.5])})
    assert {field.name: field.dtype for field in mixed.spec.fields}["reward_survive"] == np.float64
    assert mixed.option_values()["healthy_reward"].tolist() == [1, 0.5]
    mixed.close()


def test_mixed_types_are_refused() -> None:
    mixed = each([0.1, np.float64(0.1)])
    with pytest.raises(TypeError, match=r"holds float and float64.*give values of one type"):
        Pool("HalfCheetah-v5", 2, options={"ctrl_cost_weight": mixed})
    # where the type does not matter they may be mixed
    Pool("HalfCheetah-v5", 2, options={"forward_reward_weight": mixed}).close()


# ------------------------------------------------------------------------------------ refusals --


@pytest.mark.sanitizers
def test_types_in_which_c_does_not_compute_go_to_worker_processes() -> None:
    """The first time with a warning; asked for native environments, the error names the cure."""
    value = np.longdouble("0.3")
    with pytest.warns(UserWarning, match=r"g=.* is a longdouble.*: give float\(g\)"):
        env = parallel_pool.make_vec("Pendulum-v1", 1, g=value)
    assert env.backend == "process"
    sync = gymnasium.make_vec("Pendulum-v1", 1, vectorization_mode="sync", g=value)
    sync.action_space.seed(0)
    actions = [sync.action_space.sample() for _ in range(5)]
    expected = [sync.reset(seed=0), *map(sync.step, actions)]
    assert_same([env.reset(seed=0), *map(env.step, actions)], expected, "longdouble")
    env.close(), sync.close()
    with pytest.raises(TypeError, match=r"is a longdouble.*: give float\(g\)"):
        parallel_pool.make_vec("Pendulum-v1", 1, backend="native", g=value)


def test_integers_that_are_not_exact_as_floats_are_refused() -> None:
    with pytest.raises(TypeError, match=r"give float\(g\)"):
        Pool("Pendulum-v1", options={"g": 2**53 + 1})
    Pool("Pendulum-v1", options={"g": float(2**53 + 2)}).close()


# ----------------------------------------------------------------------------------- snapshots --


def test_snapshots_know_types_that_matter() -> None:
    def pool(**options: Any) -> Pool:
        made = Pool("HalfCheetah-v5", 1, options=options)
        made.reset()
        return made

    plain, same = pool(ctrl_cost_weight=0.5), pool(ctrl_cost_weight=0.5)
    wide = pool(ctrl_cost_weight=np.float64(0.5))
    same.set_state(plain.get_state())
    with pytest.raises(ValueError, match="options"):
        wide.set_state(plain.get_state())
    other = pool(ctrl_cost_weight=0.5, forward_reward_weight=np.float64(1.0))
    other.set_state(plain.get_state())
    for each_pool in (plain, same, wide, other):
        each_pool.close()
