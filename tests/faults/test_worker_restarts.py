"""Workers that are replaced after death: their environments' rows, and when a pool gives up."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._workers.data.messages import FINAL_INFO, INFO, MAX_RESTARTS
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.watch import supervisor
from parallel_pool.errors import StateError, WorkerError
from parallel_pool.testing import inspect
from tests.faults.failing_envs import (
    ACTIONS,
    ENV_ID,
    OBS,
    REWARD,
    TERMINATED,
    TRUNCATED,
    Counting,
    InTurn,
    WaitFor,
    first_of,
    kill,
    kill_self,
    nothing,
    pid_of,
    pool_of,
    sleep_for_ever,
    until_restarted,
    until_stepping,
)
from tests.support.sampling import thinned
from tests.support.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")

MODES = ("next_step", "same_step", "disabled")
FLAGS = (REWARD, TERMINATED, TRUNCATED)


def reported_seeds(pool: ProcessPool, env_ids: Any = (2, 3)) -> list[int]:
    """Returns restart seeds from the last batch's infos, which must report a restart only."""
    seeds = []
    replies = pool.replies()
    for env_id in env_ids:
        info = replies[env_id][INFO]
        assert (
            set(info) == {"worker_restarted", "restart_seed"} and info["worker_restarted"] is True
        )
        assert 0 <= info["restart_seed"] < 2**63
        seeds.append(info["restart_seed"])
    return seeds


def check_report(pool: ProcessPool, batch: Any, last: Any, steps: int) -> list[int]:
    """Checks the batch that reports a restart of environments 2 and 3; returns their seeds.

    Args:
        last: their last observations before the restart.
        steps: the number of steps that environments 0 and 1, which go on, have made.
    """
    np.testing.assert_array_equal(batch[ENV_ID], range(4))
    np.testing.assert_array_equal(batch[REWARD], [1, 1, 0, 0])
    np.testing.assert_array_equal(batch[TERMINATED], [False] * 4)
    np.testing.assert_array_equal(batch[TRUNCATED], [False, False, True, True])
    np.testing.assert_array_equal(batch[OBS][:2, 0], [steps, steps])
    seeds = reported_seeds(pool)
    assert set(pool.replies()) == {2, 3}
    if pool.autoreset != "same_step":
        np.testing.assert_array_equal(batch[OBS][2:], last)
        return seeds
    columns = [(column.name, column.is_final) for column in pool.columns]
    np.testing.assert_array_equal(batch[columns.index(("obs", True))][2:], last)
    np.testing.assert_array_equal(batch[OBS][2:], [[0, first_of(seed)] for seed in seeds])
    assert [pool.replies()[env_id][FINAL_INFO] for env_id in (2, 3)] == [{}, {}]
    return seeds


def check_started(pool: ProcessPool, seeds: list[int], steps: int) -> None:
    """Checks that environments 2 and 3 start an episode with these seeds, as their autoreset does.

    Args:
        steps: the number of steps that environments 0 and 1 have made after the next one.
    """
    if pool.autoreset == "same_step":
        # their episodes have started in the row that reported the restart
        batch = pool.step(ACTIONS)
        np.testing.assert_array_equal(batch[OBS][:, 0], [steps, steps, 1, 1])
    elif pool.autoreset == "next_step":
        batch = pool.step(ACTIONS)
        np.testing.assert_array_equal(batch[OBS][:, 0], [steps, steps, 0, 0])
        np.testing.assert_array_equal(batch[REWARD], [1, 1, 0, 0])
    else:
        with pytest.raises(StateError, match=r"environment 2 .*reset it first"):
            pool.step(ACTIONS)
        # nothing was sent
        batch = pool.step(ACTIONS[:2], [0, 1])
        np.testing.assert_array_equal(batch[OBS][:, 0], [steps, steps])
        batch = pool.reset([2, 3])
        np.testing.assert_array_equal(batch[OBS][:, 0], [0, 0])
    np.testing.assert_array_equal(batch[OBS][-2:, 1], [first_of(seed) for seed in seeds])
    assert not batch[TRUNCATED].any() and not pool.replies()


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", MODES)
def test_a_worker_killed_in_flight_is_replaced(autoreset: str, tmp_path: Path) -> None:
    release = tmp_path / "release"
    with pool_of(WaitFor(release), on_error="restart", autoreset=autoreset) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        last = pool.step(ACTIONS)[OBS][2:]
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        kill(pool, 1)
        seeds = check_report(pool, pool.recv(), last, 3)
        release.touch()
        check_started(pool, seeds, 4)


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", MODES)
def test_a_worker_killed_while_idle_is_replaced(autoreset: str) -> None:
    with pool_of(on_error="restart", autoreset=autoreset) as pool:
        pool.reset(seed=0)
        last = pool.step(ACTIONS)[OBS][2:]
        kill(pool, 1)
        seeds = check_report(pool, pool.step(ACTIONS), last, 2)
        check_started(pool, seeds, 3)


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", thinned(["next_step", "same_step"], 2))
def test_a_worker_killed_in_an_autoreset_is_replaced(autoreset: str, tmp_path: Path) -> None:
    """A restart ended the last episode; the reset of the next one is part of a step."""
    release = tmp_path / "release"
    trouble = WaitFor(release)
    with pool_of(trouble, 1, "reset", on_error="restart", autoreset=autoreset) as pool:
        release.touch()
        last = pool.reset(seed=0)[OBS][2:]
        release.unlink()
        kill(pool, 1)
        if autoreset == "next_step":
            check_report(pool, pool.step(ACTIONS), last, 1)
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        kill(pool, 1)
        release.touch()
        steps = 2 if autoreset == "next_step" else 1
        seeds = check_report(pool, pool.recv(), last, steps)
        check_started(pool, seeds, steps + 1)


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", thinned(MODES, 3))
@pytest.mark.parametrize("seed", thinned([None, 5], 2))
def test_a_worker_killed_in_an_explicit_reset_is_replaced(
    autoreset: str, seed: int | None, tmp_path: Path
) -> None:
    """The next worker repeats the reset with its arguments, and infos report the restart."""
    release = tmp_path / "release"
    trouble = WaitFor(release)
    with pool_of(trouble, 1, "reset", on_error="restart", autoreset=autoreset) as pool:
        for _ in range(2):
            release.unlink(missing_ok=True)
            pool.send_reset(seed=seed, options={"of": "its own"})
            until_stepping(pool, 2)
            kill(pool, 1)
            release.touch()
            batch = pool.recv()
            new_seeds = reported_seeds(pool)
            assert seed is None or new_seeds == [seed + 2, seed + 3]
            np.testing.assert_array_equal(
                batch[OBS][2:], [[0, first_of(each)] for each in new_seeds]
            )
            assert not batch[TRUNCATED].any() and not batch[REWARD].any()
            np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [1] * 4)
            assert not pool.replies()
            # only the first reset of a worker waits for the file: the next round needs a new worker
            kill(pool, 1)
            until_restarted(pool)


def test_a_reset_after_a_death_reports_it() -> None:
    with pool_of(on_error="restart") as pool:
        pool.reset(seed=0)
        kill(pool, 1)
        batch = pool.reset()
        seeds = reported_seeds(pool)
        np.testing.assert_array_equal(batch[OBS][2:], [[0, first_of(each)] for each in seeds])
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [1] * 4)
        assert not pool.replies()


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", MODES)
def test_a_worker_killed_by_the_timeout_is_replaced(autoreset: str, tmp_path: Path) -> None:
    trouble = InTurn(tmp_path / "calls", sleep_for_ever)
    options: dict[str, Any] = {"on_error": "restart", "autoreset": autoreset, "timeout": 2.0}
    with pool_of(trouble, **options) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        last = pool.step(ACTIONS)[OBS][2:]
        seeds = check_report(pool, pool.step(ACTIONS), last, 3)
        assert "environment 2 took longer than timeout=2.0 s" in str(inspect(pool).deaths[1])
        check_started(pool, seeds, 4)


def test_a_worker_killed_before_the_first_observation_is_replaced() -> None:
    with pool_of(on_error="restart") as pool:
        kill(pool, 1)
        # no episode was lost: the reset uses the given seed and reports no restart
        np.testing.assert_array_equal(pool.reset(seed=7)[OBS][:, 0], [0, 0, 0, 0])
        np.testing.assert_array_equal(
            pool.reset(seed=7)[OBS][:, 1], [first_of(7 + i) for i in range(4)]
        )


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_an_unordered_pool_reports_each_restart_once(autoreset: str, tmp_path: Path) -> None:
    release = tmp_path / "release"
    options: dict[str, Any] = {"on_error": "restart", "autoreset": autoreset, "batch_size": 2}
    with pool_of(WaitFor(release), **options) as pool:
        pool.send_reset(seed=0)
        last: dict[int, Any] = {}
        restarted: dict[int, int] = {}
        started: dict[int, Any] = {}
        while len(started) < 2:
            batch = pool.recv()
            for row, env_id in enumerate(batch[ENV_ID].tolist()):
                if batch[TRUNCATED][row]:
                    assert env_id in (2, 3) and env_id not in restarted and not batch[REWARD][row]
                    restarted[env_id] = pool.replies()[env_id][INFO]["restart_seed"]
                    if autoreset == "next_step":
                        np.testing.assert_array_equal(batch[OBS][row], last[env_id])
                    else:
                        started[env_id] = batch[OBS][row].tolist()
                elif env_id in restarted and env_id not in started:
                    started[env_id] = batch[OBS][row].tolist()
                last[env_id] = batch[OBS][row]
            pool.send([0, 0], batch[ENV_ID])
            if 2 in batch[ENV_ID] and last[2][0] == 2 and not release.exists():
                until_stepping(pool, 2)
                kill(pool, 1)
                release.touch()
        assert started == {env_id: [0, first_of(seed)] for env_id, seed in restarted.items()}
        assert set(started) == {2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_deaths_with_steps_between_them_are_not_added_up(autoreset: str) -> None:
    """There are more deaths than a worker that makes no step may have."""
    with pool_of(None, on_error="restart", autoreset=autoreset) as pool:
        pool.reset(seed=0)
        steps = 0
        for _ in range(2 * MAX_RESTARTS):
            for _ in range(3):
                last = pool.step(ACTIONS)[OBS][2:]
            kill(pool, 1)
            steps += 4
            seeds = check_report(pool, pool.step(ACTIONS), last, steps)
            steps += 1
            check_started(pool, seeds, steps)


@pytest.mark.slow
def test_all_workers_killed_at_once_are_replaced() -> None:
    with pool_of(None, on_error="restart") as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        kill(pool, 0)
        kill(pool, 1)
        batch = pool.step(ACTIONS)
        assert batch[TRUNCATED].all() and not batch[REWARD].any()
        seeds = reported_seeds(pool, range(4))
        assert len(set(seeds)) == 4
        np.testing.assert_array_equal(
            pool.step(ACTIONS)[OBS], [[0, first_of(seed)] for seed in seeds]
        )


@pytest.mark.slow
def test_a_restart_is_reported_once(tmp_path: Path) -> None:
    """A second death before the environment has stepped is not reported again."""
    release = tmp_path / "release"
    with pool_of(WaitFor(release), 2, on_error="restart") as pool:
        pool.reset(seed=0)
        last = pool.step(ACTIONS)[OBS][2:]
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        kill(pool, 1)
        release.touch()
        seeds = check_report(pool, pool.recv(), last, 2)
        until_restarted(pool)
        kill(pool, 1)
        check_started(pool, seeds, 3)


@pytest.mark.slow
def test_a_worker_that_dies_now_and_then_is_replaced_each_time() -> None:
    with pool_of(lambda: os._exit(1), on_error="restart") as pool:
        pool.reset(seed=0)
        # it dies at each third step: two steps have succeeded, so it is not given up
        restarts = 0
        for _ in range(25):
            pool.step(ACTIONS)
            reply = pool.replies().get(2, {})
            restarts += "worker_restarted" in reply.get(INFO, {})
        assert restarts >= 5


def reason_of_loss(pool: ProcessPool) -> str:
    """Waits until lane 1 is given up; returns why."""
    wait_for(lambda: inspect(pool).lost)
    return inspect(pool).lost[1]


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", MODES)
def test_a_worker_that_dies_at_each_start_is_given_up(autoreset: str, tmp_path: Path) -> None:
    """The constructor of its first environment kills the process when called again."""
    made = InTurn(tmp_path / "made", nothing, *[kill_self] * 20)

    def make() -> Any:
        made()
        return Counting()

    fns: list[Any] = [Counting, Counting, make, Counting]
    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork"}
    with ProcessPool(fns, on_error="restart", autoreset=autoreset, **options) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        pid = pid_of(pool, 1)
        pool.send(ACTIONS)
        kill(pool, 1)
        said = reason_of_loss(pool)
        assert made.calls == 1 + MAX_RESTARTS
        assert f"worker process {pid} was killed by SIGKILL" in said
        assert f"and {MAX_RESTARTS} restarts in a row made no step, the last because of" in said
        assert "SIGKILL before environments 2 to 3 could be made" in said
        first = pool.in_flight and _received(pool)
        if isinstance(first, WorkerError):
            assert said in str(first) and first.env_ids == (2, 3)
        for refused in (
            lambda: pool.step(ACTIONS),
            lambda: pool.send(ACTIONS[:1], [3]),
            lambda: pool.reset([2]),
            lambda: pool.call("reset", env_ids=[2]),
        ):
            with pytest.raises(StateError) as caught:
                refused()
            assert said in str(caught.value) and "make a new pool" in str(caught.value)
        # the others go on
        steps = pool.step(ACTIONS[:2], [0, 1])[OBS][:, 0]
        np.testing.assert_array_equal(steps, [3, 3])


def _received(pool: ProcessPool) -> Any:
    try:
        return pool.recv()
    except WorkerError as error:
        return error


@pytest.mark.slow
def test_a_worker_that_dies_in_each_reset_is_given_up(tmp_path: Path) -> None:
    trouble = InTurn(tmp_path / "calls", nothing, *[kill_self] * 20)
    with pool_of(trouble, 1, "reset", on_error="restart") as pool:
        pool.reset(seed=0)
        kill(pool, 1)
        truncated = []
        with pytest.raises(WorkerError, match="restarts in a row made no step") as caught:
            while True:
                truncated.append(pool.step(ACTIONS)[TRUNCATED].tolist())
        # rows that report restarts do not count as steps
        assert truncated == [[False, False, True, True]] * MAX_RESTARTS
        assert caught.value.env_ids == (2, 3)
        assert "SIGKILL while it stepped environment 2" in str(caught.value)
        np.testing.assert_array_equal(caught.value.batch[OBS][:2, 0], [MAX_RESTARTS + 1] * 2)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [4, 2])
@pytest.mark.parametrize("autoreset", MODES)
def test_a_worker_that_dies_at_each_first_step_is_given_up(autoreset: str, batch_size: int) -> None:
    """It makes and resets its environments and reports restarts, but completes no step."""
    options: dict[str, Any] = {"autoreset": autoreset, "batch_size": batch_size}
    with pool_of(kill_self, 1, on_error="restart", **options) as pool:
        pool.send_reset()
        restarts = 0
        with pytest.raises(
            WorkerError, match=f"{MAX_RESTARTS} restarts in a row made no step"
        ) as caught:
            while restarts < 100:
                batch = pool.recv()
                ids, cut = batch[ENV_ID], batch[TRUNCATED]
                restarts += int(cut[ids == 2].sum())
                if autoreset == "disabled" and cut.any():
                    pool.send_reset(ids[cut])
                    ids = ids[~cut]
                if len(ids):
                    pool.send(np.zeros(len(ids), np.int64), ids)
        assert restarts == MAX_RESTARTS
        assert "SIGKILL while it stepped environment 2" in str(caught.value)


@pytest.mark.slow
def test_an_environment_that_cannot_be_made_again_is_named(tmp_path: Path) -> None:
    def refuse() -> None:
        raise OSError("the licence is %d used")

    made = InTurn(tmp_path / "made", nothing, *[refuse] * 20)

    def make() -> Any:
        made()
        return Counting()

    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork", "on_error": "restart"}
    with ProcessPool([Counting, Counting, Counting, make], **options) as pool:
        pool.reset(seed=0)
        kill(pool, 1)
        said = reason_of_loss(pool)
        assert f"{MAX_RESTARTS} restarts" in said and "OSError: the licence is %d used" in said
        assert made.calls == 1 + MAX_RESTARTS


@pytest.mark.slow
def test_a_start_that_fails_now_and_then_is_tried_again(tmp_path: Path) -> None:
    def refuse() -> None:
        raise OSError("not now")

    made = InTurn(tmp_path / "made", nothing, refuse, kill_self)

    def make() -> Any:
        made()
        return Counting()

    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork", "on_error": "restart"}
    with ProcessPool([Counting, Counting, make, Counting], **options) as pool:
        pool.reset(seed=0)
        last = pool.step(ACTIONS)[OBS][2:]
        kill(pool, 1)
        seeds = check_report(pool, pool.step(ACTIONS), last, 2)
        assert made.calls == 4
        check_started(pool, seeds, 3)


@pytest.mark.slow
def test_a_lane_is_given_up_when_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    with pool_of(None, on_error="restart") as pool:
        pool.reset(seed=0)

        def refuse(*_: Any, **__: Any) -> Any:
            raise OSError(11, "too many processes")

        monkeypatch.setattr(supervisor.startup.launch, "start", refuse)
        kill(pool, 1)
        assert f"{MAX_RESTARTS} restarts" in reason_of_loss(pool)
        with pytest.raises(StateError, match="too many processes"):
            pool.step(ACTIONS)


def test_a_lane_is_given_up_when_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """When handling a death fails, no call waits for ever."""
    with pool_of(sleep_for_ever, on_error="restart") as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        pool.step(ACTIONS)
        pool.send(ACTIONS)
        until_stepping(pool, 2)

        def refuse(_: Any) -> Any:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(supervisor.threading.Thread, "start", refuse)
        kill(pool, 1)
        assert "no other could be started: RuntimeError: can't start new thread" in reason_of_loss(
            pool
        )
        monkeypatch.undo()
        pool.recv()
        with pytest.raises(StateError, match="can't start new thread"):
            pool.step(ACTIONS)


def test_calls_wait_for_the_next_worker() -> None:
    with pool_of(None, on_error="restart") as pool:
        pool.reset(seed=0)
        before = pid_of(pool, 1)
        kill(pool, 1)
        pids = pool.apply(lambda env: os.getpid())
        assert pids[2] == pids[3] != before
        assert pids[2:] == [pid_of(pool, 1)] * 2


def test_a_call_that_kills_its_worker_is_an_error(tmp_path: Path) -> None:
    with pool_of(None, on_error="restart") as pool:
        pool.reset(seed=0)
        with pytest.raises(WorkerError, match=r"apply of environments \[2, 3\] failed: .*SIGKILL"):
            pool.apply(lambda env: os.kill(os.getpid(), signal.SIGKILL), [2, 3])
        assert pool.get_attr("steps") == [0, 0, 0, 0]


@pytest.mark.slow
def test_the_fork_server_replaces_a_worker() -> None:
    with pool_of(None, on_error="restart", start_method="forkserver") as pool:
        pool.reset(seed=0)
        last = pool.step(ACTIONS)[OBS][2:]
        kill(pool, 1)
        seeds = check_report(pool, pool.step(ACTIONS), last, 2)
        names = pool.apply(lambda env: multiprocessing.current_process().name)
        assert names[2:] == ["parallel_pool-1"] * 2
        check_started(pool, seeds, 3)
