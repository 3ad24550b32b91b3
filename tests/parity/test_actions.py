"""Actions of any dtype, and lists, give the same bits as in Gymnasium's SyncVectorEnv."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from tests.support.same import assert_same
from tests.support.sampling import sampled, thinned

Array = np.ndarray[Any, Any]

pytestmark = [pytest.mark.proven("csrc/envs"), pytest.mark.usefixtures("own_folder")]

IDS = [
    found.id
    for found in registry.builtin().values()
    if found.family in ("classic_control", "mujoco") and found.reference.startswith("gymnasium")
]
CLASSIC = [id for id in IDS if registry.builtin()[id].family == "classic_control"]
CONTINUOUS = ["Pendulum-v1", "MountainCarContinuous-v0", "HalfCheetah-v5", "Reacher-v4"]
DISCRETE = [id for id in CLASSIC if id not in CONTINUOUS]
NUM_ENVS = 4

FLOATS = ("f2", "f4", "f8", ">f4", ">f8")
SIGNED = ("i1", "i2", "i4", "i8", ">i4")
UNSIGNED = ("u1", "u2", "u4")


def rows(array: Array, dtypes: str) -> list[Array]:
    """Returns one array per environment, with these dtypes in turn."""
    names = dtypes.split()
    return [np.asarray(row, names[i % len(names)]) for i, row in enumerate(array)]


def scalars(array: Array) -> Any:
    """Returns the array as lists of NumPy's scalars."""
    if array.ndim > 1:
        return [[np.float32(number) for number in row] for row in array.tolist()]
    return [np.int16(number) for number in array.tolist()]


# forms in which callers pass actions, each made from an array of float64 (discrete spaces: int64)
FORMS: dict[str, Callable[[Array], Any]] = {
    **{
        dtype: lambda array, dtype=dtype: array.astype(dtype)  # type: ignore[misc]
        for dtype in (*FLOATS, *SIGNED, *UNSIGNED, "u8", "?")
    },
    "list": lambda array: array.tolist(),
    "integers": lambda array: array.astype(int).tolist(),
    "bools": lambda array: array.astype(bool).tolist(),
    "tuple": lambda array: tuple(map(tuple, array)) if array.ndim > 1 else tuple(array.tolist()),
    "scalars": scalars,
    "arrays": lambda array: rows(array, "f8"),
    "arrays of integers": lambda array: rows(array, "i8"),
    "arrays of several dtypes": lambda array: rows(array, "f4 f8 f2 i2"),
    "arrays of integers first": lambda array: rows(array, "i8 f8 i1"),
    "objects": lambda array: np.array([*rows(array, "f8"), None], object)[:-1],
    "strided": lambda array: np.repeat(array, 2, 0)[::2],
}


def make(id: str, mode: AutoresetMode, **kwargs: Any) -> tuple[VectorEnv[Any, Any, Any], ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [
            gymnasium.make_vec(
                id,
                NUM_ENVS,
                vectorization_mode=kind,
                vector_kwargs={"autoreset_mode": mode},
                **kwargs,
            )
            for kind in ("parallel_pool", "sync")
        ]
    return tuple(made)


def draw(rng: np.random.Generator, space: Any, form: str, reach: float) -> Any:
    """Returns actions in this form; those of a Box reach `reach` times its bounds."""
    if isinstance(space, spaces.MultiDiscrete):
        return FORMS[form](rng.integers(0, space.nvec))
    array = rng.uniform(-reach, reach, space.shape) * space.high.max()
    is_unsigned = form in (*UNSIGNED, "u8") or "integers" in form
    array = np.abs(array) if is_unsigned else array
    return FORMS[form](array if form in FLOATS else np.round(array, 1 if "f" in form else 16))


def run(id: str, forms: list[str], mode: AutoresetMode, steps: int, reach: float = 1.3) -> None:
    ours, theirs = make(id, mode, max_episode_steps=9)
    rng = np.random.default_rng(7)
    with warnings.catch_warnings():
        # NumPy warns about an unsigned 0 - 1 and a float16 that overflows
        warnings.simplefilter("ignore")
        assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
        for step in range(steps):
            form = forms[step % len(forms)]
            actions = draw(rng, ours.action_space, form, reach)
            expected = theirs.step(actions)
            assert_same(ours.step(actions), expected, f"{form}, step {step}")
    ours.close()
    theirs.close()


def forms_of(id: str) -> list[str]:
    if id not in DISCRETE:
        return list(FORMS)
    return [*SIGNED, *UNSIGNED, "list", "bools", "tuple", "scalars", "arrays of integers"]


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("id", "form"),
    thinned([(id, form) for id in (*CLASSIC, *CONTINUOUS[2:]) for form in forms_of(id)], 4),
)
def test_each_form_has_the_reference_bits(id: str, form: str) -> None:
    run(id, [form], AutoresetMode.NEXT_STEP, 60 if id in CLASSIC else 15)


@pytest.mark.quick(6)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("id", sampled(IDS, {*CLASSIC, "HalfCheetah-v5"}))
def test_forms_in_turn_have_the_reference_bits(id: str, mode: AutoresetMode) -> None:
    forms = np.random.default_rng(5).permutation(forms_of(id)).tolist()
    run(id, forms, mode, 3 * len(forms) if id in CLASSIC else len(forms))


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("id", CONTINUOUS)
def test_numbers_far_outside_wrap_and_clip_as_in_the_reference(id: str) -> None:
    """The squares of small integers wrap, and so do negative unsigned ones."""
    run(id, [*SIGNED, *UNSIGNED, "u8", "list", "f2"], AutoresetMode.SAME_STEP, 22, reach=60.0)


@pytest.mark.parametrize("id", DISCRETE)
@pytest.mark.parametrize("form", ["f4", "f8", "?", "arrays", "arrays of several dtypes"])
def test_actions_that_are_no_integers_are_refused_by_both(id: str, form: str) -> None:
    ours, theirs = make(id, AutoresetMode.NEXT_STEP)
    for envs in (ours, theirs):
        envs.reset(seed=1)
        actions = draw(np.random.default_rng(0), envs.action_space, form, 1.0)
        with pytest.raises((TypeError, AssertionError, IndexError)):
            envs.step(actions)
        envs.close()


@pytest.mark.parametrize("id", ["Pendulum-v1", "MountainCarContinuous-v0", "HalfCheetah-v5"])
def test_environments_in_flight_keep_their_own_dtypes(id: str) -> None:
    """Sends of two dtypes before a receive, in an asynchronous pool and in an ordered one."""
    shape = Pool(id, 1).spec.action.shape
    rng = np.random.default_rng(0)
    with Pool(id, 6) as whole, Pool(id, 6) as parts, Pool(id, 6, batch_size=3) as some:
        for pool in (whole, parts):
            pool.reset(seed=4)
        some.send_reset(seed=4)
        some.recv(), some.recv()
        dtypes = ["f4", "f8", "f2", "f8", "f4", "f4"]
        reward = [column.name for column in whole.columns].index("reward")
        for _ in range(25):
            actions = rng.uniform(-1, 1, (6, *shape))
            expected = whole.step([row.astype(d) for row, d in zip(actions, dtypes, strict=True)])
            for dtype in ("f8", "f2", "f4"):
                ids = [i for i in range(6) if dtypes[i] == dtype]
                some.send(actions[ids].astype(dtype), ids)
            for i in range(6):
                parts.send(actions[i : i + 1].astype(dtypes[i]), [i])
            got = parts.recv()
            assert_same(got[:1], expected[:1], "observations of an ordered pool")
            assert_same(got[reward], expected[reward], "rewards of an ordered pool")
            for _ in range(2):
                batch = some.recv()
                ids = batch[reward + 3]
                assert_same(batch[0], expected[0][ids], "observations of an asynchronous pool")
                assert_same(batch[reward], expected[reward][ids], "its rewards")


@pytest.mark.parametrize("id", CONTINUOUS)
def test_snapshots_do_not_depend_on_the_dtype_of_actions(id: str) -> None:
    shape = Pool(id, 1).spec.action.shape
    actions = np.random.default_rng(1).uniform(-1, 1, (2, 2, *shape)).astype(np.float32)
    with Pool(id, 2) as pool, Pool(id, 2) as other:
        pool.reset(seed=1)
        other.reset(seed=2)
        pool.step(actions[0])
        # actions in another dtype before the snapshot is restored make no difference afterwards
        other.step(actions[0].astype(np.float64))
        other.set_state(pool.get_state())
        assert other.get_state() == pool.get_state()
        assert_same(other.step(actions[1]), pool.step(actions[1]), "step")


def test_sb3_gets_the_dtype_of_the_action_too() -> None:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import DummyVecEnv

    from parallel_pool.compat.sb3 import PoolVecEnv

    def make_env() -> gymnasium.Env[Any, Any]:
        return gymnasium.make("HalfCheetah-v5", max_episode_steps=5)

    ours = PoolVecEnv("HalfCheetah-v5", 3, max_episode_steps=5)
    theirs = DummyVecEnv([make_env] * 3)
    rng = np.random.default_rng(3)
    for vec_env in (ours, theirs):
        vec_env.seed(2)
    assert_same(ours.reset(), theirs.reset(), "reset")
    for form in ("f8", "f4", "list", "f2", "arrays of several dtypes", "i4", "f8"):
        actions = draw(rng, spaces.Box(-1, 1, (3, 6)), form, 1.2)
        got, expected = ours.step(actions), theirs.step(actions)
        assert_same(got[:3], expected[:3], form)
        for one, other in zip(got[3], expected[3], strict=True):
            names = [name for name in other if name.startswith("reward_")]
            assert names
            assert_same({n: one[n] for n in names}, {n: other[n] for n in names}, form)
    ours.close()
