"""Rollouts: batches of workers that act by themselves, and the policies that they fetch."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._apis.cluster.sync import divergence
from parallel_pool.cluster import Adaptive, Every, Rollouts
from parallel_pool.errors import ClosedError, StateError, WorkerError
from tests.apis.cluster.cases import Clumsy, Linear, Own, Teller, kill
from tests.support.same import assert_same

ENV, COUNT, STEPS = "CartPole-v1", 4, 20


def local(policy: Linear, steps: int) -> list[tuple[Any, ...]]:
    """Returns the steps of a plain loop."""
    envs = parallel_pool.PoolVectorEnv(ENV, COUNT)
    observations, _ = envs.reset(seed=7)
    ended = np.zeros(COUNT, np.bool_)
    found = []
    for _ in range(steps):
        actions, logs, more = policy.act(observations)
        before, was_reset = observations, ended
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        ended = terminated | truncated
        found.append(
            (before, actions, logs, more["value"], rewards, terminated, truncated, was_reset)
        )
    envs.close()
    return found


def test_batches_are_those_of_a_loop(cluster: Any) -> None:
    policy = Linear(0.1)
    steps = local(policy, 3 * STEPS)
    columns = [np.stack(column) for column in zip(*steps, strict=True)]
    for workers in (1, 2):
        with Rollouts(
            ENV, Linear, COUNT, steps=STEPS, num_workers=workers, seed=7, ordered=True
        ) as made:
            made.publish(policy)
            for turn in range(3 * workers):
                batch = next(made)
                assert batch.worker == turn % workers and batch.is_first == (turn < workers)
                at = slice(turn // workers * STEPS, (turn // workers + 1) * STEPS)
                found = (
                    *(batch.observations, batch.actions, batch.log_probs, batch.extras["value"]),
                    *(batch.rewards, batch.terminations, batch.truncations, batch.resets),
                )
                for own, expected in zip(found, columns, strict=True):
                    assert_same(own, np.ascontiguousarray(expected[at, batch.rows]), f"turn {turn}")
                assert all(own.flags.writeable for own in found)
                # an episode's length counts its steps, and CartPole rewards each with 1
                assert batch.returns == batch.lengths
                assert len(batch.returns) == (batch.terminations | batch.truncations).sum()


def test_a_frozen_policy_is_fetched_once(cluster: Any) -> None:
    for rule in (Every(1), Every(3), Adaptive(0.01), Adaptive(0)):
        with Rollouts(ENV, Linear, COUNT, steps=8, num_workers=2, sync=rule) as made:
            policy, workers = Linear(0.1), []
            # batches come from whichever worker is ready
            while len(workers) < 12 or len(set(workers)) < 2:
                assert made.publish(policy) == 0
                workers.append(next(made).worker)
            stats = made.stats
            assert (stats.batches, stats.fetches, stats.max_age) == (len(workers), 2, 0)
            assert stats.bytes_fetched == 2 * policy.weights.nbytes


def ages(rule: Any, turns: int = 12, change: float = 1e-3) -> list[int]:
    """Returns the age of each batch, of a policy that changes after each, and of one worker."""
    policy, found = Linear(0.1), []
    with Rollouts(ENV, Linear, 2, steps=8, num_workers=1, sync=rule, seed=0) as made:
        for _ in range(turns):
            made.publish(policy)
            batch = next(made)
            found.append(batch.age)
            policy = Linear(policy.weights[0, 1] + change)
    return found


def test_rules(cluster: Any) -> None:
    assert ages(Every(1)) == ages(Adaptive(0)) == [0] * 12
    assert ages(Every(3)) == [0, 1, 2] * 4
    # a change that is too small to matter: only the bound on the age makes a worker fetch
    assert ages(Adaptive(10.0, max_age=3)) == [0, 1, 2, 3] * 3
    assert ages(Adaptive(1e-9, max_age=3), change=0.5) == [0] * 12


def test_divergence_is_that_of_one_state() -> None:
    """Not of their sum: it does not depend on how many there are."""
    rng = np.random.default_rng(0)
    old, new = Linear(0.0), Linear(0.3)
    exact = []
    for count in (4, 64, 4096):
        states = rng.normal(size=(count, 4))
        actions, behaviour, _ = old.act(states)
        actions = rng.integers(2, size=count)
        behaviour = old.log_prob(states, actions)
        exact.append(divergence(new.log_prob(states, actions), behaviour))
    states = rng.normal(size=(100_000, 4))
    p, q = np.exp(old.logs(states)), old.logs(states) - new.logs(states)
    assert exact[-1] == pytest.approx((p * q).sum(-1).mean(), rel=0.1)
    assert exact[0] < 10 * exact[-1]
    assert divergence(behaviour, behaviour) == 0
    assert min(divergence(rng.normal(size=8), rng.normal(size=8)) for _ in range(100)) > 0


def test_lost_workers(cluster: Any) -> None:
    options: dict[str, Any] = {"steps": STEPS, "num_workers": 2, "ordered": True}
    with Rollouts(ENV, Linear, COUNT, sync=Every(100), **options) as made:
        made.publish(Linear(0.1))
        assert [next(made).is_first for _ in range(4)] == [True, True, False, False]
        kill(made.workers[1]["pid"])
        new = next(made)
        while not new.is_first:
            new = next(made)
        assert new.worker == 1 and new.observations.shape == (STEPS, 2, 4)
        # the new one has fetched, although the rule would not have
        assert made.stats.lost_batches == made.stats.restarts == 1 and made.stats.fetches == 3
    with Rollouts(ENV, Linear, COUNT, num_workers=2, on_worker_loss="raise") as made:
        made.publish(Linear())
        next(made)
        for each in made.workers:
            kill(each["pid"])
        for _ in made.workers:
            with pytest.raises(WorkerError, match="died"):
                for _ in range(3):
                    next(made)
        # others take their places
        seen: set[int] = set()
        while seen != {0, 1}:
            seen.add(next(made).worker)


@pytest.mark.parametrize(("overlap", "ages"), [(False, [0, 1, 1, 1, 1]), (True, [0, 1, 2, 2, 2])])
def test_one_request_in_flight_for_each_worker(
    overlap: bool, ages: list[int], cluster: Any
) -> None:
    """So batches wait for a slow learner, and are no older than there are workers."""
    options: dict[str, Any] = {"steps": 4, "num_workers": 2, "ordered": True, "overlap": overlap}
    with Rollouts(ENV, Linear, COUNT, sync=Every(1), **options) as made:
        found = []
        for turn in range(5):
            made.publish(Linear(turn + 1.0))
            found.append(next(made).age)
            time.sleep(0.1)
        assert found == ages


def test_misuse(cluster: Any) -> None:
    with pytest.raises(TypeError, match="policy_fn"):
        Rollouts(ENV, None, 2)  # type: ignore[arg-type]
    for wrong in (
        {"steps": 0},
        {"sync": None, "timeout": -1},
        {"on_worker_loss": "?"},
        {"seed": -1},
    ):
        with pytest.raises(ValueError):
            Rollouts(ENV, Linear, 2, **wrong)
    with pytest.raises(ValueError, match="threshold"):
        Adaptive(-1)
    with pytest.raises(ValueError, match="period"):
        Every(0)
    made = Rollouts(ENV, Linear, 2, num_workers=1)
    with pytest.raises(StateError, match=r"publish\(policy\) first"):
        next(made)
    made.close()
    with pytest.raises(ClosedError):
        next(made)

    def raises() -> Any:
        raise Own("no policy")

    with pytest.raises(Own, match="no policy"):
        Rollouts(ENV, raises, 2, num_workers=1)


def test_exceptions_come_through(cluster: Any) -> None:
    with Rollouts(Teller, Clumsy, 2, num_workers=1) as made:
        made.publish(Clumsy())
        with pytest.raises(Own, match="asked for"):
            next(made)
