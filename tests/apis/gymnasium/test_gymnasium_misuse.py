"""Gymnasium's vector API: wrong arguments, and calls at the wrong moment."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import AlreadyPendingCallError, ResetNeeded
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._engine.arguments import a_type
from parallel_pool.compat.gymnasium import NativeVectorEnv, NotResetError, PoolVectorEnv
from parallel_pool.errors import ClosedError, EnvError, StateError
from tests.support.gymnasium_cases import MODES, name_of
from tests.support.same import assert_same


@pytest.fixture
def cartpoles() -> Iterator[PoolVectorEnv]:
    env = PoolVectorEnv("CartPole-v1", 3)
    yield env
    env.close()


# ------------------------------------------------------------------------------- wrong arguments --


@pytest.mark.parametrize("mask", [[True, False, True], (True,) * 3, True, None])
def test_mask_that_is_no_array(cartpoles: PoolVectorEnv, mask: Any) -> None:
    cartpoles.reset()
    with pytest.raises(TypeError, match="reset_mask"):
        cartpoles.reset(options={"reset_mask": mask})


@pytest.mark.parametrize(
    ("mask", "kind"),
    [
        (np.ones(4, np.bool_), ValueError),
        (np.ones((3, 1), np.bool_), ValueError),
        (np.ones(3, np.int8), TypeError),
        (np.zeros(3, np.bool_), ValueError),
        (np.ones(3), TypeError),
    ],
)
def test_mask_that_is_wrong(cartpoles: PoolVectorEnv, mask: Any, kind: type[Exception]) -> None:
    cartpoles.reset(seed=1)
    theirs = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    theirs.reset(seed=1)
    messages = []
    for env in (theirs, cartpoles):
        with pytest.raises(kind, match="reset_mask") as refused:
            env.reset(options={"reset_mask": mask})
        messages.append(str(refused.value))
    # ours adds the cure
    assert messages[1].startswith(messages[0])
    # nothing has changed
    actions = np.array([0, 1, 0])
    assert_same(cartpoles.step(actions), theirs.step(actions), "step")
    theirs.close()


def test_mask_that_is_a_masked_array(cartpoles: PoolVectorEnv) -> None:
    cartpoles.reset()
    options = {"reset_mask": np.ma.masked_array([True, False, True], [True, False, False])}
    with pytest.raises(TypeError, match=r"got a masked array .*filled"):
        cartpoles.reset(options=options)
    assert "reset_mask" in options


@pytest.mark.parametrize("options", [3, "abc", ["reset_mask"], True, np.ones(3, np.bool_)])
def test_reset_options_that_are_no_dict(cartpoles: PoolVectorEnv, options: Any) -> None:
    with pytest.raises(TypeError, match=rf"options=.* is {a_type(options)}: give a dict"):
        cartpoles.reset(options=options)


@pytest.mark.sanitizers
def test_functions_by_gymnasiums_keyword() -> None:
    env = PoolVectorEnv(env_fns=[lambda: gymnasium.make("CartPole-v1")] * 2, num_workers=1)
    assert (env.backend, env.num_envs) == ("process", 2)
    env.close()
    with pytest.raises(TypeError, match=r"env='CartPole-v1' and env_fns=.*: give one of the two"):
        PoolVectorEnv("CartPole-v1", env_fns=[lambda: gymnasium.make("CartPole-v1")])
    with pytest.raises(TypeError, match="give an id, an EnvSpec, or functions"):
        PoolVectorEnv(num_envs=3)


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (-1, ValueError),
        ([1, -2, 3], ValueError),
        (np.int64(-5), ValueError),
        ([1, 2], ValueError),
        (np.arange(4), ValueError),
        (1.5, TypeError),
        ("12", TypeError),
        ([1, 2.0, 3], TypeError),
        (True, TypeError),
    ],
)
def test_wrong_seeds(cartpoles: PoolVectorEnv, seed: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="seed"):
        cartpoles.reset(seed=seed)
    cartpoles.reset(seed=1)


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        ([0, 1, 2], ValueError),
        ([0, 1, -1], ValueError),
        ([0, 1], ValueError),
        ([0, 1, 0, 1], ValueError),
        (1, TypeError),
        (np.zeros((3, 1), np.int64), ValueError),
        ([0.0, 1.0, 0.0], TypeError),
        (np.array([True, False, True]), TypeError),
        (None, (TypeError, ValueError)),
    ],
)
def test_wrong_actions(cartpoles: PoolVectorEnv, actions: Any, kind: Any) -> None:
    cartpoles.reset(seed=1)
    before = cartpoles.pool.get_state()
    with pytest.raises(kind, match="action"):
        cartpoles.step(actions)
    assert cartpoles.pool.get_state() == before
    cartpoles.step([0, 1, 0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_box_actions_that_are_not_finite(wrong: float) -> None:
    env = PoolVectorEnv("Pendulum-v1", 2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        env.step(np.array([[0.0], [wrong]], np.float32))
    env.close()


def test_wrong_options(cartpoles: PoolVectorEnv) -> None:
    with pytest.raises(TypeError, match="no option heigh"):
        PoolVectorEnv("CartPole-v1", 3, heigh=1)
    with pytest.raises(TypeError, match="sutton_barto_reward=1"):
        PoolVectorEnv("CartPole-v1", 3, sutton_barto_reward=1)
    with pytest.raises(TypeError, match="x_init"):
        cartpoles.reset(options={"x_init": 1.0})
    with pytest.raises(ValueError, match="low"):
        cartpoles.reset(options={"low": 1.0, "high": 0.0})
    with pytest.raises(ValueError, match=r"AutoresetMode\.SAME_STEP"):
        PoolVectorEnv("CartPole-v1", 3, autoreset_mode="same_step")
    with pytest.raises(ValueError, match="observation_mode"):
        PoolVectorEnv("CartPole-v1", 3, observation_mode="other")
    with pytest.raises(ValueError, match="max_episode_steps=0"):
        PoolVectorEnv("CartPole-v1", 3, max_episode_steps=0)
    with pytest.raises(ValueError, match="num_envs=0"):
        PoolVectorEnv("CartPole-v1", 0)
    with pytest.raises(ValueError, match="render_mode='ansi'"):
        PoolVectorEnv("CartPole-v1", 3, render_mode="ansi")
    with pytest.raises(ValueError, match="render_mode='human'"):
        PoolVectorEnv("test/Template-v0", 3, render_mode="human")


def test_autoreset_mode_by_value() -> None:
    env = PoolVectorEnv("CartPole-v1", autoreset_mode="SameStep")
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.num_envs == 1
    env.close()


def test_observation_modes() -> None:
    space = spaces.Box(-9, 9, (4,), np.float32)
    batched = spaces.Box(-9, 9, (2, 4), np.float32)
    env = PoolVectorEnv("CartPole-v1", 2, observation_mode=(batched, space), copy=False)
    assert env.observation_space is batched
    assert env.single_observation_space is space
    env.close()
    env = PoolVectorEnv("CartPole-v1", 2, observation_mode="different")
    assert env.observation_space == PoolVectorEnv("CartPole-v1", 2).observation_space
    env.close()


# ---------------------------------------------------------------------------------- wrong moment --


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_step_and_render_before_reset(mode: AutoresetMode) -> None:
    env = PoolVectorEnv("CartPole-v1", 2, autoreset_mode=mode, render_mode="rgb_array")
    for _ in range(2):
        with pytest.raises(ResetNeeded):
            env.step([0, 1])
        with pytest.raises(ResetNeeded):
            env.render()
        with pytest.raises(NotResetError, match="environment 1 was never reset"):
            env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(options={"reset_mask": np.array([True, True])})
    env.step([0, 1])
    env.close()


def test_step_after_the_end_of_an_episode_without_autoreset() -> None:
    kwargs = {"autoreset_mode": AutoresetMode.DISABLED}
    theirs = gymnasium.make_vec(
        "CartPole-v1", 2, vectorization_mode="sync", vector_kwargs=kwargs, max_episode_steps=1
    )
    ours = parallel_pool.make_vec("CartPole-v1", 2, vector_kwargs=kwargs, max_episode_steps=1)
    for env in (theirs, ours):
        env.reset(seed=4)
        env.step(np.array([0, 1]))
        # SyncVectorEnv raises an AssertionError here, so ours must be one too
        with pytest.raises(AssertionError):
            env.step(np.array([0, 1]))
    with pytest.raises(NotResetError, match=r"environment 0 has ended.*reset_mask"):
        ours.step([0, 1])
    ours.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match="environment 1 has ended"):
        ours.step([0, 1])
    ours.reset(options={"reset_mask": np.array([False, True])})
    ours.step([0, 1])
    ours.close()
    theirs.close()


def test_closed_environment_refuses_calls_and_keeps_arrays() -> None:
    env = PoolVectorEnv("CartPole-v1", 2)
    observations, _ = env.reset(seed=1)
    kept = observations.copy()
    env.close(timeout=1.0)
    env.close()
    assert env.closed
    for use in (lambda: env.step([0, 1]), env.reset, env.pool.get_state):
        with pytest.raises(ClosedError):
            use()
    assert (observations == kept).all()


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_environment_dropped_without_close(mode: AutoresetMode) -> None:
    """The threads end at once, without the garbage collector."""
    env = PoolVectorEnv("CartPole-v1", 2, autoreset_mode=mode)
    env.reset(seed=1)
    results = env.step([0, 1])
    pool = weakref.ref(env.pool)
    gc.disable()
    try:
        del env
        assert pool() is None
    finally:
        gc.enable()
    assert results[1].tolist() == [1, 1]


def test_close_after_a_constructor_that_failed() -> None:
    env = NativeVectorEnv.__new__(NativeVectorEnv)
    with pytest.raises(TypeError):
        env.__init__("CartPole-v1", 2, heigh=1)  # type: ignore[misc]
    env.close()


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_failure_of_one_environment(mode: AutoresetMode) -> None:
    """The exception names the environment, whose next step is a reset, infos included."""
    env = PoolVectorEnv(
        "test/Fault-v0", 3, autoreset_mode=mode, fail_on="step", fail_at_step=2, fail_env=1
    )
    env.reset(seed=1)
    env.step([0, 1, 0])
    with pytest.raises(EnvError, match="environment 1 failed: made to fail") as caught:
        env.step([0, 1, 0])
    assert caught.value.env_ids == (1,)
    if mode is AutoresetMode.DISABLED:
        with pytest.raises(NotResetError, match="environment 1 is not reset"):
            env.step([0, 1, 1])
        env.reset(options={"reset_mask": np.array([False, True, False])})
    _, rewards, _, _, infos = env.step([1, 1, 1])
    # in the other modes the step after a failure is a reset
    assert rewards.tolist() == [1, 1 if mode is AutoresetMode.DISABLED else 0, 1]
    assert infos["_count"].all()
    env.close()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=name_of)
def test_failure_in_an_environment_whose_infos_come_with_steps(
    mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failure the next row is a reset's, and an info of steps is masked out."""
    env = PoolVectorEnv("test/Heap-v0", 2, autoreset_mode=mode)
    env.reset(seed=1)
    batch = env.pool.step([0, 1])
    error = EnvError("made up", (1,), batch)

    def fail(*_: Any) -> Any:
        # after this exception, the environment's next row is taken for that of a reset
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(env.pool, "step_as", fail)
        with pytest.raises(EnvError):
            env.step([0, 1])
    for is_step in (False, True):
        *_, infos = env.step([0, 1])
        assert infos["_last"].tolist() == [True, is_step]
    env.close()


def test_failure_in_a_step_that_a_reset_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next row of the failed environment is a reset's, although its step was dropped."""
    env = PoolVectorEnv("test/Heap-v0", 2)
    env.reset(seed=1)
    env.pool.send([0, 1])

    def fail(**given: Any) -> Any:
        monkeypatch.undo()
        raise EnvError("made up", (1,), env.pool.recv(**given))

    monkeypatch.setattr(env.pool, "recv", fail)
    env.reset(options={"reset_mask": np.array([True, False])})
    *_, infos = env.step([0, 1])
    assert infos["_last"].tolist() == [True, False]
    env.close()


def test_a_masked_reset_that_leaves_out_a_failed_environment_changes_nothing() -> None:
    env = PoolVectorEnv("test/Fault-v0", 3, fail_on="step", fail_at_step=2, fail_env=1)
    env.reset(seed=1)
    env.step([0, 1, 0])
    with pytest.raises(EnvError):
        env.step([0, 1, 0])
    before = env.pool.get_state([0, 2])
    mask = np.array([True, False, False])
    with pytest.raises(NotResetError, match=r"environment 1 is not .*; nothing was reset: add"):
        env.reset(options={"reset_mask": mask})
    assert env.pool.get_state([0, 2]) == before
    observations, _ = env.reset(options={"reset_mask": ~mask})
    assert np.array_equal(observations, env.pool.observe()[0])
    env.close()


def test_a_reset_drops_an_interrupted_step() -> None:
    """The next reset drops what Ctrl-C left in flight."""
    theirs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    env = PoolVectorEnv("CartPole-v1", 2)
    env.reset(seed=1)
    env.pool.send([0, 1])
    with pytest.raises(StateError, match=r"interrupted.*call reset\(\)") as refused:
        env.step([0, 1])
    assert isinstance(refused.value, AlreadyPendingCallError)
    theirs.reset(seed=1)
    theirs.step(np.array([0, 1]))
    only_second = np.array([False, True])
    expected = theirs.reset(seed=5, options={"reset_mask": only_second.copy()})
    assert_same(env.reset(seed=5, options={"reset_mask": only_second}), expected, "reset")
    assert_same(env.step([1, 1]), theirs.step(np.array([1, 1])), "step")
    env.close()
    theirs.close()
