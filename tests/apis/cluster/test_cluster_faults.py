"""Workers and nodes that are lost: never a hang, and the rows say what happened."""

from __future__ import annotations

import _thread
import os
import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._apis.common.vector_errors import PendingCallError
from parallel_pool.cluster import ClusterVectorEnv
from parallel_pool.errors import EnvError, StateError, WorkerError
from tests.apis.cluster.cases import EndsItsReader, Held, Own, Teller, add_node, kill
from tests.support.same import assert_same
from tests.support.timeouts import wait_for

NOBODY, SECOND = [False] * 4, [False, False, True, True]


def made(env: Any = "CartPole-v1", **options: Any) -> ClusterVectorEnv:
    envs = ClusterVectorEnv(env, 4, num_workers=2, **options)
    envs.reset(seed=0)
    return envs


def check_lost(result: Any, before: np.ndarray[Any, Any]) -> None:
    """Checks a step in which the second worker was lost."""
    observations, rewards, terminated, truncated, infos = result
    np.testing.assert_array_equal(observations[2:], before[2:])
    assert rewards.tolist() == [1, 1, 0, 0]
    assert terminated.tolist() == NOBODY and truncated.tolist() == SECOND
    assert infos["worker_restarted"].tolist() == infos["_worker_restarted"].tolist() == SECOND
    assert infos["_restart_seed"].tolist() == SECOND and infos["restart_seed"].dtype == np.int64


@pytest.mark.parametrize("when", ["idle", "in a call"])
def test_a_killed_worker_is_replaced(when: str, cluster: Any) -> None:
    """Killed while idle, the next call is the first that knows: Ray says nothing before."""
    envs = made() if when == "idle" else made(partial(Teller, length=10**6, sleep=30.0))
    if when == "idle":
        before, *_ = envs.step([0, 1, 0, 1])
        kill(envs.workers[1]["pid"])
        lost = envs.step([0, 1, 0, 1])
        check_lost(lost, before)
    else:
        pid = envs.workers[1]["pid"]
        threading.Timer(0.5, kill, [pid]).start()
        lost = envs.step([0, 0, 5, 5])
        assert lost[3].tolist() == SECOND
    # new environments, which start with the seeds that the infos told
    observations, rewards, _, truncated, _ = envs.step([0, 1, 0, 1])
    assert rewards[2:].tolist() == [0, 0] and truncated.tolist() == NOBODY
    if when == "idle":
        with closing(parallel_pool.PoolVectorEnv("CartPole-v1", 2)) as same:
            expected, _ = same.reset(seed=lost[4]["restart_seed"][2:].tolist())
        np.testing.assert_array_equal(observations[2:], expected)
    assert envs.step([0, 1, 0, 1])[3].tolist() == NOBODY
    assert envs.restarts == 1
    envs.close()


def test_with_same_step_the_row_shows_the_next_episode(cluster: Any) -> None:
    envs = made(autoreset_mode=AutoresetMode.SAME_STEP)
    before, *_ = envs.step([0, 1, 0, 1])
    kill(envs.workers[1]["pid"])
    observations, _, _, truncated, infos = envs.step([0, 1, 0, 1])
    assert truncated.tolist() == infos["_final_obs"].tolist() == SECOND
    np.testing.assert_array_equal(np.stack(infos["final_obs"][2:]), before[2:])
    with closing(parallel_pool.PoolVectorEnv("CartPole-v1", 2)) as same:
        expected, _ = same.reset(seed=infos["restart_seed"][2:].tolist())
    np.testing.assert_array_equal(observations[2:], expected)
    assert envs.step([0, 1, 0, 1])[1].tolist() == [1] * 4
    envs.close()


def test_a_loss_may_be_raised(cluster: Any) -> None:
    envs = made(on_worker_loss="raise")
    expected, *_ = envs.step([0, 1, 0, 1])
    kill(envs.workers[1]["pid"])
    with pytest.raises(WorkerError, match=r"environments 2 to 3: worker 1 died") as caught:
        envs.step([0, 1, 0, 1])
    assert caught.value.env_ids == (2, 3)
    rows, rewards, *_ = caught.value.batch
    assert rewards.tolist() == [1, 1, 0, 0] and not np.array_equal(rows[:2], expected[:2])
    # the next step goes on with new environments
    assert envs.step([0, 1, 0, 1])[1].tolist() == [1, 1, 0, 0]
    assert envs.step([0, 1, 0, 1])[1].tolist() == [1] * 4
    envs.close()


def test_resets_and_calls_of_a_lost_worker(cluster: Any) -> None:
    envs = made()
    kill(envs.workers[1]["pid"])
    with pytest.raises(WorkerError, match="worker 1 died"):
        envs.get_attr("gravity")
    # the next rows say so
    assert envs.step([0] * 4)[3].tolist() == SECOND
    assert envs.workers[1]["pid"] is None
    envs.step([0] * 4)
    kill(envs.workers[1]["pid"])
    with closing(parallel_pool.PoolVectorEnv("CartPole-v1", 4)) as same:
        expected, _ = same.reset(seed=5)
    observations, infos = envs.reset(seed=5)
    np.testing.assert_array_equal(observations, expected)
    assert infos["worker_restarted"].tolist() == SECOND
    assert envs.step([0] * 4)[3].tolist() == NOBODY
    envs.close()


def test_a_reset_mask_after_a_loss(cluster: Any) -> None:
    envs = made(autoreset_mode=AutoresetMode.DISABLED)
    kill(envs.workers[1]["pid"])
    _, _, terminated, truncated, _ = envs.step([0] * 4)
    assert truncated.tolist() == SECOND
    envs.reset(options={"reset_mask": terminated | truncated})
    assert envs.step([0] * 4)[1].tolist() == [1] * 4
    envs.close()


def test_a_call_that_takes_too_long_loses_the_worker(cluster: Any) -> None:
    envs = made(partial(Teller, length=10**6, sleep=1e6), timeout=10.0)
    _, _, _, truncated, _ = envs.step([0, 0, 0, 5])
    assert truncated.tolist() == SECOND
    envs.close()


def test_a_lost_node(cluster: Any) -> None:
    """With another node its worker comes back; without one, there is an error in time."""
    arguments = {**cluster.node_arguments, "resources": {"second": 1}}
    node = add_node(cluster, arguments)
    cluster.wait_for_nodes()
    envs = ClusterVectorEnv(
        "CartPole-v1", 4, num_workers=1, resources={"second": 1}, start_timeout=30.0
    )
    envs.reset(seed=0)
    home = envs.workers[0]["node"]
    cluster.remove_node(node, allow_graceful=False)
    # its processes end a little later
    wait_for(lambda: envs.step([0] * 4)[3].all())
    with pytest.raises(WorkerError, match=r"no node had .* free for worker 0 within start_timeout"):
        envs.step([0] * 4)
    node = add_node(cluster, arguments)
    cluster.wait_for_nodes()
    for _ in range(2):
        assert envs.step([0] * 4)[0].shape == (4, 4)
    assert envs.workers[0]["node"] != home
    envs.close()
    cluster.remove_node(node)


def test_no_capacity_at_the_start(cluster: Any) -> None:
    envs = made()
    with pytest.raises(WorkerError, match="no node had 1 cores free"):
        ClusterVectorEnv("CartPole-v1", 2, num_workers=2, start_timeout=2.0)
    # the others go on
    assert envs.step([0] * 4)[1].tolist() == [1] * 4
    envs.close()


def test_a_missing_resource_is_named(cluster: Any) -> None:
    match = r"no node had 1 cores and 1 nope free .*, and no node has 1 nope at all: start a node"
    with pytest.raises(WorkerError, match=match) as caught:
        ClusterVectorEnv("CartPole-v1", 4, num_workers=2, resources={"nope": 1}, start_timeout=2.0)
    assert caught.value.env_ids in ((0, 1), (2, 3))


def test_exceptions_of_environments_keep_their_class(cluster: Any) -> None:
    envs = made(Teller)
    with pytest.raises(Own, match="asked for") as caught:
        envs.step([0, 0, 0, 3])
    cause = caught.value.__cause__
    assert isinstance(cause, EnvError) and cause.env_ids == (3,)
    assert "in step" in str(cause) and "worker 1" in str(caught.value.__notes__)
    # by the caller's number, wherever it is named
    said = f"{cause} {caught.value.__notes__}"
    assert "environment 3 failed" in said and "environment 1 " not in said
    # the rows of the other worker are there
    assert cause.batch[1].tolist() == [0] * 4
    # it begins a new episode, and nobody was replaced
    _, rewards, _, _, _ = envs.step([1, 1, 1, 1])
    assert rewards.tolist() == [1, 1, 1, 0] and envs.restarts == 0
    with pytest.raises(WorkerError, match="exit code 1") as died:
        envs.step([0, 0, 4, 0])
    # the process has the environments of its worker, which has one core
    assert died.value.env_ids == (2, 3)
    assert "environment 2 (and 1 more) failed" in str(died.value)
    assert "while it stepped environment 2" in str(died.value)
    envs.close()


def test_a_constructor_that_raises_or_always_dies(cluster: Any) -> None:
    def raises() -> Any:
        raise Own("no environment")

    with pytest.raises(Own, match="no environment"):
        ClusterVectorEnv(raises, 2, num_workers=2)

    with pytest.raises(WorkerError, match=r"died while it made .* started 2 times in a row"):
        ClusterVectorEnv(EndsItsReader(), 2, num_workers=2, max_restarts=1)
    # nothing is left that keeps the cores
    made().close()


def test_a_slow_worker_keeps_its_rows(cluster: Any) -> None:
    """Results are written to the rows of their worker, whoever comes first."""
    envs = made(partial(Teller, length=10**6, sleep=0.1))
    with closing(
        parallel_pool.PoolVectorEnv([partial(Teller, length=10**6, sleep=0)] * 4)
    ) as local:
        local.reset(seed=0)
        for step in range(6):
            actions = [5, 0, 1, 2] if step % 2 else [0, 1, 2, 5]
            assert_same(envs.step(actions), local.step(actions), f"step {step}")
    envs.close()


def test_after_an_interrupt_a_reset_drops_the_step(cluster: Any, tmp_path: Path) -> None:
    envs = made(partial(Held, tmp_path))

    def interrupt() -> None:
        # both workers step
        wait_for(lambda: len(os.listdir(tmp_path)) == 2)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        envs.step([5] * 4)
    thread.join()
    with pytest.raises(PendingCallError, match="call reset"):
        envs.step([0] * 4)
    with pytest.raises(PendingCallError):
        envs.get_attr("name")
    (tmp_path / "go on").touch()
    envs.reset(seed=1)
    assert envs.step([1] * 4)[1].tolist() == [1] * 4
    envs.close()


def test_a_worker_lost_while_asynchronous(cluster: Any) -> None:
    envs = ClusterVectorEnv("CartPole-v1", 4, num_workers=2, batch_workers=1)
    envs.async_reset(seed=0)
    kill(envs.workers[1]["pid"])
    restarted: list[tuple[int, list[bool]]] = []
    while not restarted:
        # the reset may have been answered before the worker was killed
        *_, infos = envs.recv()
        if "worker_restarted" in infos:
            restarted.append((int(infos["env_id"][0]), infos["worker_restarted"].tolist()))
        envs.send([0, 0], infos["env_id"])
    assert restarted == [(2, [True, True])]
    envs.close()
    with pytest.raises(StateError, match="closed"):
        envs.recv()
