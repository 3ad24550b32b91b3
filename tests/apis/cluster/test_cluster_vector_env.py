"""ClusterVectorEnv gives the same bits as one local pool, on any number of workers."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

import parallel_pool
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._engine import registry
from parallel_pool._source import start
from parallel_pool.cluster import ClusterVectorEnv
from parallel_pool.errors import ClosedError, ForkedError, PoolTimeoutError, StateError
from tests.apis.cluster.cases import Teller
from tests.support.forked import in_child
from tests.support.same import assert_same

MODES = list(AutoresetMode)
KINDS: dict[str, Any] = {
    "CartPole-v1": ("CartPole-v1", {}),
    "Pendulum-v1": ("Pendulum-v1", {"max_episode_steps": 11}),
    "functions": (partial(Teller), {}),
}


def local(env: Any, count: int, **options: Any) -> Any:
    if callable(env):
        return parallel_pool.PoolVectorEnv([env] * count, **options)
    return parallel_pool.PoolVectorEnv(env, count, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_results_are_those_of_a_local_pool(kind: str, mode: AutoresetMode, cluster: Any) -> None:
    env, options = KINDS[kind]
    count, steps = 5, 60
    options = {**options, "autoreset_mode": mode}
    expected = local(env, count, **options)
    # one worker for one of the kinds, as each start takes a second
    for workers in (1, 2) if kind == "CartPole-v1" else (2,):
        envs = ClusterVectorEnv(env, count, num_workers=workers, **options)
        assert len({each["node"] for each in envs.workers}) == workers
        assert envs.observation_space == expected.observation_space
        assert envs.action_space == expected.action_space
        assert_same(envs.reset(seed=9), expected.reset(seed=9), "reset")
        draw = np.random.default_rng(1)
        for step in range(steps):
            shape = (count, *envs.single_action_space.shape)
            actions: Any = draw.integers(2, size=count)
            if kind == "Pendulum-v1":
                actions = draw.uniform(-2, 2, shape).astype(np.float32)
            found, wanted = envs.step(actions), expected.step(actions)
            assert_same(found, wanted, f"{workers} workers, step {step}")
            ended = wanted[2] | wanted[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                with pytest.raises(NotResetError, match="reset_mask"):
                    envs.step(actions)
                again = [
                    each.reset(options={"reset_mask": ended.copy()}) for each in (envs, expected)
                ]
                assert_same(again[0], again[1], f"{workers} workers, reset after {step}")
        envs.close()
    expected.close()


def test_make_vec_and_wrappers(cluster: Any) -> None:
    """Through Gymnasium's own call and wrappers, and again from the spec."""
    make = partial(gymnasium.make_vec, num_envs=4, vectorization_mode="parallel_pool")
    plain = make("CartPole-v1")
    envs = make("CartPole-v1", vector_kwargs={"backend": "cluster", "num_workers": 2})
    assert isinstance(envs, ClusterVectorEnv) and isinstance(envs, parallel_pool.PoolVectorEnv)
    assert envs.backend == "cluster" and "native" in envs.backend_reason
    for each in (plain, envs):
        assert each.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    first, second = (NormalizeObservation(RecordEpisodeStatistics(each)) for each in (envs, plain))
    assert_same(first.reset(seed=1), second.reset(seed=1), "reset")
    for step in range(40):
        actions = np.full(4, step % 2)
        found, wanted = first.step(actions), second.step(actions)
        for each in (found, wanted):
            # the time that an episode took
            each[4].get("episode", {}).pop("t", None)
        assert_same(found, wanted, f"step {step}")
    spec = envs.spec
    assert spec is not None
    envs.close()
    again = gymnasium.make_vec(pickle.loads(pickle.dumps(spec)))
    assert isinstance(again.unwrapped, ClusterVectorEnv) and again.unwrapped.num_workers == 2
    again.close()


def test_attributes_and_snapshots(cluster: Any) -> None:
    envs = ClusterVectorEnv(Teller, 3, num_workers=2)
    assert envs.get_attr("name") == ("teller",) * 3
    envs.set_attr("name", ["a", "b", "c"])
    assert envs.call("name") == ("a", "b", "c")
    with pytest.raises(ValueError, match="2 values for 3"):
        envs.set_attr("name", ["a", "b"])
    with pytest.raises(ValueError, match="call step directly"):
        envs.call("step")
    with pytest.raises(AttributeError):
        envs.get_attr("nothing")
    envs.reset(seed=4)
    assert envs.np_random_seed == (4, 5, 6)
    envs.close()

    envs = ClusterVectorEnv("CartPole-v1", 3, num_workers=2)
    envs.reset(seed=4)
    states = envs.get_state()
    first = [envs.step([0, 1, 0]) for _ in range(5)]
    envs.set_state(states)
    assert_same([envs.step([0, 1, 0]) for _ in range(5)], first, "after set_state")
    with pytest.raises(ValueError, match="2 snapshots for 3"):
        envs.set_state(states[:2])
    envs.close()


def test_first_come_first_served(cluster: Any) -> None:
    """A slow worker keeps its rows, and does not hold up the other."""
    envs = ClusterVectorEnv(partial(Teller, sleep=0.3), 4, num_workers=2, batch_workers=1)
    assert envs.is_async
    for refused in (partial(envs.reset), partial(envs.step, [0] * 4)):
        with pytest.raises(StateError, match="asynchronous"):
            refused()
    with pytest.raises(StateError, match="0 workers are in flight"):
        envs.recv()
    envs.async_reset(seed=0)
    ids = [tuple(envs.recv()[4]["env_id"].tolist()) for _ in range(2)]
    assert sorted(ids) == [(0, 1), (2, 3)]
    envs.send([5, 5], [2, 3])
    envs.send([0, 0], [0, 1])
    came = []
    for _ in range(8):
        _, rewards, _, _, infos = envs.recv()
        own = infos["env_id"].tolist()
        came.append(own[0])
        assert rewards.tolist() in ([0, 0], [5, 5])
        envs.send([5, 5] if own == [2, 3] else [0, 0], own)
    assert came.count(0) > came.count(2)
    with pytest.raises(StateError, match="in flight already"):
        envs.send([0, 0], [0, 1])
    with pytest.raises(ValueError, match="all environments of a worker"):
        envs.send([0], [1])
    for _ in range(2):
        envs.recv()
    for _ in range(20):
        envs.send([5, 5], [2, 3])
        try:
            envs.recv(timeout=0.01)
        except PoolTimeoutError as error:
            assert "goes on waiting" in str(error)
            break
        # this process did not run while the step was made: again
    else:
        pytest.fail("every step was done at once")
    envs.close()


WRONG_ACTIONS: list[tuple[Any, type[Exception]]] = [
    (np.zeros(3, int), ValueError),
    ([0, 1, 0], ValueError),
    ([0, 1, 0, 2], ValueError),
    (np.array([0, -1, 0, 0]), ValueError),
    (np.zeros(4), TypeError),
    (7, TypeError),
    (None, TypeError),
]


def test_wrong_actions_change_nothing(cluster: Any) -> None:
    """No worker steps, as all refuse together."""
    envs = ClusterVectorEnv("CartPole-v1", 4, num_workers=2)
    envs.reset(seed=0)
    states = envs.get_state()
    for actions, error in WRONG_ACTIONS:
        with pytest.raises(error):
            envs.step(actions)
        assert envs.get_state() == states
    envs.step([0] * 4)
    envs.close()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({}, TypeError, "give an id"),
        ({"env": "CartPole-v1", "num_envs": 0}, ValueError, "num_envs=0"),
        ({"env": "CartPole-v1", "num_envs": 2, "num_workers": 3}, ValueError, "num_workers=3"),
        ({"env": "CartPole-v1", "num_envs": 9, "num_workers": 9}, ValueError, "do not fit"),
        ({"env": "CartPole-v1", "cpus_per_worker": 2}, ValueError, "do not fit"),
        ({"env": "CartPole-v1", "cpus_per_worker": 0}, ValueError, "above 0"),
        ({"env": "CartPole-v1", "timeout": 0}, ValueError, "timeout=0"),
        ({"env": "CartPole-v1", "timeout": "1"}, TypeError, "give seconds"),
        ({"env": "CartPole-v1", "on_worker_loss": "x"}, ValueError, "on_worker_loss"),
        ({"env": "CartPole-v1", "batch_workers": 3, "num_envs": 4}, ValueError, "batch_workers"),
        ({"env": "Nothing-v0"}, gymnasium.error.UnregisteredEnv, "Nothing"),
        ({"env": "CartPole-v1", "wind": 1}, TypeError, "wind"),
        ({"env": [Teller], "num_envs": 2}, ValueError, "leave num_envs out"),
        ({"env": Teller, "env_fns": [Teller]}, TypeError, "give one of the two"),
    ],
)
def test_wrong_arguments(
    arguments: dict[str, Any], error: type[Exception], text: str, cluster: Any
) -> None:
    with pytest.raises(error, match=text):
        ClusterVectorEnv(**arguments)


def test_different_spaces_are_refused(cluster: Any) -> None:
    makers = [lambda: gymnasium.make("CartPole-v1"), lambda: gymnasium.make("Pendulum-v1")]
    with pytest.raises(RuntimeError, match="worker 1 have the observation_space"):
        ClusterVectorEnv(makers, num_workers=2)


def test_order_of_calls(cluster: Any) -> None:
    envs = ClusterVectorEnv("CartPole-v1", 2)
    with pytest.raises(NotResetError, match="call reset"):
        envs.step([0, 0])
    envs.reset()
    with pytest.raises(TypeError, match="holds actors of a Ray cluster and cannot be pickled"):
        pickle.dumps(envs)

    def use() -> None:
        with pytest.raises(ForkedError, match="belong to process"):
            envs.step([0, 0])

    in_child(use)
    envs.close()
    with pytest.raises(ClosedError, match="make new ones"):
        envs.step([0, 0])


def test_an_environment_of_ones_own(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers load what the program has loaded, or say that they can't."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    task_id = start.write(tmp_path / "clustered.c")
    parallel_pool.load_source(tmp_path / "clustered.c")
    expected, envs = local(task_id, 4), ClusterVectorEnv(task_id, 4, num_workers=2)
    assert_same(envs.reset(seed=2), expected.reset(seed=2), "reset")
    for step in range(5):
        actions = np.array([0, 1, 2, step % 3])
        assert_same(envs.step(actions), expected.step(actions), f"step {step}")
    envs.close()
    expected.close()
    origin = registry.origins_by_id[task_id]
    registry.origins_by_id[task_id] = origin._replace(library=b"/nowhere/clustered.so")
    with pytest.raises(gymnasium.error.Error, match=r"clustered\.c, and this process can't: /now"):
        ClusterVectorEnv(task_id, 4, num_workers=1)


def test_what_every_vector_environment_promises(cluster: Any) -> None:
    """isinstance says that this is a PoolVectorEnv, so it has all that one has, or says why not."""
    envs = parallel_pool.PoolVectorEnv("CartPole-v1", 4, backend="cluster", num_workers=2)
    assert isinstance(envs, parallel_pool.PoolVectorEnv)
    tensors = envs.torch()
    observations, _ = tensors.reset(seed=0)
    assert type(observations).__name__ == "Tensor" and observations.shape == (4, 4)
    for each in (envs, tensors):
        with pytest.raises(NotImplementedError, match=r"on a cluster, .*: trace a PoolVectorEnv"):
            each.trace()
        with pytest.raises(AttributeError, match=r"no pool in this process.*: use the methods"):
            each.pool  # noqa: B018
    envs.close()
