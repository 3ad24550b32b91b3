"""make_dm(batched=False): one environment exactly as dm_env defines it."""

from __future__ import annotations

import pickle
import signal
import threading
import unittest
from collections.abc import Iterator
from typing import Any

import dm_env
import numpy as np
import pytest
from dm_env import StepType, specs, test_utils

from parallel_pool import ClosedError, EnvError, make, make_dm
from parallel_pool._apis.envpool.single_dm_env import SingleDMEnv
from parallel_pool._engine import base_pool
from parallel_pool.testing import inspect
from tests.support.dm_loop import DMLoop
from tests.support.same import assert_same

# classic control, Atari, MuJoCo, several players with two observations
TASKS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {},
    "Pendulum-v1": {"max_episode_steps": 9},
    "Breakout-v5": {"max_episode_steps": 9},
    "Hopper-v5": {"max_episode_steps": 9},
    "test/Duel-v0": {"max_episode_steps": 9},
    # players with different spaces
    "mpe/simple_speaker_listener_v4": {"max_episode_steps": 9},
}


def sampled(spec: Any, rng: np.random.Generator) -> Any:
    """Returns a random action of a spec with finite bounds."""
    if spec.dtype.kind == "i":
        return rng.integers(spec.minimum, spec.maximum, spec.shape, spec.dtype, endpoint=True)
    return rng.uniform(spec.minimum, spec.maximum, spec.shape).astype(spec.dtype)


@pytest.mark.quick(8)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["reset", "step_on_fresh", "step_after_reset", "longer_action"])
def test_passes_the_tests_of_dm_env(task: str, name: str) -> None:
    class Conformance(test_utils.EnvironmentTestMixin, unittest.TestCase):  # type: ignore[misc]
        ended = 0

        def make_object_under_test(self) -> dm_env.Environment:
            return make_dm(task, batched=False, seed=0, **TASKS[task])

        def make_action_sequence(self) -> Iterator[Any]:
            rng = np.random.default_rng(0)
            for _ in range(60):
                yield sampled(self.environment.action_spec(), rng)

        def assertValidStep(self, step: dm_env.TimeStep) -> None:
            super().assertValidStep(step)
            Conformance.ended += step.last()

    (full,) = [each for each in dir(Conformance) if each.startswith(f"test_{name}")]
    result = unittest.TestResult()
    Conformance(full).run(result)
    assert result.testsRun == 1 and result.wasSuccessful(), result.failures + result.errors
    # or the rules for the ends of episodes were not tested
    assert Conformance.ended > 1 or name != "longer_action"


@pytest.mark.parametrize(("id", "limit"), [("CartPole-v1", 20), ("Pendulum-v1", 7)])
def test_equals_a_loop_over_gymnasiums_environment(id: str, limit: int) -> None:
    loop = DMLoop(id, 5, limit)
    rng = np.random.default_rng(0)
    with make_dm(id, batched=False, seed=5, max_episode_steps=limit) as env:
        for step in range(1500):
            if step % 211 == 210:
                ours, theirs = env.reset(), loop.reset()
            else:
                action = sampled(env.action_spec(), rng)
                ours, theirs = env.step(action), loop.step(action)
            assert type(ours.step_type) is StepType and ours.step_type == theirs.step_type
            assert ours.reward == theirs.reward and ours.discount == theirs.discount
            assert_same(ours.observation, theirs.observation, f"step {step}")
    kinds = {(True, False), (False, True)} if id == "CartPole-v1" else {(False, True)}
    assert kinds <= loop.ends.keys() and min(loop.ends.values()) > 1


@pytest.mark.parametrize("task", ["Breakout-v5", "Hopper-v5", "test/Duel-v0"])
def test_equals_the_row_of_a_pool(task: str) -> None:
    config = {"seed": 3, **TASKS[task]}
    rng = np.random.default_rng(0)
    with make_dm(task, batched=False, **config) as env, make_dm(task, **config) as pool:
        ours, theirs = env.reset(), pool.reset()
        for _ in range(25):
            assert ours.step_type == theirs.step_type[0]
            if ours.first():
                assert ours.reward is ours.discount is None
            else:
                reward = np.reshape(ours.reward, -1)
                assert_same(reward, theirs.reward, "reward")
                assert ours.discount.dtype == np.float32 and ours.discount == theirs.discount[0]
            if task == "test/Duel-v0":
                assert_same(ours.observation["score"], theirs.observation.score, "score")
                assert ours.observation["stake"] == theirs.observation.stake[0]
                moves = theirs.observation.players.last_move
                assert_same(env.info["last_move"], moves, "last_move")
            else:
                assert_same(ours.observation, theirs.observation.obs[0], "obs")
                name = "ram" if task == "Breakout-v5" else "x_position"
                expected = getattr(theirs.observation, name)[0]
                assert_same(env.info[name], expected, name)
            action = sampled(env.action_spec(), rng)
            ours = env.step(action)
            theirs = pool.step(action if task == "test/Duel-v0" else action[None])


def test_specs() -> None:
    with make_dm("CartPole-v1", batched=False) as env:
        assert isinstance(env, dm_env.Environment) and isinstance(env, SingleDMEnv)
        assert env.action_spec() == specs.DiscreteArray(2)
        assert env.observation_spec() == env.spec.observation_spec().obs
        assert env.observation_spec().shape == (4,)
        assert env.reward_spec() == specs.Array((), np.float32)
        assert env.discount_spec() == specs.BoundedArray((), np.float32, 0, 1)
    with make("test/Duel-v0", env_type="dm", batched=False) as env:
        assert env.action_spec() == specs.BoundedArray((2,), np.int32, 0, 2)
        assert env.observation_spec().keys() == {"score", "stake"}
        assert env.observation_spec()["score"].shape == (2, 2)
        assert env.observation_spec()["stake"] == specs.DiscreteArray(3, np.int64)
        assert env.reward_spec().shape == (2,) and env.discount_spec().shape == ()


def test_first_steps_ignore_their_action() -> None:
    with make_dm("CartPole-v1", batched=False, max_episode_steps=1) as env:
        for _ in range(2):
            assert env.step("no action").first()
            assert env.step(np.int64(1)).last()


def test_results_are_the_callers_own() -> None:
    with make_dm("CartPole-v1", batched=False) as env:
        kept = [env.step(0).observation for _ in range(9)]
        copies = [each.copy() for each in kept]
        for _ in range(9):
            env.step(1)[3][:] = 7
        assert all((one == other).all() for one, other in zip(kept, copies, strict=True))


def test_seed_and_options_of_reset() -> None:
    with make_dm("CartPole-v1", batched=False, seed=1) as env:
        first = env.reset().observation
        assert (env.reset().observation != first).any()
        assert (env.reset(seed=1).observation == first).all()
        assert (env.reset(options={"low": 0.02, "high": 0.03}).observation >= 0.02).all()


def test_infos() -> None:
    with make_dm("Breakout-v5", batched=False) as env:
        assert env.info == {}
        env.reset()
        env.step(0)
        assert env.info.keys() == {"lives", "reward", "terminated", "ram", "elapsed_step"}
        assert env.info["lives"] == 5 and env.info["elapsed_step"] == 1
        assert env.info["ram"].shape == (128,)


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (np.zeros(1, int), ValueError, r"shape \(1,\): give one of shape \(\)"),
        (2, ValueError, "2"),
        (0.5, TypeError, "float"),
        ({"action": 0}, TypeError, "a dict"),
        (None, TypeError, "NoneType, None"),
    ],
)
def test_wrong_actions_are_refused(action: Any, error: type[Exception], words: str) -> None:
    with make_dm("CartPole-v1", batched=False, seed=0) as env:
        env.reset()
        with pytest.raises(error, match=words):
            env.step(action)
        assert env.step(0).mid() and env.info["elapsed_step"] == 1


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        ({"num_envs": 2}, ValueError, "num_envs=2: choose num_envs=1"),
        ({"batched": 0}, TypeError, "batched=0 is an int: give True or False"),
        ({"batch_size": 2}, ValueError, "batch_size=2"),
        ({"colour": 1}, TypeError, "has no option colour"),
        ({"render_env_id": 1}, ValueError, "render_env_id=1"),
    ],
)
def test_wrong_options_are_refused(
    config: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make_dm("CartPole-v1", **{"batched": False, **config})


def test_wrong_arguments_of_reset_change_nothing() -> None:
    with make_dm("CartPole-v1", batched=False, seed=0) as env:
        env.reset()
        for wrong in ({"seed": "0"}, {"options": 3}, {"options": {"colour": 1}}):
            with pytest.raises((TypeError, ValueError)):
                env.reset(**wrong)
        assert env.step(0).mid()


def test_only_dm_environments_are_single() -> None:
    with pytest.raises(TypeError, match="no option batched"):
        make("CartPole-v1", env_type="gymnasium", batched=False)


def test_a_failed_environment_begins_an_episode() -> None:
    with make_dm("test/Fault-v0", batched=False, fail_on="step", fail_at_step=2) as env:
        env.reset()
        env.step(0)
        with pytest.raises(EnvError, match="environment 0 failed"):
            env.step(0)
        assert env.step("no action").first()
        assert env.step(0).mid()


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("name", [pytest.param("step", marks=pytest.mark.sanitizers), "reset"])
def test_an_interrupted_call_is_dropped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # steps take so long that a busy machine interrupts them in time
    sleep_ms = 2000 if name == "step" else 0
    with make_dm("test/Fault-v0", batched=False, sleep_ms=sleep_ms) as env:
        env.reset()
        pool, main = inspect(env).pool, threading.get_ident()
        # of a reset, what comes between sending and receiving
        place: Any = (pool, "step") if name == "step" else (base_pool, "receive")
        original = getattr(*place)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "step":
                # C uses all of the time of a step
                threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGUSR1)).start()
            else:
                signal.raise_signal(signal.SIGUSR1)
            return original(*args, **kwargs)

        before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
        try:
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(*place, call)
                env.step(0) if name == "step" else env.reset()
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert env.step(0).first()
        assert env.step(0).mid()


def test_close_and_pickle() -> None:
    env = make_dm("CartPole-v1", batched=False)
    step = env.reset()
    again = pickle.loads(pickle.dumps(step))
    assert (again.observation == step.observation).all() and again.first()
    env.close()
    assert env.closed
    for call in (env.reset, lambda: env.step(0)):
        with pytest.raises(ClosedError):
            call()
    assert repr(env) == "SingleDMEnv(CartPole-v1)"


def test_pictures() -> None:
    with make_dm("Pong-v5", batched=False, render_mode="rgb_array") as env:
        env.reset()
        assert env.render().shape == (210, 160, 3)
        with pytest.raises(ValueError, match="has no cameras"):
            env.render(camera_id=0)
