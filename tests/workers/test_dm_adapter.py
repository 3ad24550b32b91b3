"""dm_env environments given as Python environments: spaces, steps, seeds, and their mistakes."""

from __future__ import annotations

import copy
import random
import warnings
from collections import OrderedDict
from contextlib import closing
from functools import partial
from typing import Any

import dm_env
import gymnasium
import numpy as np
import pytest
from dm_env import specs
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool import PoolVectorEnv, ProcessPool, make_dm
from parallel_pool._workers.run.generators import seed_generators
from parallel_pool.compat.dm_env import DMEnvAdapter
from parallel_pool.compat.gymnasium import ProcessVectorEnv
from parallel_pool.errors import EnvError
from tests.support.dm_envs import Fixed, Moody, Pair, Vector, Walk, Wrapper
from tests.support.same import assert_same

pytestmark = pytest.mark.usefixtures("alarm")

ONES = np.ones(2)

# ---------------------------------------------------------------------------------------- spaces --


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        (specs.DiscreteArray(4), spaces.Discrete(4, dtype=np.int32)),
        (specs.DiscreteArray(4, np.uint8), spaces.Discrete(4, dtype=np.uint8)),
        (
            specs.BoundedArray((2,), np.float32, -1, [2, 3]),
            spaces.Box(np.float32([-1, -1]), np.float32([2, 3])),
        ),
        (specs.BoundedArray((), np.int64, 0, 4), spaces.Box(0, 4, (), np.int64)),
        (specs.Array((3, 1), np.float64), spaces.Box(-np.inf, np.inf, (3, 1), np.float64)),
        (specs.Array((1,), np.uint64), spaces.Box(0, 2**64 - 1, (1,), np.uint64)),
        (specs.Array((1,), np.int8), spaces.Box(-128, 127, (1,), np.int8)),
        (specs.Array((), bool), spaces.Box(0, 1, (), np.bool_)),
    ],
    ids=str,
)
def test_spaces_of_arrays(spec: Any, space: Any) -> None:
    found = DMEnvAdapter(Fixed(observation_spec=spec, action_spec=spec))
    assert found.observation_space == found.action_space == space
    assert found.observation_space.dtype == spec.dtype


def test_spaces_of_trees() -> None:
    space: Any = DMEnvAdapter(Walk()).observation_space
    # not sorted
    assert list(space) == ["walk", "clock", "parts", "pair"]
    assert isinstance(space["parts"], spaces.Tuple) and isinstance(space["parts"][1], spaces.Tuple)
    assert list(space["pair"]) == ["left", "right"]
    assert (
        space["pair"]["right"]["deep"]
        == DMEnvAdapter(Fixed(observation_spec=specs.Array((3,), np.int64))).observation_space
    )


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("observation_spec", {"a": [specs.StringArray(())]}, r"observation_spec\(\)\['a'\]\[0\]"),
        ("observation_spec", specs.Array((2,), np.complex64), "complex64"),
        ("action_spec", specs.Array((2,), object), r"action_spec\(\) is Array"),
        ("action_spec", None, "NoneType, None: give a dm_env.specs.Array"),
        ("observation_spec", spaces.Discrete(2), "give a dm_env.specs.Array"),
        ("reward_spec", [specs.Array((), float)] * 2, r"reward_spec\(\).* one number per step"),
        ("reward_spec", specs.Array((2,), float), r"reward_spec\(\).* one number per step"),
        ("discount_spec", {"a": specs.Array((), float)}, r"discount_spec\(\).* one number"),
    ],
)
def test_specs_without_a_space_are_refused(name: str, spec: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        DMEnvAdapter(Fixed(**{name: spec}))


# ----------------------------------------------------------------------------------------- steps --


def test_gymnasiums_own_check() -> None:
    with warnings.catch_warnings():
        # of unbounded spaces
        warnings.simplefilter("ignore")
        check_env(DMEnvAdapter(Walk()), skip_render_check=True)
        check_env(DMEnvAdapter(Vector()), skip_render_check=True)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (dm_env.transition(1.5, ONES), (1.5, False, False, {"discount": 1.0})),
        (dm_env.transition(1, ONES, 0.0), (1.0, False, False, {"discount": 0.0})),
        (dm_env.termination(np.float32(2), ONES), (2.0, True, False, {"discount": 0.0})),
        (dm_env.truncation(np.ones(1), ONES), (1.0, False, True, {"discount": 1.0})),
        (dm_env.truncation(3.0, ONES, np.float32(0.5)), (3.0, False, True, {"discount": 0.5})),
        (dm_env.TimeStep(dm_env.StepType.MID, None, None, ONES), (0.0, False, False, {})),
        (dm_env.restart(ONES), (0.0, False, False, {})),
    ],
)
def test_time_steps(step: Any, expected: Any) -> None:
    result = DMEnvAdapter(Fixed(step)).step(0)
    assert result[0] is ONES
    assert_same(result[1:], expected, "step")


@pytest.mark.parametrize(
    ("step", "error", "words"),
    [
        (None, TypeError, "NoneType, None: return a dm_env.TimeStep"),
        ((1, 2, 3), TypeError, "return a dm_env.TimeStep"),
        (dm_env.transition([1, 2], ONES), TypeError, "as reward: give one number"),
        (dm_env.transition(1, ONES, "1"), TypeError, "as discount: give one number"),
        (dm_env.TimeStep(np.array([1]), 1, 1, ONES), TypeError, "of one environment"),
        (dm_env.TimeStep(dm_env.StepType.LAST, 1, None, ONES), ValueError, "discount None"),
    ],
)
def test_wrong_time_steps(step: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        DMEnvAdapter(Fixed(step)).step(0)


def test_wrong_resets() -> None:
    with pytest.raises(ValueError, match="return one of type FIRST"):
        DMEnvAdapter(Fixed(reset=dm_env.transition(1, ONES))).reset()
    with pytest.raises(TypeError, match=r"return a dm_env\.TimeStep"):
        DMEnvAdapter(Fixed(reset=ONES)).reset()
    # a pool of ours that is given by mistake
    with make_dm("CartPole-v1") as pool, pytest.raises(TypeError, match="of one environment"):
        DMEnvAdapter(pool).reset()
    env = DMEnvAdapter(Walk())
    env.reset(options={})
    env.step(ONES)
    with pytest.raises(TypeError, match="has no options"):
        env.reset(options={"a": 1})
    assert len(env.actions) == 1


def test_wrong_observations() -> None:
    spec = OrderedDict(a=specs.Array((), float), b=specs.Array((), float))
    for wrong in ({"a": 1.0}, 1.0):
        with pytest.raises(ValueError, match=r"lacks a part of observation_spec\(\)"):
            DMEnvAdapter(Fixed(reset=dm_env.restart(wrong), observation_spec=spec)).reset()


TREE = OrderedDict(
    go=specs.DiscreteArray(3, np.int16),
    push=Pair(specs.BoundedArray((2,), np.float32, -1, 1), [specs.Array((), bool)]),
    turn=(specs.Array((1,), np.int8),),
)


def test_actions_have_the_structure_of_their_spec() -> None:
    class Keeps(Fixed):
        def step(self, action: Any) -> Any:
            self.action = action
            return dm_env.transition(0.0, ONES)

    env = DMEnvAdapter(Keeps(action_spec=TREE))
    env.action_space.seed(0)
    given = env.action_space.sample()
    env.step(given)
    taken = env.dm_env.action
    assert type(taken) is OrderedDict and type(taken["push"]) is Pair
    assert type(taken["push"].right) is list and type(taken["turn"]) is tuple
    assert type(taken["go"]) is np.int16 and taken["go"] == given["go"]
    assert taken["push"].left is given["push"]["left"]
    # what casts without loss
    env.step({"go": 2, "push": {"left": [1, 0], "right": (True,)}, "turn": (np.array([5]),)})
    taken = env.dm_env.action
    assert type(taken["go"]) is np.int16 and taken["push"].left.dtype == np.float32
    assert taken["turn"][0].dtype == np.int8


@pytest.mark.parametrize(
    ("part", "error", "words"),
    [
        ({"go": 0.5}, TypeError, r"action_spec\(\)\['go'\] needs int16"),
        ({"go": 2**20}, ValueError, "too large for"),
        ({"go": [1]}, ValueError, r"of shape \(1,\): action_spec\(\)\['go'\] needs \(\)"),
        ({"push": {"left": ONES}}, ValueError, r"lacks a part of action_spec\(\)\['push'\]"),
        ({"turn": ["a"]}, TypeError, "needs int8"),
    ],
)
def test_wrong_actions(part: Any, error: type[Exception], words: str) -> None:
    env = DMEnvAdapter(Fixed(dm_env.transition(0.0, ONES), action_spec=TREE))
    if part == {"turn": ["a"]}:
        part = {"turn": [np.array(["a"])]}
    action = {**env.action_space.sample(), **part}
    with pytest.raises(error, match=words):
        env.step(action)


# ----------------------------------------------------------------------------------------- seeds --


def episode(env: Any, seed: int | None) -> list[Any]:
    observation, _ = env.reset(seed=seed)
    results: list[Any] = [observation]
    for _ in range(4):
        results.append(env.step(env.action_space.high if env.action_space.shape else 1))
    return results


@pytest.mark.parametrize("kind", [Walk, Vector, lambda: Wrapper(Wrapper(Walk()))])
@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**32, 2**63 - 1])
def test_the_same_seed_gives_the_same_episode(kind: Any, seed: int) -> None:
    one, other = DMEnvAdapter(kind()), DMEnvAdapter(kind())
    one.reset()
    assert_same(episode(one, seed), episode(other, seed), "other environment")
    assert_same(episode(one, seed), episode(other, seed), "again")
    assert_same(episode(one, None), episode(other, None), "next")
    assert repr(episode(one, seed)) != repr(episode(one, seed - 1 if seed else 1))


def test_a_seed_is_that_of_the_constructor() -> None:
    env, plain = DMEnvAdapter(Vector()), Vector(random=5)
    observation, _ = env.reset(seed=5)
    assert (observation == plain.reset().observation).all()


def test_generators_get_states_of_their_own() -> None:
    class Holder:
        def __init__(self) -> None:
            self.python = random.Random()
            self.legacy = np.random.RandomState()
            self.new = np.random.default_rng()
            self.again = self.new
            # not MT19937: RandomState can't seed it
            self.other = np.random.RandomState(np.random.PCG64())
            # a cycle
            self.env = self

    holder = Holder()
    assert seed_generators(holder, 4) == 3
    first = holder.python.random(), holder.legacy.uniform(), holder.new.uniform()
    assert first[0] == random.Random(4).random()
    # as made with the seed
    others = np.random.RandomState(4).uniform(), np.random.default_rng(4).uniform()
    assert len({*first, *others}) == 5
    assert seed_generators(holder, 4) == 3
    assert first == (holder.python.random(), holder.legacy.uniform(), holder.new.uniform())


def test_generators_of_gymnasium_environments_inside() -> None:
    class Around:
        def __init__(self) -> None:
            self.environment = gymnasium.make("CartPole-v1")

    around = Around()
    assert seed_generators(around, 3) == 1
    expected, _ = gymnasium.make("CartPole-v1").reset(seed=3)
    assert (around.environment.reset()[0] == expected).all()


def test_resets_with_arguments_of_their_own() -> None:
    class Own(Vector):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            self.given = seed, options
            return super().reset()

    env = DMEnvAdapter(Own())
    env.reset(seed=3, options={"a": 1})
    assert env.given == (3, {"a": 1})
    # a native environment
    single = DMEnvAdapter(make_dm("CartPole-v1", batched=False))
    expected, _ = gymnasium.make("CartPole-v1").reset(seed=3)
    assert (single.reset(seed=3)[0] == expected).all()


def test_a_seed_without_effect_warns_once() -> None:
    env = DMEnvAdapter(Fixed(dm_env.transition(1.0, ONES)))
    env.reset()
    with pytest.warns(UserWarning, match="seed=3 has no effect: Fixed has no"):
        env.reset(seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset(seed=3)


# ------------------------------------------------------------------------------------ attributes --


def test_attributes_are_those_of_the_environment() -> None:
    env = DMEnvAdapter(Walk())
    assert env.level == 1
    env.level = 3
    assert env.dm_env.level == 3
    env.set_wrapper_attr("level", 4)
    assert env.dm_env.level == env.get_wrapper_attr("level") == 4
    env.render_mode = "ansi"
    env.other = 1
    assert not hasattr(env.dm_env, "render_mode") and not hasattr(env.dm_env, "other")
    for name in ("colour", "_random"):
        with pytest.raises(AttributeError):
            getattr(env, name)
    again = copy.deepcopy(env)
    assert again.level == 4 and again.dm_env is not env.dm_env
    env.close()
    assert env.is_closed and not again.is_closed


# --------------------------------------------------------------------------------------- workers --


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Walk, Vector])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_same_in_workers_as_in_a_sync_vector_env(kind: Any, mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv([lambda: DMEnvAdapter(kind())] * 4, autoreset_mode=mode)
    ours = PoolVectorEnv([kind] * 4, num_workers=2, autoreset_mode=mode, backend="process")
    with closing(ours):
        assert isinstance(ours, ProcessVectorEnv)
        assert ours.single_action_space == theirs.single_action_space
        assert_same(ours.reset(seed=2), theirs.reset(seed=2), "reset")
        theirs.action_space.seed(1)
        ends = np.zeros(2, int)
        for step in range(60):
            actions = theirs.action_space.sample()
            result = theirs.step(actions)
            assert_same(ours.step(actions), result, f"step {step}")
            ends += result[2].sum(), result[3].sum()
        assert ends.min() > 5
        # 1.0, 0.9, 0.5 and 0.0
        assert "discount" in result[4] or "final_info" in result[4]
        assert_same(ours.call("level"), (1,) * 4, "attribute")


@pytest.mark.slow
def test_the_same_in_workers_as_in_a_dm_loop() -> None:
    plain = [Vector(random=3 + i) for i in range(4)]
    with closing(ProcessVectorEnv([Vector] * 4, num_workers=2)) as envs:
        observations, infos = envs.reset(seed=3)
        expected = [env.reset() for env in plain]
        assert not infos
        rng = np.random.default_rng(0)
        for _ in range(300):
            assert_same(observations, np.array([step.observation for step in expected]), "obs")
            actions = rng.integers(3, size=4).astype(np.int32)
            observations, rewards, terminated, truncated, infos = envs.step(actions)
            expected = [env.step(action) for env, action in zip(plain, actions, strict=True)]
            discounts = [np.nan if step.first() else step.discount for step in expected]
            lasts = [step.last() for step in expected]
            assert rewards.tolist() == [step.reward or 0.0 for step in expected]
            ends = [last and not discount for last, discount in zip(lasts, discounts, strict=True)]
            assert terminated.tolist() == ends
            assert (terminated | truncated).tolist() == lasts
            if "discount" in infos:
                has = infos["_discount"]
                assert has.tolist() == [not step.first() for step in expected]
                assert (infos["discount"][has] == np.array(discounts)[has]).all()


def test_asynchronous() -> None:
    with ProcessPool([Vector] * 4, num_workers=2, batch_size=2) as pool:
        pool.send_reset(seed=0)
        plain = [Vector(random=i) for i in range(4)]
        expected = [env.reset() for env in plain]
        for step in range(100):
            batch = pool.recv()
            actions = [(step + i) % 3 for i in batch.env_id]
            for row, i in enumerate(batch.env_id):
                assert (batch.obs[row] == expected[i].observation).all()
                assert batch.reward[row] == (expected[i].reward or 0.0)
                expected[i] = plain[i].step(actions[row])
            pool.send(actions, batch.env_id)


def test_failures_and_restarts(capfd: pytest.CaptureFixture[str]) -> None:
    with closing(PoolVectorEnv([Moody] * 2, num_workers=1)) as envs:
        envs.reset(seed=0)
        with pytest.raises(ArithmeticError, match="no 2") as caught:
            envs.step([0, 2])
        assert isinstance(caught.value.__cause__, EnvError)
        assert caught.value.__cause__.env_ids == (1,)
        envs.step([0, 0])
    with closing(PoolVectorEnv([Moody] * 2, num_workers=1, on_error="restart")) as envs:
        envs.reset(seed=0)
        *_, truncated, infos = envs.step([0, 2])
        assert truncated[1] and infos["worker_restarted"].tolist() == [False, True]
        for _ in range(3):
            envs.step([0, 0])
    # a restart's seed has 63 bits
    assert "no effect" not in capfd.readouterr().err


@pytest.mark.slow
def test_wrong_environments_in_workers() -> None:
    with pytest.raises(TypeError, match=r"observation_spec.* is StringArray"):
        PoolVectorEnv([Vector, partial(Fixed, observation_spec=specs.StringArray(()))])
    wrong = partial(Fixed, None)
    with closing(PoolVectorEnv([wrong], num_workers=1)) as envs:
        envs.reset()
        with pytest.raises(TypeError, match=r"return a dm_env\.TimeStep"):
            envs.step([0])
    with closing(PoolVectorEnv([Walk] * 2, num_workers=1)) as envs:
        envs.reset()
        with pytest.raises(TypeError, match="has no options"):
            envs.reset(options={"a": 1})


@pytest.mark.slow
def test_native_environments_in_workers() -> None:
    make = partial(make_dm, "CartPole-v1", batched=False)
    theirs = parallel_pool.make_vec("CartPole-v1", 2)
    with closing(PoolVectorEnv([make] * 2, num_workers=1)) as ours, closing(theirs):
        assert_same(ours.reset(seed=0)[0], theirs.reset(seed=0)[0], "reset")
        for _ in range(30):
            actions = np.ones(2, int)
            for one, other in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
                assert (one == other).all()
