"""`recv(min_rows=...)`: the rows that are ready, in arrays of the pool's shape."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool import make_gym, make_gymnasium
from parallel_pool._engine import base_pool
from parallel_pool._engine.named_batch import batch_maker
from parallel_pool._engine.pool import Pool
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import EnvError, PoolTimeoutError, StateError
from parallel_pool.testing import inspect
from tests.core.test_async import NUM_ENVS, rows_of, trajectories
from tests.faults.failing_envs import (
    ACTIONS,
    Counting,
    WaitFor,
    kill,
    pool_of,
    sleep_for_ever,
    until_stepping,
)
from tests.support.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")

# of each environment; all rows together are no multiple of a batch
ROWS = 41


def ready(pool: Any, min_rows: int) -> Any:
    """Receives with a timeout of 0 until enough rows are ready."""
    while True:
        try:
            return pool.recv(min_rows=min_rows, timeout=0)
        except PoolTimeoutError:
            continue


def check_rest(batch: Any, batch_size: int) -> None:
    """Checks the shape of a batch, and the rows after its results."""
    count = batch.num_rows
    assert all(len(array) == batch_size for array in batch)
    assert (batch.env_id[:count] >= 0).all() and (batch.env_id[count:] == -1).all()
    for name, array in batch._asdict().items():
        assert name == "env_id" or not array[count:].any()


def reset_all(pool: Any) -> None:
    """Resets four environments, whose batches have three rows."""
    pool.send_reset(seed=0)
    pool.recv()
    assert pool.recv(min_rows=1).num_rows == 1


# ------------------------------------------------------------------------------------- rows --


@pytest.mark.quick(2)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("env", ["CartPole-v1", "test/Duel-v0"])
@pytest.mark.parametrize(("batch_size", "num_threads"), [(5, 4), (12, 2)])
def test_every_row_comes_once(env: str, autoreset: str, batch_size: int, num_threads: int) -> None:
    expected = trajectories(env, autoreset, batch_size=NUM_ENVS, num_threads=1, rounds=ROWS)
    pool = Pool(
        env,
        NUM_ENVS,
        batch_size=batch_size,
        num_threads=num_threads,
        autoreset=autoreset,
        max_episode_steps=17,
        seed=5,
    )
    space = pool.spec.action_space()
    space.seed(1)
    actions = np.stack([space.sample() for _ in range(101)])
    made: list[list[tuple[bytes, ...]]] = [[] for _ in range(NUM_ENVS)]
    rng = np.random.default_rng(0)
    counts = set()
    pool.send_reset()
    while any(len(each) < ROWS for each in made):
        min_rows = int(rng.integers(1, batch_size + 1))
        min_rows = min(min_rows, pool.in_flight)
        batch = ready(pool, min_rows) if rng.integers(2) else pool.recv(min_rows=min_rows)
        check_rest(batch, batch_size)
        counts.add(batch.num_rows)
        assert min_rows <= batch.num_rows
        env_ids = batch.rows().env_id.tolist()
        for row, env_id in enumerate(env_ids):
            made[env_id].append(rows_of(pool, batch, row))
        going = [i for i in env_ids if len(made[i]) < ROWS]
        if going:
            pool.send(np.stack([actions[7 * len(made[i]) % 101] for i in going]), going)
    assert pool.in_flight == 0
    pool.close()
    assert made == [each[:ROWS] for each in expected]
    assert min(counts) < batch_size


@pytest.mark.sanitizers
def test_every_row_of_worker_processes_comes_once() -> None:
    rng = np.random.default_rng(0)
    with ProcessPool([Counting] * 7, num_workers=3, batch_size=4, start_method="fork") as pool:
        pool.send_reset(seed=0)
        steps = [-1] * 7
        while min(steps) < 100:
            min_rows = min(int(rng.integers(1, 5)), pool.in_flight)
            batch = ready(pool, min_rows) if rng.integers(2) else pool.recv(min_rows=min_rows)
            check_rest(batch, 4)
            for env_id, obs in zip(batch.rows().env_id, batch.obs, strict=False):
                steps[env_id] += 1
                assert obs[0] == steps[env_id]
            going = [i for i in batch.rows().env_id if steps[i] < 100]
            if going:
                pool.send(np.zeros(len(going), np.int64), going)
        assert pool.in_flight == 0


def test_a_complete_batch_comes_at_once() -> None:
    with pool_of(num_workers=4, batch_size=3) as pool:
        pool.send_reset(seed=0)
        assert pool.recv(min_rows=1, timeout=600).num_rows == 3


def test_a_straggler_is_not_waited_for(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with pool_of(WaitFor(go), when=1, num_workers=4, batch_size=3) as pool:
        reset_all(pool)
        pool.send(ACTIONS[:3], [0, 2, 3])
        batch = pool.recv(min_rows=2)
        check_rest(batch, 3)
        assert sorted(batch.rows().env_id) == [0, 3] and pool.in_flight == 1
        assert [array.shape for array in batch.rows()] == [(2, *a.shape[1:]) for a in batch]
        message = "fewer than min_rows=1 rows within 0 s: 1 environments are in flight"
        with pytest.raises(PoolTimeoutError, match=message):
            pool.recv(min_rows=1, timeout=0)
        with pytest.raises(StateError, match="1 environments are in flight, min_rows=2 need more"):
            pool.recv(min_rows=2)
        pool.send(ACTIONS[:2], [0, 3])
        assert sorted(ready(pool, 2).rows().env_id) == [0, 3]
        go.touch()
        assert pool.recv(min_rows=1).rows().env_id.tolist() == [2]
        pool.send(ACTIONS)
        assert pool.recv().num_rows == 3


class OneStep(Counting):
    """Its episodes have one step."""

    def step(self, action: Any) -> Any:
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, True, truncated, info


@pytest.mark.sanitizers
def test_a_straggler_that_resets_in_the_same_step_is_not_waited_for(tmp_path: Path) -> None:
    go = tmp_path / "go"
    fns: list[Callable[[], Any]] = [Counting] * 4
    fns[2] = lambda: OneStep(WaitFor(go), when=2, at="reset")
    with ProcessPool(
        fns, num_workers=4, batch_size=3, autoreset="same_step", start_method="fork"
    ) as pool:
        reset_all(pool)
        pool.send(ACTIONS[:1], [2])
        until_stepping(pool, 2)
        pool.send(ACTIONS[:2], [0, 3])
        assert sorted(pool.recv(min_rows=2).rows().env_id) == [0, 3]
        pool.send(ACTIONS[:2], [0, 3])
        assert sorted(ready(pool, 2).rows().env_id) == [0, 3]
        go.touch()
        batch = pool.recv(min_rows=1)
        assert batch.env_id.tolist() == [2, -1, -1] and batch.terminated[0]
        assert batch.final_obs[0, 0] == 1 and batch.obs[0, 0] == 0


# ---------------------------------------------------------------------------------- failures --


def fail() -> None:
    raise RuntimeError("no way")


def test_a_failure_comes_with_its_batch() -> None:
    with pool_of(fail, when=1, num_workers=4, batch_size=3) as pool:
        reset_all(pool)
        pool.send(ACTIONS[:1], [2])
        with pytest.raises(RuntimeError, match="no way") as caught:
            pool.recv(min_rows=1)
        error = caught.value.__cause__
        assert isinstance(error, EnvError) and error.env_ids == (2,)
        check_rest(error.batch, 3)
        assert error.batch.env_id.tolist() == [2, -1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_a_worker_dies_while_its_row_is_awaited(on_error: str) -> None:
    received: list[Any] = []

    def receive() -> None:
        try:
            received.append(pool.recv(min_rows=1))
        except EnvError as error:
            received.append(error)

    with pool_of(sleep_for_ever, 1, num_workers=4, batch_size=3, on_error=on_error) as pool:
        reset_all(pool)
        pool.send(ACTIONS[:1], [2])
        until_stepping(pool, 2)
        thread = threading.Thread(target=receive)
        thread.start()
        wait_for(lambda: inspect(pool).state == "receiving")
        kill(pool, 2)
        thread.join()
        batch = received[0].batch if on_error == "raise" else received[0]
        assert isinstance(received[0], EnvError) == (on_error == "raise")
        assert batch.env_id.tolist() == [2, -1, -1]
        assert batch.truncated.tolist() == [on_error == "restart", False, False]
        pool.send(ACTIONS[:3], [0, 1, 3])
        assert pool.recv(min_rows=3).num_rows == 3


@pytest.mark.parametrize("min_rows", [None, 1])
def test_a_batch_that_an_interrupt_kept_back_comes_next(
    min_rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_due = False

    def interrupting(names: Any) -> Any:
        show = batch_maker(names)

        def once(views: Any) -> Any:
            nonlocal is_due
            if is_due:
                is_due = False
                raise KeyboardInterrupt
            return show(views)

        return once

    monkeypatch.setattr(base_pool, "batch_maker", interrupting)
    with Pool("CartPole-v1", 4, batch_size=3, num_threads=2) as pool:
        reset_all(pool)
        pool.send(ACTIONS[:2], [1, 2])
        is_due = True
        with pytest.raises(KeyboardInterrupt):
            pool.recv(min_rows=2)
        assert pool.in_flight == 2
        batch = pool.recv(min_rows=min_rows)
        assert batch.num_rows == 2 and len(batch.obs) == (3 if min_rows else 2)
        assert sorted(batch.rows().env_id) == [1, 2] and pool.in_flight == 0


# --------------------------------------------------------------------------------- arguments --


def test_wrong_numbers_are_refused() -> None:
    with Pool("CartPole-v1", 4, batch_size=3) as pool:
        pool.send_reset()
        for wrong, message in ((0, "choose 1 or more"), (4, "choose 1 to 3")):
            with pytest.raises(ValueError, match=f"min_rows={wrong}: {message}"):
                pool.recv(min_rows=wrong)
        for no_number in (1.5, True, "1"):
            with pytest.raises(TypeError, match="give an integer"):
                pool.recv(min_rows=no_number)  # type: ignore[arg-type]
        assert pool.recv().num_rows == 3


def test_a_synchronous_pool_says_what_to_do() -> None:
    with Pool("CartPole-v1", 4) as pool:
        pool.send_reset()
        with pytest.raises(ValueError, match="choose batch_size < num_envs, or leave min_rows out"):
            pool.recv(min_rows=1)
        assert pool.recv().num_rows == 4


# -------------------------------------------------------------------------------------- APIs --


def test_envpool_infos_have_the_number_of_rows() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, batch_size=3, num_threads=2) as env:
        env.async_reset()
        assert "num_rows" not in env.recv()[4]
        obs, info = env.recv(reset=True, min_rows=1)
        assert obs.shape == (3, 4) and info["num_rows"] == 1
        env.send(np.zeros(2, int), np.array([0, 3]))
        obs, reward, terminated, truncated, info = ready(env, 2)
        assert info["num_rows"] == 2 and sorted(info["env_id"]) == [-1, 0, 3]
        assert obs.shape == (3, 4) and reward.tolist() == [1, 1, 0]
        assert not terminated.any() and not truncated.any()


def test_envpool_failures_have_the_number_of_rows() -> None:
    options = {"fail_on": "step", "fail_env": 1}
    with make_gymnasium("test/Fault-v0", num_envs=4, batch_size=3, num_threads=2, **options) as env:
        env.async_reset()
        env.recv()
        env.recv(min_rows=1)
        env.send(np.zeros(1, int), np.array([1]))
        with pytest.raises(EnvError) as caught:
            env.recv(min_rows=1)
        info = caught.value.batch[4]
        assert info["num_rows"] == 1 and info["env_id"].tolist() == [1, -1, -1]


def test_envpool_rows_of_players_follow_their_environments() -> None:
    with make_gym("test/Duel-v0", num_envs=4, batch_size=3, num_threads=2) as env:
        env.async_reset(np.array([2]))
        *_, info = env.recv(min_rows=1)
        assert info["num_rows"] == 1
        assert info["players"]["env_id"].tolist() == [2, 2, -1, -1, -1, -1]


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    with make_gymnasium("CartPole-v1", num_envs=4, batch_size=3, num_threads=2) as env:
        tensors = env.torch()
        tensors.async_reset()
        tensors.recv()
        obs, *_, info = tensors.recv(min_rows=1)
        assert isinstance(obs, torch.Tensor) and obs.shape == (3, 4)
        assert info["num_rows"] == 1 and (info["env_id"] >= 0).tolist() == [True, False, False]
