"""The choice of a backend: native environments or worker processes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import (
    TimeAwareObservation,
)

import parallel_pool
from parallel_pool._apis.gymnasium import backends, local_backends
from parallel_pool._engine import registry
from parallel_pool.compat.gymnasium import NativeVectorEnv, PoolVectorEnv, ProcessVectorEnv
from tests.support.fusion_cases import clip
from tests.support.gymnasium_cases import run_python
from tests.support.python_ids import PYTHON_ID
from tests.support.same import assert_same


def test_vector_options_as_arguments_or_in_vector_kwargs() -> None:
    """Vector options may be arguments or in vector_kwargs; the spec holds both in one dict."""
    beside = parallel_pool.make_vec("Pendulum-v1", 2, num_threads=1, backend="native", g=3.0)
    within = parallel_pool.make_vec(
        "Pendulum-v1", 2, vector_kwargs={"num_threads": 1, "backend": "native"}, g=3.0
    )
    assert beside.spec == within.spec
    # Gymnasium's make_vec passes vector options along with those of the environments
    by_gymnasium = gymnasium.make_vec("parallel_pool/Pendulum-v1", 2, num_threads=1, g=3.0)
    for spec in (beside.spec, by_gymnasium.spec):
        again = PoolVectorEnv(spec)
        assert (again.num_envs, again.pool.num_threads) == (2, 1)
        assert again.get_attr("g") == (3.0, 3.0)
    with pytest.raises(TypeError, match="num_threads is given twice, also in vector_kwargs"):
        parallel_pool.make_vec("Pendulum-v1", vector_kwargs={"num_threads": 1}, num_threads=2)


class StandIn(gymnasium.vector.SyncVectorEnv):  # type: ignore[type-arg]
    """A stand-in for worker processes, which other files test."""

    def __init__(
        self,
        env_fns: Any,
        *,
        num_workers: int = 0,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        super().__init__(env_fns, copy=copy, autoreset_mode=autoreset_mode)
        self.num_workers = num_workers


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the class of vector environments in worker processes by the stand-in."""
    for module in (backends, local_backends):
        monkeypatch.setattr(module, "process_class", lambda: StandIn)


def test_native_is_chosen_if_possible() -> None:
    choice = backends.choose("CartPole-v1")
    assert (choice.backend, choice.reason) == ("native", "CartPole-v1 is native")
    assert backends.choose("Pong-v5", ()).backend == "native"
    choice = backends.choose("CartPole-v1", [clip], {"backend": "native", "num_threads": 1})
    assert choice.reason == "CartPole-v1 is native, and does ClipReward itself"
    with pytest.raises(gymnasium.error.NameNotFound):
        backends.choose("CartPool-v1", None, {"backend": "process"})
    # native: another name that the family has for an option, and an option with a wrong value
    for options in ({"healthy_z_range": (0.1, 2)}, {"healthy_z_range": 3}, {"width": 9}):
        assert backends.choose("Ant-v5", options=options).backend == "native"


@pytest.mark.parametrize(
    ("env", "wrappers", "reason"),
    [
        (PYTHON_ID, None, f"{PYTHON_ID} has no native environment"),
        ("CartPole-v1", [TimeAwareObservation], "TimeAwareObservation is not one of the wrappers"),
        ("Pong-v5", [clip], "Pong-v5 has no Gymnasium environment"),
        (EnvSpec("CartPole-v1", "other:CartPole"), None, "entry_point='other:CartPole'"),
        ([lambda: gymnasium.make("CartPole-v1")], None, "made by functions"),
    ],
)
def test_processes_are_chosen_otherwise(env: Any, wrappers: Any, reason: str) -> None:
    choice = backends.choose(env, wrappers)
    assert choice.backend == "process"
    assert reason in choice.reason
    with pytest.raises(ValueError, match=r"backend='native', but .*: choose 'auto' or 'process'"):
        backends.choose(env, wrappers, {"backend": "native"})
    with pytest.raises(ValueError, match="choose 'auto', 'native', 'compiled', 'process' or"):
        backends.choose(env, wrappers, {"backend": "thread"})


@pytest.fixture
def without_sutton_barto() -> Iterator[None]:
    """Removes an option of CartPole, and restores the order, in which C gets the values."""
    options = registry.find("CartPole-v1").options
    before = dict(options)
    del options["sutton_barto_reward"]
    yield
    options.clear()
    options.update(before)


def test_option_that_only_python_knows(without_sutton_barto: None, stand_in: None) -> None:
    with closed_at_the_end("CartPole-v1", 2, sutton_barto_reward=True) as env:
        assert env.backend == "process"
        assert env.backend_reason == "the native CartPole-v1 has no option sutton_barto_reward"
        assert env.get_attr("_sutton_barto_reward") == (True, True)
    with pytest.raises(TypeError, match="CartPole-v1 has no option sutton_barto_reward"):
        PoolVectorEnv("CartPole-v1", 2, backend="native", sutton_barto_reward=True)
    # the native environment refuses an option that neither backend has
    with pytest.raises(TypeError, match="CartPole-v1 has no option heigh"):
        PoolVectorEnv("CartPole-v1", 2, heigh=1)


@contextmanager
def closed_at_the_end(*args: Any, **kwargs: Any) -> Iterator[Any]:
    env = PoolVectorEnv(*args, **kwargs)
    try:
        yield env
    finally:
        env.close()


def test_environments_of_functions_run_in_processes(stand_in: None) -> None:
    env_fns = [lambda: gymnasium.make("CartPole-v1")] * 3
    mode = AutoresetMode.SAME_STEP
    with closed_at_the_end(env_fns, num_workers=2, autoreset_mode=mode, num_threads=0) as env:
        assert type(env) is StandIn
        assert (env.num_envs, env.num_workers, env.autoreset_mode) == (3, 2, mode)
        assert (env.backend, env.spec) == ("process", None)
    for wrong in ({"num_envs": 2}, {"backend": "native"}):
        with pytest.raises(ValueError, match=r"num_envs=2|backend='native'"):
            PoolVectorEnv(env_fns, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="and True follows: give it by name"):
        PoolVectorEnv(env_fns, 3, True)  # type: ignore[misc]
    for options in ({"g": 1}, {"num_threads": 2}, {"wrappers": [clip]}):
        with pytest.raises(TypeError, match=r"g: functions|num_threads=2|do not go with functions"):
            PoolVectorEnv(env_fns, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="env holds 3"):
        PoolVectorEnv([3])  # type: ignore[list-item]


def test_environments_of_an_id_run_in_processes(stand_in: None) -> None:
    def wrap(env: Any) -> Any:
        return TimeAwareObservation(env)

    vector_kwargs = {"autoreset_mode": AutoresetMode.DISABLED, "num_workers": 1}
    made = gymnasium.make_vec(
        "Pendulum-v1",
        3,
        "parallel_pool",
        vector_kwargs,
        [clip, wrap],
        g=3.0,
        max_episode_steps=4,
        render_mode=None,
    )
    reference = gymnasium.make_vec(
        "Pendulum-v1", 3, "sync", {}, [clip, wrap], g=3.0, max_episode_steps=4
    )
    assert type(made) is StandIn
    assert made.backend == "process"
    assert "wrap" in made.backend_reason
    assert made.observation_space == reference.observation_space
    assert made.get_attr("g") == (3.0,) * 3
    for env in (made, gymnasium.make_vec(made.spec), PoolVectorEnv(made.spec)):
        assert (env.num_envs, env.num_workers) == (3, 1)
        assert str(env.spec) == str(made.spec)
        env.reset(seed=1)
        reference.reset(seed=1)
        for step in range(4):
            results = env.step(np.zeros((3, 1), np.float32))
            expected = reference.step(np.zeros((3, 1), np.float32))
            assert_same(results[0], expected[0], f"step {step}")
            assert_same(results[1], expected[1], f"step {step}")
        assert results[3].all()
        env.close()
    reference.close()


def test_constructor_without_parameters(stand_in: None) -> None:
    """It does not get render_mode and max_episode_steps, which are None here."""

    def make() -> Any:
        return gymnasium.make("CartPole-v1").unwrapped

    spec = EnvSpec("Made-v0", make)
    env = PoolVectorEnv(spec, 2, render_mode=None, max_episode_steps=None)
    assert type(env) is StandIn
    assert env.num_envs == 2
    env.close()


def test_processes_on_request(stand_in: None) -> None:
    for make in (PoolVectorEnv, parallel_pool.make_vec):
        env = make("CartPole-v1", 2, backend="process")
        assert type(env) is StandIn
        assert env.backend_reason == "backend='process' was asked for"
        assert env.spec.kwargs["vector_kwargs"] == {"backend": "process"}
        for again in (gymnasium.make_vec(env.spec), PoolVectorEnv(env.spec)):
            assert type(again) is StandIn
            assert again.spec == env.spec
            again.close()
        env.close()
    for task_id in ("Pong-v5", "parallel_pool/CartPole-v1"):
        with pytest.raises(ValueError, match=f"{task_id} has no Python environment"):
            PoolVectorEnv(task_id, 2, backend="process")
    with pytest.raises(TypeError, match=r"num_threads=2 is for native.*'process' was asked for"):
        PoolVectorEnv("CartPole-v1", 2, backend="process", num_threads=2)


@pytest.mark.slow
def test_an_atari_id_has_its_python_environment_without_an_import_of_ale_py() -> None:
    printed = run_python(
        """
        import sys, warnings
        warnings.simplefilter("ignore")
        import gymnasium, parallel_pool
        assert "ale_py" not in sys.modules

        def wrap(env):
            return gymnasium.Wrapper(env)

        for given in {"wrappers": [wrap]}, {"backend": "process"}:
            env = parallel_pool.make_vec("ALE/Qbert-v5", 2, num_workers=0, obs_type="ram", **given)
            spec = env.get_attr("spec")[0]
            print(env.backend, spec.entry_point, spec.kwargs["game"], spec.kwargs["obs_type"])
            env.close()
        """
    )
    assert printed.splitlines() == 2 * ["process ale_py.env:AtariEnv qbert ram"]


def test_functions_take_no_options_of_environments() -> None:
    with pytest.raises(
        TypeError, match=r"^start_method, g: functions .* own options are .*context"
    ):
        PoolVectorEnv([lambda: gymnasium.make("CartPole-v1")], start_method="spawn", g=3.0)


def test_derived_classes_are_native(stand_in: None) -> None:
    class Mine(NativeVectorEnv):
        def __init__(self, a: str, b: int, c: int) -> None:
            super().__init__(a, b + c)

    env = Mine("CartPole-v1", 1, 2)
    assert (env.num_envs, env.backend) == (3, "native")
    env.close()
    with pytest.raises(TypeError, match=rf"{PYTHON_ID} has no native .* or PoolVectorEnv"):
        Mine(PYTHON_ID, 1, 2)


def test_pool_vector_env_itself_has_no_environments_for_derived_classes() -> None:
    class Mine(PoolVectorEnv):
        """A user's class."""

    with pytest.raises(TypeError, match="derive it from NativeVectorEnv"):
        Mine("CartPole-v1", 2)


def test_signatures_are_those_of_the_constructors() -> None:
    assert [*inspect.signature(PoolVectorEnv).parameters][:3] == ["env", "num_envs", "env_fns"]
    assert next(iter(inspect.signature(ProcessVectorEnv).parameters)) == "env_fns"
