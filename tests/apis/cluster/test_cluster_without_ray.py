"""What callers of a cluster are told and given, with actors in this process."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from parallel_pool import PoolVectorEnv
from parallel_pool._apis.cluster import collector, results, worker
from parallel_pool._apis.common.vector_errors import NotResetError, PendingCallError
from parallel_pool.cluster import Adaptive, ClusterVectorEnv, Every, Rollouts
from parallel_pool.compat.sb3 import ClusterVecEnv
from parallel_pool.errors import ClosedError, EnvError, ForkedError, StateError
from tests.apis.cluster.cases import Own
from tests.apis.cluster.local_session import LocalSession
from tests.support.interrupts import Interrupter, interrupt_every_step_wait
from tests.support.same import assert_same

ray = pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[LocalSession]]:
    """Puts actors into this process, and keeps it as it is: a worker has one of its own."""
    for name in ("rollouts", "vector_env"):
        monkeypatch.setattr(f"parallel_pool._apis.cluster.{name}.Session", LocalSession)
    monkeypatch.setattr(worker, "limit_cores", lambda cores: None)
    monkeypatch.setattr(worker, "use_numa_node", lambda rank: None)
    monkeypatch.setattr(worker.Worker, "node", lambda self: "here")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    make_local = worker.make_local

    def without_processes(env: Any, *arguments: Any, **options: Any) -> Any:
        more = {} if isinstance(env, str) else {"num_workers": 0}
        return make_local(env, *arguments, **options, **more)

    monkeypatch.setattr(worker, "make_local", without_processes)
    monkeypatch.setattr(ray, "get", lambda reference: reference)
    yield LocalSession
    for made in LocalSession.made:
        for actor in made.actors:
            made.kill(actor)
    LocalSession.made.clear()


class Counter(gymnasium.Env[Any, Any]):
    """Shows how many steps of its episode there were. It raises once, at a step of that number."""

    observation_space = gymnasium.spaces.Box(0, np.inf, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, raises_at: int = 0) -> None:
        self.raises_at = raises_at

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.count == self.raises_at:
            self.raises_at = 0
            raise Own("asked for")
        return np.full(1, float(self.count)), 1.0, False, False, {}


class Still:
    """A policy that does nothing, and shows its weight as log probabilities."""

    def __init__(self, weight: float = 0.0) -> None:
        self.weight = np.array([weight])

    def act(self, observations: Any) -> Any:
        count = len(observations)
        return np.zeros(count, np.int64), np.full(count, self.weight[0]), {}

    def log_prob(self, observations: Any, actions: Any) -> Any:
        return np.full(len(actions), self.weight[0])

    def state(self) -> Any:
        return {"weight": self.weight}

    def load(self, state: Any) -> None:
        self.weight = state["weight"]


def counts(batch: Any) -> Any:
    return batch.observations[..., 0].tolist()


# -------------------------------------------------------------------------------- rollouts --


@pytest.mark.parametrize("lost", ["before a batch", "after a batch"])
def test_new_environments_repeat_no_episode(lost: str) -> None:
    options: dict[str, Any] = {"num_workers": 1, "steps": 4, "seed": 5}
    with Rollouts("CartPole-v1", Still, 2, **options) as made:
        made.publish(Still())
        first = None if lost == "before a batch" else next(made)
        LocalSession.made[-1].actors[-1].is_dead = True
        new = next(made)
        assert new.is_first and made.stats.lost_batches == made.stats.restarts == 1
        with closing(PoolVectorEnv("CartPole-v1", 2, backend="native")) as same:
            expected, _ = same.reset(seed=5)
        # its episodes were not played before
        is_same = np.array_equal(new.observations[0], expected)
        assert is_same == (lost == "before a batch")
        if first is not None:
            np.testing.assert_array_equal(first.observations[0], expected)


def test_restarts_are_counted_if_losses_are_raised() -> None:
    with Rollouts("CartPole-v1", Still, 2, num_workers=1, on_worker_loss="raise") as made:
        made.publish(Still())
        next(made)
        LocalSession.made[-1].actors[-1].is_dead = True
        with pytest.raises(EnvError, match="died"):
            next(made)
        assert next(made).is_first and made.stats.restarts == 1


def test_a_batch_after_an_exception_begins_new_episodes() -> None:
    """Some environments have stepped since the observations that the policy was shown last."""
    functions = [Counter, partial(Counter, raises_at=3)]
    task = collector.CollectorTask(functions, None, policy_fn=Still, steps=4)
    made = collector.Collector()
    made.do("open", task)
    with closing(made.envs):
        raised = made.do("collect", 0, [])
        assert isinstance(raised, worker.Raised) and raised.failure.kind == "Own"
        batch = made.do("collect", 0, [])
        assert batch.is_first and not batch.resets.any()
        assert counts(batch) == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
        after = made.do("collect", 0, [])
        assert not after.is_first and counts(after)[0] == [4.0, 4.0]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, "Disabled"])
def test_batches_have_one_autoreset_mode(mode: Any) -> None:
    with pytest.raises(ValueError, match=r"autoreset_mode=\w+: Rollouts have NEXT_STEP only"):
        Rollouts("CartPole-v1", Still, 2, num_workers=1, autoreset_mode=mode)
    assert not LocalSession.made
    Rollouts("CartPole-v1", Still, 2, num_workers=1, autoreset_mode="NextStep").close()


def test_a_policy_that_can_not_be_stored_is_not_published() -> None:
    def fail() -> None:
        raise MemoryError("the object store is full")

    with Rollouts("CartPole-v1", Still, 2, num_workers=1, sync=Every(1)) as made:
        made.publish(Still(0.0))
        next(made)
        session = LocalSession.made[-1]
        session.before_put, before = fail, session.before_put
        with pytest.raises(MemoryError, match="full"):
            made.publish(Still(1.0))
        assert made.version == 0
        session.before_put = before
        assert made.publish(Still(1.0)) == 1
        batch = next(made)
        assert batch.version == 1 and (batch.log_probs == 1.0).all()


def test_a_failed_request_for_the_next_batch_loses_none() -> None:
    class Broken(Still):
        def log_prob(self, observations: Any, actions: Any) -> Any:
            raise Own("no log probabilities")

    options: dict[str, Any] = {"sync": Adaptive(), "overlap": True, "num_workers": 1, "steps": 3}
    with Rollouts(Counter, Still, 1, **options) as made:
        made.publish(Still(0.0))
        found = [next(made)]
        made.publish(Broken(1.0))
        found.append(next(made))
        with pytest.raises(Own, match="no log probabilities"):
            next(made)
        made.publish(Still(2.0))
        found.append(next(made))
    seen = [count for batch in found for count in counts(batch)]
    assert seen == [[float(i)] for i in range(9)]


def test_rollouts_are_of_one_process_and_have_no_copies() -> None:
    with Rollouts("CartPole-v1", Still, 2, num_workers=1) as made:
        made.publish(Still())
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            copy.copy(made)
        child = os.fork()
        if not child:
            said = b""
            try:
                next(made)
            except ForkedError as error:
                said = str(error).encode()
            finally:
                os._exit(0 if b"forked process" in said else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert next(made).is_first


def test_batches_are_the_callers_and_ctrl_c_loses_none() -> None:
    with Rollouts("CartPole-v1", Still, 2, num_workers=1, steps=4, seed=5) as twin:
        twin.publish(Still())
        expected = [counts(next(twin)) for _ in range(3)]
        with pytest.raises(NotImplementedError, match="on a cluster"):
            twin.trace()
    for _ in range(2):
        twin.close()
        with pytest.raises(ClosedError):
            next(twin)
    with Rollouts("CartPole-v1", Still, 2, num_workers=1, steps=4, seed=5) as made:
        made.publish(Still())
        session = LocalSession.made[-1]

        def interrupt() -> None:
            session.before_wait = before
            raise KeyboardInterrupt

        found = [next(made)]
        session.before_wait, before = interrupt, session.before_wait
        with pytest.raises(KeyboardInterrupt):
            next(made)
        found += [next(made), next(made)]
        assert list(map(counts, found)) == expected


# ---------------------------------------------------------------------- vector environment --


def test_a_worker_is_sent_one_step() -> None:
    with closing(ClusterVectorEnv("CartPole-v1", 4, num_workers=2, batch_workers=1)) as envs:
        envs.async_reset(seed=0)
        envs.recv()
        envs.recv()
        with pytest.raises(ValueError, match="env_ids name environment 0 twice"):
            envs.send([0] * 6, [0, 1, 2, 3, 0, 1])
        refused = r"actions\[1\]=2 is not in Discrete\(2\): give integers from 0 to 1"
        with pytest.raises(ValueError, match=refused):
            envs.send([0, 2], [0, 1])
        assert envs.in_flight == 0
        envs.send([0] * 4, [2, 3, 0, 1])
        assert envs.recv()[1].tolist() == [1.0, 1.0]


def test_rows_beside_a_failure_are_named() -> None:
    functions = [Counter, partial(Counter, raises_at=1), Counter]
    options: dict[str, Any] = {"num_workers": 3, "batch_workers": 2}
    with closing(ClusterVectorEnv(functions, **options)) as envs:
        envs.async_reset()
        assert envs.recv()[4]["env_id"].tolist() == [0, 1]
        envs.send([0, 0], [0, 1])
        assert envs.recv()[4]["env_id"].tolist() == [0, 2]
        envs.send([0, 0], [0, 2])
        with pytest.raises(Own) as caught:
            envs.recv()
        failed = caught.value.__cause__
        assert isinstance(failed, EnvError) and failed.env_ids == (1,)
        observations, _, _, _, infos = failed.batch
        assert infos["env_id"].dtype == np.int32 and infos["env_id"].tolist() == [0, 1]
        assert observations[:, 0].tolist() == [2.0, 0.0]


def test_a_call_that_ctrl_c_has_ended_is_dropped() -> None:
    def interrupt() -> None:
        session.before_wait = before
        raise KeyboardInterrupt

    options: dict[str, Any] = {"num_workers": 2, "batch_workers": 1}
    with closing(ClusterVectorEnv("CartPole-v1", 4, **options)) as envs:
        envs.async_reset(seed=0)
        done = [envs.recv()[4]["env_id"] for _ in range(2)]
        session = LocalSession.made[-1]
        session.before_wait, before = interrupt, session.before_wait
        with pytest.raises(KeyboardInterrupt):
            envs.get_attr("gravity")
        with pytest.raises(StateError, match=r"async_reset\(\) first"):
            envs.send([0, 0], done[0])
        with pytest.raises(PendingCallError, match=r"async_reset\(\) first"):
            envs.get_attr("gravity")
        envs.async_reset(seed=0)
        assert [envs.recv()[4]["env_id"].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
        assert envs.get_attr("gravity") == (9.8,) * 4


def test_workers_whose_spaces_differ_are_ended() -> None:
    functions = [Counter, partial(gymnasium.make, "CartPole-v1")]
    with pytest.raises(RuntimeError, match="make environments with equal spaces") as caught:
        ClusterVectorEnv(functions, num_workers=2)
    assert caught.value.__traceback__ is not None
    assert [actor.is_dead for actor in LocalSession.made[-1].actors] == [True, True]


def test_a_snapshot_says_whether_an_episode_is_over() -> None:
    mode = AutoresetMode.DISABLED
    with closing(ClusterVectorEnv("CartPole-v1", 2, num_workers=2, autoreset_mode=mode)) as envs:
        envs.reset(seed=0)
        running = envs.get_state()
        expected, *_ = envs.step([0, 0])
        ended = np.zeros(2, np.bool_)
        while not ended.any():
            _, _, terminated, truncated, _ = envs.step([0, 0])
            ended = terminated | truncated
        over = envs.get_state()
        envs.set_state(running)
        np.testing.assert_array_equal(envs.step([0, 0])[0], expected)
        envs.set_state(over)
        with pytest.raises(NotResetError, match=f"environment {ended.argmax()} has ended"):
            envs.step([0, 0])


class Speaker(gymnasium.Env[Any, Any]):
    """Shows a tuple with a text in it, and takes dicts."""

    observation_space = gymnasium.spaces.Tuple(
        (gymnasium.spaces.Text(4), gymnasium.spaces.Discrete(9))
    )
    action_space = gymnasium.spaces.Dict(one=gymnasium.spaces.Discrete(2))

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return (f"s{seed}", seed or 0), {}

    def step(self, action: Any) -> Any:
        return ("step", int(action["one"])), 1.0, False, False, {}


def test_tuples_with_texts_are_no_rows() -> None:
    """Here each worker has as many rows as the tuple has parts."""
    with closing(ClusterVectorEnv(Speaker, 4, num_workers=2)) as envs:
        texts, numbers = envs.reset(seed=3)[0]
        assert texts == ("s3", "s4", "s5", "s6") and numbers.tolist() == [3, 4, 5, 6]


def test_actions_with_too_few_rows_step_nobody() -> None:
    with closing(ClusterVectorEnv(Speaker, 4, num_workers=2)) as envs:
        envs.reset(seed=3)
        with pytest.raises(ValueError, match="3 actions: give one for each of 4 environments"):
            envs.step({"one": np.zeros(3, np.int64)})
        assert envs.in_flight == 0
        (texts, numbers), *_ = envs.step({"one": np.array([0, 1, 0, 1])})
        assert texts == ("step",) * 4 and numbers.tolist() == [0, 1, 0, 1]


def test_an_answer_that_ctrl_c_has_lost_costs_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    with closing(ClusterVectorEnv("CartPole-v1", 4, num_workers=2)) as envs:
        envs.reset(seed=0)
        with monkeypatch.context() as patch:
            patch.setattr("parallel_pool._apis.cluster.worker_slice.WorkerSlice.take", interrupt)
            with pytest.raises(KeyboardInterrupt):
                envs.step([0] * 4)
        with pytest.raises(PendingCallError, match="call reset"):
            envs.step([0] * 4)
        _, infos = envs.reset(seed=0)
        assert envs.restarts == 0 and "worker_restarted" not in infos
        assert envs.step([0] * 4)[1].tolist() == [1.0] * 4


def test_ctrl_c_loses_no_result_that_all_workers_have_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It comes at every place where Python looks for it, once results are put together."""
    join = results.joined
    interrupter: Interrupter | None = None

    def interrupted_join(*arguments: Any) -> Any:
        sys.setprofile(interrupter)
        return join(*arguments)

    monkeypatch.setattr(results, "joined", interrupted_join)
    actions = np.zeros(4, np.int64)

    def wait(place: Interrupter) -> Any:
        nonlocal interrupter
        interrupter = place
        try:
            return envs.step_wait()
        finally:
            sys.setprofile(None)
            interrupter = None

    make = partial(ClusterVecEnv, "CartPole-v1", 4, num_workers=2, max_episode_steps=3)
    with closing(make()) as envs, closing(make()) as twin:
        for each in (envs, twin):
            each.seed(5)
        assert_same(envs.reset(), twin.reset(), "reset")
        expect = partial(twin.step, actions)
        interrupt_every_step_wait(envs, actions, expect, twin, turns=3, wait=wait)


def test_ctrl_c_in_a_reset_leaves_it_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes at every place where Python looks for it, once results are put together."""
    join, place, is_over = results.joined, 0, False

    def interrupted_join(*arguments: Any) -> Any:
        sys.setprofile(interrupter)
        return join(*arguments)

    with closing(
        ClusterVectorEnv(
            *("CartPole-v1", 4),
            num_workers=2,
            max_episode_steps=1,
            autoreset_mode=AutoresetMode.DISABLED,
        )
    ) as envs:
        while not is_over:
            envs.reset(seed=0)
            # ends all episodes
            envs.step([0] * 4)
            place += 1
            interrupter = Interrupter(place)
            with monkeypatch.context() as patch:
                patch.setattr(results, "joined", interrupted_join)
                try:
                    envs.reset()
                    is_over = True
                except KeyboardInterrupt:
                    pass
                finally:
                    sys.setprofile(None)
            if not is_over:
                with pytest.raises(PendingCallError, match="call reset"):
                    envs.step([0] * 4)
    assert place > 3


@pytest.mark.parametrize("learned", ["by set_state", "by a step"])
def test_new_environments_go_on_from_snapshots(learned: str) -> None:
    """The first reset of new environments must not undo what was restored."""
    with closing(ClusterVectorEnv("CartPole-v1", 4, num_workers=2)) as envs:
        envs.reset(seed=0)
        states = envs.get_state()
        expected = [envs.step([0, 1, 0, 1])[:4] for _ in range(3)]
        LocalSession.made[-1].actors[1].is_dead = True
        if learned == "by set_state":
            with pytest.raises(EnvError, match="worker 1 died"):
                envs.set_state(states)
        else:
            assert envs.step([0] * 4)[3].tolist() == [False, False, True, True]
        envs.set_state(states)
        for wanted in expected:
            *found, infos = envs.step([0, 1, 0, 1])
            assert "worker_restarted" not in infos
            for own, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(own, other)


def test_rows_outside_of_a_mask_show_what_was_restored() -> None:
    mask = np.array([True, True, False, False])
    found = []
    for envs in (
        ClusterVectorEnv("CartPole-v1", 4, num_workers=2),
        PoolVectorEnv("CartPole-v1", 4, backend="native"),
    ):
        with closing(envs):
            envs.reset(seed=0)
            source = envs if isinstance(envs, ClusterVectorEnv) else envs.pool
            states = source.get_state()
            envs.step([0, 1, 0, 1])
            source.set_state(states)
            found.append(envs.reset(seed=5, options={"reset_mask": mask.copy()})[0])
    np.testing.assert_array_equal(*found)
