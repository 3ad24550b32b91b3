"""on_error="replace": a worker that dies is replaced, and what it had in flight fails."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool import ProcessPool
from parallel_pool._workers.start import gymnasium_registry
from parallel_pool.errors import StateError, WorkerError
from parallel_pool.testing import inspect
from tests.faults.failing_envs import (
    ACTIONS,
    OBS,
    Counting,
    first_of,
    kill,
    kill_self,
    pool_of,
    sleep_for_ever,
    until_restarted,
    until_stepping,
)
from tests.support.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")

MODES = ("next_step", "same_step", "disabled")


def begin_again(pool: Any) -> None:
    """Begins the next episode of environments 2 and 3, as their autoreset does."""
    if pool.autoreset == "disabled":
        with pytest.raises(StateError, match="reset it first"):
            pool.step(ACTIONS)
        batch = pool.reset([2, 3], seed=[5, 6])
        np.testing.assert_array_equal(batch[OBS], [[0, first_of(5)], [0, first_of(6)]])
    else:
        # a reset without a seed
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][2:], [[0, -1], [0, -1]])
    assert pool.step(ACTIONS)[OBS][2:, 0].tolist() == [1, 1]


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", MODES)
def test_what_is_in_flight_fails_and_others_fail_at_their_next_step(autoreset: str) -> None:
    with pool_of(kill_self, 2, on_error="replace", autoreset=autoreset) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        # environment 3 is in the same worker
        with pytest.raises(WorkerError, match="killed by SIGKILL while it stepped") as caught:
            pool.step(ACTIONS[:3], [0, 1, 2])
        assert caught.value.env_ids == (2,)
        assert caught.value.batch[OBS][:2, 0].tolist() == [2, 2]
        with pytest.raises(StateError, match="environment 3 has died and was replaced"):
            pool.step(ACTIONS[:1], [3])
        begin_again(pool)
        assert not pool.replies()


def test_a_reset_in_flight_fails_too_and_is_not_done_again() -> None:
    with pool_of(sleep_for_ever, 2, "reset", on_error="replace") as pool:
        pool.reset(seed=0)
        pool.send_reset(seed=1)
        until_stepping(pool, 2)
        kill(pool, 1)
        with pytest.raises(WorkerError) as caught:
            pool.recv()
        assert 2 in caught.value.env_ids
        batch = pool.reset(seed=3)
        np.testing.assert_array_equal(batch[OBS][:, 1], [first_of(3 + i) for i in range(4)])


@pytest.mark.slow
def test_a_worker_killed_while_idle_is_noticed_at_the_next_step() -> None:
    with pool_of(on_error="replace", autoreset="disabled") as pool:
        for _ in range(6):
            pool.reset(seed=0)
            kill(pool, 1)
            until_restarted(pool)
            with pytest.raises(StateError, match="has died and was replaced"):
                pool.step(ACTIONS)
            with pytest.raises(StateError, match="reset it first"):
                pool.step(ACTIONS)


@pytest.mark.slow
def test_a_worker_that_only_dies_is_given_up() -> None:
    with pool_of(on_error="replace") as pool:
        pool.reset(seed=0)

        def dies() -> bool:
            if 1 not in inspect(pool).lost:
                if inspect(pool).worker_pids[1] is not None and not inspect(pool).restarting:
                    kill(pool, 1)
                return False
            return True

        wait_for(dies)
        assert "restarts in a row made no step" in inspect(pool).lost[1]
        with pytest.raises(StateError, match="has died"):
            pool.step(ACTIONS)
        pool.step(ACTIONS[:2], [0, 1])


def test_exceptions_are_raised_and_the_environment_is_kept() -> None:
    def fail() -> None:
        raise ValueError("as asked")

    with pool_of(fail, 1, on_error="replace") as pool:
        pids = pool.worker_pids
        pool.reset(seed=0)
        with pytest.raises(ValueError, match="as asked"):
            pool.step(ACTIONS)
        assert pool.step(ACTIONS)[OBS][:, 0].tolist() == [2, 2, 0, 2]
        assert pool.worker_pids == pids
        assert isinstance(pool.call("unwrapped", env_ids=[0])[0], Counting)


class Named(Counting):
    """Makes an environment that was registered, in a worker, when it is asked to."""

    def made(self) -> str:
        return gymnasium.make("OfFirstWorkers-v0").unwrapped.__class__.__name__


@pytest.mark.slow
def test_later_workers_know_the_registered_environments_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gathered = []
    gather = gymnasium_registry.gather
    monkeypatch.setattr(gymnasium_registry, "gather", lambda: gathered.append(1) or gather())
    gymnasium.register("OfFirstWorkers-v0", entry_point=Counting)
    try:
        with ProcessPool([Named] * 2, num_workers=2, on_error="replace") as pool:
            del gymnasium.registry["OfFirstWorkers-v0"]
            for _ in range(2):
                pool.reset(seed=0)
                kill(pool, 1)
                until_restarted(pool)
                assert pool.call("made") == ["Counting"] * 2
    finally:
        gymnasium.registry.pop("OfFirstWorkers-v0", None)
    # pickling it for each would be a third of what the pool's process spends on a start
    assert len(gathered) == 1
