"""`ray.shutdown()` at any moment: one clear error, no other Ray, and close() never raises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from parallel_pool.cluster import ClusterVectorEnv, Rollouts
from parallel_pool.compat.sb3 import ClusterVecEnv
from parallel_pool.errors import WorkerError
from tests.apis.cluster.cases import Linear, Sleeper, Teller

ENDED = r"environments 0 to 3: ray\.shutdown\(\) has ended the session of Ray"


@pytest.fixture
def ray(cluster: Any) -> Iterator[Any]:
    """Ray, which is connected to the cluster again after the test."""
    import ray

    yield ray
    ray.shutdown()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")


def check_ended(*calls: Callable[[], Any]) -> None:
    for call in calls:
        with pytest.raises(WorkerError, match=ENDED) as caught:
            call()
        assert caught.value.env_ids == (0, 1, 2, 3)


@pytest.mark.parametrize("what", ["step", "reset", "get_attr"])
def test_a_shutdown_from_another_thread_ends_a_call(what: str, ray: Any) -> None:
    envs = ClusterVectorEnv(partial(Teller, sleep=30.0), 4, num_workers=2)
    envs.reset(seed=0)
    calls: dict[str, Callable[[], Any]] = {
        "step": lambda: envs.step([5] * 4),
        "reset": lambda: envs.reset(options={"sleep": 30.0}),
        "get_attr": lambda: envs.call("nap"),
    }
    thread = threading.Timer(0.5, ray.shutdown)
    thread.start()
    check_ended(calls[what])
    thread.join()
    check_ended(
        lambda: envs.step([0] * 4), envs.reset, lambda: envs.get_attr("name"), lambda: envs.workers
    )
    envs.close()
    envs.close()
    assert not ray.is_initialized()


def test_another_session_has_other_workers(cluster: Any, ray: Any) -> None:
    """Of the same cluster too, where calls of the old actors would start nothing."""
    envs = ClusterVectorEnv("CartPole-v1", 4, num_workers=2)
    envs.reset(seed=0)
    ray.shutdown()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    check_ended(lambda: envs.step([0] * 4), lambda: envs.reset(seed=0))
    more = ClusterVectorEnv("CartPole-v1", 4, num_workers=2)
    assert more.reset(seed=0)[0].shape == (4, 4)
    # the actors of the other session stay
    envs.close()
    assert more.step([0] * 4)[1].tolist() == [1] * 4
    more.close()


@pytest.mark.parametrize("in_a_call", [False, True])
def test_rollouts(in_a_call: bool, ray: Any) -> None:
    if in_a_call:
        rollouts = Rollouts(partial(Teller, sleep=30.0), Sleeper, 4, num_workers=2, steps=2)
    else:
        rollouts = Rollouts("CartPole-v1", Linear, 4, num_workers=2, steps=2)
    rollouts.publish(Linear())
    thread = threading.Timer(0.5, ray.shutdown)
    if in_a_call:
        thread.start()
        check_ended(lambda: next(rollouts))
        thread.join()
    else:
        next(rollouts)
        ray.shutdown()
    check_ended(lambda: next(rollouts), rollouts.wait, lambda: rollouts.publish(Linear(1.0)))
    rollouts.close()
    assert not ray.is_initialized()


def test_stable_baselines3(ray: Any) -> None:
    envs = ClusterVecEnv("CartPole-v1", 4, num_workers=2)
    envs.reset()
    ray.shutdown()
    check_ended(lambda: envs.step(np.zeros(4, int)), envs.reset)
    envs.close()
    assert not ray.is_initialized()
