"""Errors for unknown ids, and warnings where a native environment is not used: cause and cure."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import pytest
from gymnasium.error import UnregisteredEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

import parallel_pool
from parallel_pool._apis.common.warn_once import warn_once
from parallel_pool._apis.gymnasium import backends
from parallel_pool._engine import registry
from parallel_pool.compat.gymnasium import PoolVectorEnv
from tests.support.python_ids import PYTHON_ID

# ------------------------------------------------------------------------------- unknown ids --

MEANT = {
    PYTHON_ID: rf"parallel_pool\.make_vec\('{PYTHON_ID}', num_envs\) runs it in worker processes",
    "CarRacing-v2": "did you mean CarRacing-v3",
    "BipedalWalker-v2": "did you mean BipedalWalker-v3",
    "LunarLander-v2": "did you mean LunarLander-v3",
    "pong": "did you mean ALE/Pong-v5 or Pong-v5",
    "Pong": "did you mean ALE/Pong-v5 or Pong-v5",
    "ms-pacman": "did you mean ALE/MsPacman-v5 or MsPacman-v5",
    "cartpole": "did you mean CartPole-v1 or CartPole-v0",
    "CartPole": "did you mean CartPole-v1 or CartPole-v0",
    "CartPool-v0": "did you mean CartPole",
    "cartpole-v0": "did you mean CartPole-v0 or CartPole-v1",
    "Ant-v2": "did you mean Ant-v5",
    "half_cheetah": "did you mean HalfCheetah-v5",
    "Humannoid-v5": "did you mean Humanoid-v5",
    "Taxi-v2": "did you mean Taxi-v4",
    "PongNoFrameskip-v4": (
        r"use ALE/Pong-v5 with frameskip=1, repeat_action_probability=0\.0; .*make_vec takes"
    ),
    "Pong-v0": r"use ALE/Pong-v5 with frameskip=\(2, 5\), repeat_action_probability=0\.25",
    "PongDeterministic-v4": "no longer has this id: use ALE/Pong-v5 with frameskip=4",
    "Pong-ram-v4": "no longer has this id: use ALE/Pong-v5 .*obs_type='ram'",
    "Pong-ramNoFrameskip-v4": "no longer has .* use ALE/Pong-v5 with frameskip=1.*obs_type='ram'",
    "Xyzzy-v0": r"see parallel_pool\.list_all_envs\(\)",
    "": r"see parallel_pool\.list_all_envs\(\)",
}


@pytest.mark.parametrize("task_id", MEANT)
def test_an_unknown_id_gets_a_suggestion(task_id: str) -> None:
    with pytest.raises(ValueError, match=f"no environment {task_id!r}: .*{MEANT[task_id]}"):
        registry.find(task_id)


NATIVE = [parallel_pool.Pool, partial(parallel_pool.make, env_type="gymnasium")]


@pytest.mark.parametrize("make", NATIVE, ids=["Pool", "make"])
def test_native_apis_suggest_make_vec(make: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"make_vec.*runs it in worker processes"):
        make(PYTHON_ID, num_envs=2)


@pytest.mark.parametrize("make", [parallel_pool.make_vec, PoolVectorEnv], ids=["make_vec", "class"])
@pytest.mark.parametrize("task_id", ["pong", "cartpole", "CartPool-v0", "PongDeterministic-v4"])
def test_gymnasiums_errors_have_the_suggestion_too(make: Callable[..., Any], task_id: str) -> None:
    with pytest.raises(
        UnregisteredEnv, match=f"doesn't exist.*In parallel_pool: .*{MEANT[task_id]}"
    ):
        make(task_id, 2)


# ------------------------------------------------------------------------------ ale-py's ids --

PROGRAM = """
import sys
import parallel_pool, gymnasium
assert not any("NoFrameskip" in task_id for task_id in gymnasium.registry)
envs = parallel_pool.make_vec({task_id!r}, 2)
assert envs.backend == "native", envs.backend_reason
print(envs.spec.id, envs.reset(seed=1)[0].shape)
"""


@pytest.mark.slow
@pytest.mark.parametrize("task_id", ["PongNoFrameskip-v4", "Pong-v0", "BreakoutNoFrameskip-v0"])
def test_old_atari_ids_need_no_import_of_ale_py(task_id: str) -> None:
    """No id is registered before it is needed."""
    code = PROGRAM.format(task_id=task_id)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{task_id} (2, 210, 160, 3)\n", done.stderr


# ----------------------------------------------------------- native environments that are unused --


@pytest.fixture
def unwarned() -> Iterator[None]:
    """Clears the record of the warnings that were shown."""
    warn_once.cache_clear()
    yield
    warn_once.cache_clear()


def record(env: Any) -> Any:
    return RecordEpisodeStatistics(env)


UNUSED: dict[str, tuple[dict[str, Any], str]] = {
    "wrapper": ({"wrappers": [record]}, "the wrapper record is a function that could do anything"),
    "lambda": ({"wrappers": [lambda env: record(env)]}, "functools.partial of one with keyword"),
    "workers": ({"vector_kwargs": {"num_workers": 2}}, "has no option num_workers"),
    "restarts": ({"vector_kwargs": {"on_error": "restart"}}, "has no option on_error"),
}


@pytest.mark.parametrize("name", UNUSED)
@pytest.mark.usefixtures("unwarned")
def test_an_unused_native_environment_is_reported_once(name: str) -> None:
    """The warning gives reason and cure, and names the line that made the environments."""
    options, reason = UNUSED[name]

    def make() -> None:
        wrappers, given = options.get("wrappers"), options.get("vector_kwargs")
        assert backends.choose("CartPole-v1", wrappers, given, given).backend == "process"

    with pytest.warns(
        UserWarning, match=f"CartPole-v1 runs in worker.*{reason}.*'process'"
    ) as caught:
        make()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()


@pytest.mark.parametrize("given", [3, "abc", [("num_threads", 2)], {"num_threads"}], ids=str)
def test_vector_kwargs_must_be_a_dict(given: Any) -> None:
    with pytest.raises(TypeError, match=r"vector_kwargs=.* is an? (int|str|list|set): give a dict"):
        parallel_pool.make_vec("CartPole-v1", 2, vector_kwargs=given)


@pytest.mark.parametrize("wrappers", ["abc", "", 3, [3], [None], ["TimeLimit"]], ids=str)
def test_wrong_wrappers_are_refused(wrappers: Any) -> None:
    with pytest.raises(TypeError, match=r"wrappers.*: give .*functions that wrap an environment"):
        parallel_pool.make_vec("CartPole-v1", 2, wrappers=wrappers)


@pytest.mark.usefixtures("unwarned")
def test_gymnasiums_make_vec_warns_at_the_callers_line() -> None:
    with pytest.warns(UserWarning, match="num_workers") as caught:
        gymnasium.make_vec(
            "CartPole-v1", 1, vectorization_mode="parallel_pool", vector_kwargs={"num_workers": 1}
        ).close()
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.usefixtures("unwarned")
def test_requested_processes_and_fused_wrappers_give_no_warning() -> None:
    """Requested processes, ids without a native environment, functions, and fused wrappers."""
    known = [RecordEpisodeStatistics, partial(TimeLimit, max_episode_steps=5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        requested = {"backend": "process", "num_workers": 2}
        assert backends.choose("CartPole-v1", [record], requested, requested).backend == "process"
        assert backends.choose(PYTHON_ID, [record]).backend == "process"
        assert backends.choose([lambda: gymnasium.make("CartPole-v1")]).backend == "process"
        assert backends.choose("CartPole-v1", known).backend == "native"
