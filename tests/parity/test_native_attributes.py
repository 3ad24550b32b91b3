"""Attributes of native environments equal SyncVectorEnv's, for every id that has a reference."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Space

import parallel_pool
from parallel_pool._apis.common import ale_ids, env_specs
from parallel_pool._apis.common.assignments import Assignments
from parallel_pool._apis.common.reference_env import ReferenceEnv
from parallel_pool._engine import registry
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = [pytest.mark.proven("csrc/envs"), pytest.mark.usefixtures("own_folder")]

# enough steps for episodes to end in classic control, and for robots to fall
STEPS = 60
# ids that Gymnasium lists and can't make with this mujoco
UNMADE = {
    each
    for each, found in registry.definitions().items()
    if each in gymnasium.registry and found.family == "mujoco" and each.endswith(("-v2", "-v3"))
} | {"Pusher-v4"}
ALE = ("ALE/Pong-v5", "ALE/Tetris-v5", "PongNoFrameskip-v4")
IDS = [
    *(
        each.id
        for each in registry.definitions().values()
        if each.id in gymnasium.registry
        and each.family in ("box2d", "classic_control", "mujoco", "toy_text")
        and each.id not in UNMADE
    ),
    *ALE,
]
# Python objects, and attributes that the vector environment itself has
OTHER = {"unwrapped", "np_random", "spec", "metadata"}
# attributes that steps change, or that only Python environments have
CHANGES = {
    *("state", "steps_beyond_terminated", "last_u"),
    *("data", "model", "mujoco_renderer", "goal", "contact_cost", "contact_forces"),
    *("is_healthy", "healthy_reward", "terminated", "ale"),
    *("world", "moon", "lander", "legs", "drawlist", "sky_polys", "game_over", "prev_shaping"),
    *("wind_idx", "torque_idx"),
    *("hull", "joints", "lidar", "scroll", "fd_edge", "fd_polygon"),
    *("terrain", "terrain_x", "terrain_y", "terrain_poly", "cloud_poly"),
    # resets assign them, although always the same
    *("helipad_x1", "helipad_x2", "helipad_y", "particles", "lidar_render"),
    *("s", "lastaction", "fickle_step", "taxi_orientation"),
    *("player", "dealer", "dealer_top_card_suit", "dealer_top_card_value_str"),
}


def public(env: Any) -> list[str]:
    names = [name for name in dir(env) if not name.startswith("_")]
    return [name for name in names if hasattr(env, name) and not callable(getattr(env, name))]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "task_id",
    sampled(IDS, {"CartPole-v1", "Pendulum-v1", "Ant-v5", "Reacher-v4"}),
)
def test_attributes_are_those_of_sync(task_id: str) -> None:
    """Public attributes have the same value and type at all times, or the error names the cure."""
    if task_id in ALE:
        ale_ids.register(task_id)
    theirs = gymnasium.make_vec(task_id, 2, vectorization_mode="sync")
    ours = parallel_pool.make_vec(task_id, 2)
    rng = np.random.default_rng(1)
    theirs.action_space.seed(1)
    read, refused = set(), set()
    try:
        for step in range(STEPS):
            if step == 0 or rng.random() < 0.02:
                seed = int(rng.integers(99))
                theirs.reset(seed=seed), ours.reset(seed=seed)
            action = theirs.action_space.sample()
            theirs.step(action), ours.step(action)
            if step % 20 != 19:
                continue
            for name in set(public(theirs.envs[0].unwrapped)) - OTHER:
                try:
                    actual = ours.get_attr(name)
                except AttributeError as error:
                    assert 'backend="process"' in str(error), name
                    assert 'vectorization_mode="sync"' in str(error), name
                    refused.add(name)
                    continue
                expected = theirs.get_attr(name)
                assert list(map(type, actual)) == list(map(type, expected)), name
                if isinstance(expected[0], Space):
                    assert actual == expected, name
                else:
                    assert_same(actual, expected, name)
                read.add(name)
    finally:
        theirs.close(), ours.close()
    # resets of this task write to these attributes
    own = {"init_qpos", "cylinder_pos", "goal_pos"} if task_id == "Pusher-v5" else set()
    assert refused <= CHANGES | own
    assert not read & (CHANGES | own)
    assert read


@pytest.mark.slow
@pytest.mark.parametrize(
    "task_id", sampled(IDS, {"CartPole-v1", "FrozenLake-v1", "LunarLander-v3", "Hopper-v5"})
)
def test_constants_are_the_same_in_a_thousand_steps(task_id: str) -> None:
    """What is served as a constant is so on the reference, in 20 episodes or more."""
    if task_id in ALE:
        ale_ids.register(task_id)
    ours = parallel_pool.make_vec(task_id, 1)
    spec = env_specs.registered_reference(ours.pool.definition)
    assert spec is not None
    reference = ReferenceEnv(spec, spec.kwargs, draws=False, pool=ours.pool)
    constants = {name: ours.get_attr(name)[0] for name in reference.values()}
    theirs = gymnasium.make(task_id, disable_env_checker=True)
    theirs.action_space.seed(7)
    ended = True
    for step in range(1000):
        if ended or step % 50 == 0:
            theirs.reset(seed=1000 + step)
        *_, terminated, truncated, _ = theirs.step(theirs.action_space.sample())
        ended = terminated or truncated
        if not (ended or step % 10 == 0):
            continue
        for name, value in constants.items():
            actual = getattr(theirs.unwrapped, name)
            assert type(actual) is type(value), name
            same = (
                np.array_equal(actual, value) if isinstance(value, np.ndarray) else actual == value
            )
            assert same, name
    assert constants
    ours.close(), theirs.close()


def test_states_are_no_constants() -> None:
    """In the first episodes of some seeds a step leads back to the state before."""
    ours = parallel_pool.make_vec("FrozenLake-v1", 2)
    for name in ("s", "lastaction"):
        with pytest.raises(AttributeError, match='backend="process"'):
            ours.get_attr(name)
    assert ours.get_attr("P")[0][0][0][0][0] == pytest.approx(1 / 3)
    assert ours.get_attr("nrow") == (4, 4)
    ours.close()


def shift(values: list[int]) -> None:
    values.append(0)


class Sly:
    """Changes its attributes rarely, and by detours."""

    render_mode = None
    kept, kept_list, read_list = 1, [1], [1]
    enumerated, displayed = [[1]], [1]
    rare, counted, appended, aliased, nested, passed, stored = 0, 0, [1], [1], {"a": [1]}, [1], [1]
    from_property, unpacked = 0, ([1], 2)
    drawn = 0

    @property
    def surprise(self) -> int:
        self.from_property = 1
        return 0

    def _help(self, values: list[int]) -> None:
        values[0] = 2

    def reset(self) -> None:
        self.copied = self.kept_list.copy()

    def step(self) -> int:
        if self.kept > 10:
            self.rare = 1
            self.counted += 1
            self.appended.append(2)
            alias = self.aliased
            alias[0] = 3
            for part in self.nested.values():
                part.append(2)
            inner, _ = self.unpacked
            inner += [1]
            for _, one in enumerate(self.enumerated):
                one.append(2)
            first, _ = self.displayed, 0
            first.append(2)
            shift(self.passed)
            self._help(values=self.stored)
            if self.render_mode is not None:
                self.drawn = 1
        return self.surprise + self.read_list[0] + len(self.read_list)


class Dynamic(Sly):
    def step(self) -> int:
        setattr(self, "kept", 2)  # noqa: B010
        return 0


def test_all_ways_to_change_an_attribute_are_found() -> None:
    names = {name for name in vars(Sly) if not name.startswith("_")}
    plain = {name for name in names if not callable(getattr(Sly, name)) and name != "surprise"}
    found = Assignments(Sly, ("reset", "step"), draws=False)
    constant = {name for name in plain if not found.may_change(name, getattr(Sly, name))}
    assert constant == {"render_mode", "kept", "kept_list", "read_list", "drawn"}
    assert Assignments(Sly, ("step",), draws=True).may_change("drawn", 0)
    assert Assignments(Dynamic, ("step",), draws=False).may_change("kept", 1)


def test_code_without_source_may_change_everything() -> None:
    space: dict[str, Any] = {}
    exec("def step(self): self.hidden = 1", space)
    kind = type("NoSource", (), {"step": space["step"]})
    assert Assignments(kind, ("step",), draws=False).may_change("any", 1)


def test_without_a_reference_only_options_are_attributes() -> None:
    """Gymnasium can't make Pusher-v4."""
    ours = parallel_pool.make_vec("Pusher-v4", 2)
    assert ours.get_attr("frame_skip") == (5, 5)
    with pytest.raises(AttributeError, match='backend="process"'):
        ours.get_attr("init_qpos")
    ours.close()


def test_mutable_attributes_are_copies() -> None:
    ours = parallel_pool.make_vec("MountainCar-v0", 2)
    first, second = ours.get_attr("low")
    first[:] = 9
    assert (second != 9).all()
    assert (ours.get_attr("low")[0] != 9).all()
    ours.close()


def test_given_options_are_attributes() -> None:
    ours = parallel_pool.make_vec("Pendulum-v1", 2, g=3.5)
    assert ours.get_attr("g") == (3.5, 3.5)
    ours.close()
    ours = parallel_pool.make_vec("Ant-v5", 1, frame_skip=2, width=64)
    assert ours.get_attr("frame_skip") == (2,)
    assert ours.get_attr("dt") == (0.02,)
    assert ours.get_attr("width") == (64,)
    ours.close()


def test_attributes_of_windows_are_refused_if_there_is_a_render_mode() -> None:
    ours = parallel_pool.make_vec("CartPole-v1", 1, render_mode="rgb_array")
    with pytest.raises(AttributeError, match='backend="process"'):
        ours.get_attr("screen")
    assert ours.get_attr("gravity") == (9.8,)
    ours.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["get_action_meanings", "get_keys_to_action"])
def test_ales_methods(name: str) -> None:
    ale_ids.register("ALE/Pong-v5")
    theirs = gymnasium.make_vec("ALE/Pong-v5", 2, vectorization_mode="sync")
    ours = parallel_pool.make_vec("ALE/Pong-v5", 2)
    assert ours.call(name) == theirs.call(name)
    theirs.close(), ours.close()


def test_set_attr_names_the_cure() -> None:
    ours = parallel_pool.make_vec("CartPole-v1", 2)
    for name in ("gravity", "nonsense"):
        with pytest.raises(AttributeError, match=rf'{name}=20.*backend="process".*"sync"'):
            ours.set_attr(name, 20)
    assert ours.get_attr("gravity") == (9.8, 9.8)
    ours.close()
