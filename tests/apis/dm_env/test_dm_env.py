"""The dm_env API: batches of time steps, and their specs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import dm_env
import numpy as np
import pytest
from dm_env import StepType, specs

import parallel_pool
from parallel_pool import (
    ClosedError,
    EnvError,
    PoolTimeoutError,
    StateError,
    make,
    make_dm,
    make_gymnasium,
)
from tests.support.dm_loop import DMLoop, Expected
from tests.support.same import assert_same

IDS = ["Acrobot-v1", "Breakout-v5", "CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1"]


def actions_for(pool: Any, rows: int, step: int) -> np.ndarray:
    """Returns actions that differ between rows and steps."""
    spec = pool.action_spec()
    if isinstance(spec, specs.DiscreteArray):
        return (np.arange(rows) + step) % spec.num_values
    return np.sin(np.arange(rows) + step)[:, None].astype(spec.dtype)


def validate(spec: Any, value: Any, row: int) -> None:
    """Fails unless one row of an observation fits the spec of one environment."""
    if isinstance(spec, tuple):
        assert spec._fields == value._fields
        for part, values in zip(spec, value, strict=True):
            validate(part, values, row)
    else:
        spec.validate(value[row])


@pytest.mark.quick(1)
@pytest.mark.parametrize("task_id", IDS)
def test_time_steps_fit_their_specs(task_id: str) -> None:
    with make_dm(task_id, num_envs=3, seed=0, max_episode_steps=4) as pool:
        assert isinstance(pool, dm_env.Environment)
        results = [pool.reset()]
        results += [pool.step(actions_for(pool, 3, step)) for step in range(12)]
        kinds = []
        for result in results:
            assert isinstance(result, dm_env.TimeStep)
            assert result.step_type.dtype == np.int32
            assert result.reward.dtype == result.discount.dtype == np.float32
            for row in range(3):
                validate(pool.observation_spec(), result.observation, row)
                pool.reward_spec().validate(result.reward[row])
                pool.discount_spec().validate(result.discount[row])
            kinds.append(result.step_type[0])
        assert kinds == [0, 1, 1, 1, 2, 0, 1, 1, 1, 2, 0, 1, 1]


@pytest.mark.parametrize("task_id", ["CartPole-v1", "Pendulum-v1", "Pong-v5"])
def test_same_numbers_as_the_gymnasium_api(task_id: str) -> None:
    config: dict[str, Any] = {"num_envs": 3, "seed": 2}
    with make_dm(task_id, **config) as pool, make_gymnasium(task_id, **config) as other:
        ours, (obs, _) = pool.reset(), other.reset()
        assert (ours.observation.obs == obs).all()
        before = np.zeros(3, bool)
        for step in range(60):
            action = actions_for(pool, 3, step)
            ours, (obs, reward, term, trunc, info) = pool.step(action), other.step(action)
            assert (ours.observation.obs == obs).all()
            assert (ours.reward == reward).all()
            assert (ours.discount == ~term).all()
            expected = np.where(before, StepType.FIRST, np.where(term | trunc, 2, 1))
            assert (ours.step_type == expected).all()
            assert (ours.observation.env_id == info["env_id"]).all()
            before = term | trunc


def test_observation_has_the_fields_of_envpools_state() -> None:
    with make_dm("Pong-v5", num_envs=2) as pool:
        state = pool.reset().observation
        assert type(state).__name__ == "State"
        assert state._fields == (
            "env_id",
            "players",
            "obs",
            "lives",
            "reward",
            "terminated",
            "ram",
        )
        assert state.players._fields == ("env_id",)
        assert state.players.env_id.tolist() == state.env_id.tolist() == [0, 1]
        assert state.obs.shape == (2, 4, 84, 84) and state.ram.shape == (2, 128)


def test_time_steps_can_be_pickled() -> None:
    with make_dm("test/Duel-v0", num_envs=2) as pool:
        state = pool.reset().observation
        again = pickle.loads(pickle.dumps(state))
        assert type(again) is type(state) and type(again.players) is type(state.players)
        assert (again.score == state.score).all()


def test_discount_at_the_end() -> None:
    with make_dm("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        while (result := pool.step(np.zeros(2, int))).step_type[0] != StepType.LAST:
            assert result.discount[0] == 1
        assert result.discount[0] == 0
        assert pool.step(np.zeros(2, int)).discount[0] == 1
    with make_dm("CartPole-v1", seed=0, max_episode_steps=3) as pool:
        pool.reset()
        results = [pool.step(np.zeros(1, int)) for _ in range(3)]
        assert results[-1].step_type.tolist() == [2]
        assert results[-1].discount.tolist() == [1.0]


def test_zero_discount_on_life_loss() -> None:
    with make_dm("Breakout-v5", num_envs=4, seed=0, zero_discount_on_life_loss=True) as pool:
        lives = pool.reset().observation.lives
        lost = 0
        for step in range(150):
            result = pool.step(actions_for(pool, 4, step))
            changed = (result.observation.lives != lives) & (result.step_type != StepType.FIRST)
            assert (result.discount[changed] == 0).all()
            assert (result.discount[~changed & (result.step_type == StepType.MID)] == 1).all()
            lost += int(changed.sum())
            lives = result.observation.lives
        assert lost > 0


def test_specs() -> None:
    with make_dm("CartPole-v1") as pool:
        action = pool.action_spec()
        assert isinstance(action, specs.DiscreteArray) and action.num_values == 2
        assert action.dtype == np.int32
        obs = pool.observation_spec().obs
        assert obs.shape == (4,) and obs.dtype == np.float32
        assert np.isneginf(obs.minimum[1]) and obs.maximum[0] == np.float32(4.8)
        assert pool.spec.action_spec() == action
    with make_dm("Pendulum-v1") as pool:
        action = pool.action_spec()
        assert (action.shape, action.minimum, action.maximum) == ((1,), -2, 2)
    lives = parallel_pool.make_spec("Pong-v5").observation_spec().lives
    assert (lives.minimum, lives.maximum) == (-(2**31), 2**31 - 1)


def test_first_step_partial_reset_and_seed() -> None:
    with make("CartPole-v1", env_type="dm", num_envs=3, seed=4) as pool:
        first = pool.step(np.zeros(3, int))
        assert first.step_type.tolist() == [0, 0, 0] and not first.reward.any()
        part = pool.reset(np.array([2, 1]), seed=4)
        assert part.observation.env_id.tolist() == [2, 1]
        assert (part.observation.obs == first.observation.obs[[2, 1]]).all()
        pool.send({"action": np.zeros(3, int)})
        assert pool.recv().step_type.tolist() == [1, 1, 1]


@pytest.mark.usefixtures("alarm")
def test_asynchronous() -> None:
    with make_dm("CartPole-v1", num_envs=6, batch_size=2, num_threads=2) as pool:
        with pytest.raises(PoolTimeoutError):
            pool.recv(timeout=0.01)
        with pytest.raises(StateError, match="a batch needs 2"):
            pool.reset([0])
        firsts = [pool.reset(), pool.recv(), pool.recv()]
        assert all(first.step_type.tolist() == [0, 0] for first in firsts)
        assert sorted(i for first in firsts for i in first.observation.env_id) == list(range(6))
        pool.async_reset()
        seen = np.zeros(6, int)
        # until all were seen, also those whose thread gets no core at first
        while seen.sum() < 120 or not seen.all():
            result = pool.recv()
            assert result.observation.obs.shape == (2, 4)
            seen[result.observation.env_id] += 1
            pool.send(np.zeros(2, int), result.observation.env_id)
        ids = pool.recv().observation.env_id
        with pytest.raises(TypeError, match="needs env_id"):
            pool.step(np.zeros(2, int))
        assert pool.step(np.zeros(2, int), ids).reward.shape == (2,)


class Loops:
    """A `DMLoop` for each environment of a pool, compared with rows of its results."""

    def __init__(self, id: str, limit: int, num_envs: int) -> None:
        self.each = [DMLoop(id, 7 + i, limit) for i in range(num_envs)]
        self.rows = np.zeros(3, int)

    def compare(self, result: Any, expected: Sequence[Expected]) -> None:
        """Compares a result with the steps of its environments, in the order of its rows."""
        for name in ("step_type", "reward", "discount"):
            wanted = np.array([getattr(one, name) for one in expected])
            # a pool has no None: first rows have reward 0 and discount 1
            wanted = np.where(wanted == None, float(name == "discount"), wanted)  # noqa: E711
            found = getattr(result, name)
            assert_same(found, wanted.astype(found.dtype), name)
        observations = np.array([one.observation for one in expected])
        assert_same(result.observation.obs, observations, "obs")
        self.rows += np.bincount(result.step_type, minlength=3)

    def check_ends(self, *, has_terminated: bool) -> None:
        """Fails unless episodes ended in every way, and in one step in both ways."""
        ends: dict[tuple[bool, bool], int] = {}
        for loop in self.each:
            for key, count in loop.ends.items():
                ends[key] = ends.get(key, 0) + count
        assert ends.get((False, True), 0) > 20 and self.rows.min() > 20
        if has_terminated:
            assert ends.get((True, False), 0) > 20 and ends.get((True, True), 0) > 2


def random_actions(pool: Any, rng: np.random.Generator, rows: int) -> Any:
    spec = pool.action_spec()
    if isinstance(spec, specs.DiscreteArray):
        return rng.integers(spec.num_values, size=rows)
    return rng.uniform(-2, 2, (rows, 1)).astype(np.float32)


@pytest.mark.quick(1)
@pytest.mark.parametrize(("id", "limit"), [("CartPole-v1", 18), ("Pendulum-v1", 9)])
def test_equals_dm_loops_over_gymnasium(id: str, limit: int) -> None:
    loops = Loops(id, limit, 4)
    rng = np.random.default_rng(0)
    with make_dm(id, num_envs=4, seed=7, max_episode_steps=limit) as pool:
        loops.compare(pool.reset(), [loop.reset() for loop in loops.each])
        for step in range(700):
            if step % 97 == 96:
                chosen = rng.permutation(4)[:2]
                loops.compare(pool.reset(chosen), [loops.each[i].reset() for i in chosen])
            actions = random_actions(pool, rng, 4)
            pairs = zip(loops.each, actions, strict=True)
            loops.compare(pool.step(actions), [loop.step(action) for loop, action in pairs])
    loops.check_ends(has_terminated=id == "CartPole-v1")


@pytest.mark.slow
@pytest.mark.parametrize(("id", "limit"), [("CartPole-v1", 18), ("Pendulum-v1", 9)])
def test_asynchronous_equals_dm_loops_over_gymnasium(id: str, limit: int) -> None:
    loops = Loops(id, limit, 6)
    rng = np.random.default_rng(0)
    config: dict[str, Any] = {"batch_size": 2, "num_threads": 2, "max_episode_steps": limit}
    with make_dm(id, num_envs=6, seed=7, **config) as pool:
        pool.async_reset()
        # what each environment's result in flight must be
        expected = [loop.reset() for loop in loops.each]
        for _ in range(1500):
            result = pool.recv()
            ids = result.observation.env_id
            loops.compare(result, [expected[i] for i in ids])
            actions = random_actions(pool, rng, 2)
            pool.send(actions, ids)
            for i, action in zip(ids, actions, strict=True):
                expected[i] = loops.each[i].step(action)
    loops.check_ends(has_terminated=id == "CartPole-v1")


def test_players() -> None:
    with make_dm("test/Duel-v0", num_envs=2, seed=0, max_episode_steps=2) as pool:
        result = pool.reset()
        state = result.observation
        assert state._fields == ("env_id", "players", "score", "stake", "round")
        assert state.players._fields == ("env_id", "last_move")
        assert state.players.env_id.tolist() == [0, 0, 1, 1]
        assert result.step_type.shape == (2,)
        assert result.reward.shape == result.discount.shape == (4,)
        assert result.discount.tolist() == [1, 1, 1, 1]
        result = pool.step(np.array([1, 0, 2, 2]))
        assert result.observation.players.last_move.tolist() == [1, 0, 2, 2]
        for row in range(2):
            validate(pool.observation_spec(), result.observation, row)


def test_discount_of_players_ends_with_their_environment() -> None:
    with make_dm("test/Duel-v0", num_envs=2, seed=0) as pool:
        pool.reset()
        for _ in range(5):
            result = pool.step(np.array([1, 0, 1, 1]))
            if result.step_type[0] == StepType.LAST:
                break
        assert result.discount.tolist() == [0, 0, 1, 1]


def test_failed_environment() -> None:
    config = {"num_envs": 2, "fail_on": "step", "fail_env": 1}
    with make_dm("test/Fault-v0", **config) as pool:
        pool.reset()
        with pytest.raises(EnvError, match="environment 1 failed") as caught:
            pool.step(np.ones(2, int))
        batch = caught.value.batch
        assert isinstance(batch, dm_env.TimeStep)
        assert batch.reward.tolist() == [1, 0] and batch.observation.env_id.tolist() == [0, 1]
        pool.send(np.ones(2, int))
        assert pool.recv().step_type.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (np.zeros(1, int), ValueError),
        (np.array(1), ValueError),
        (np.full(2, 5), ValueError),
        (np.zeros(2), TypeError),
        ({"act": np.zeros(2, int)}, TypeError),
    ],
)
def test_wrong_actions_are_refused(action: Any, error: type[Exception]) -> None:
    with make_dm("CartPole-v1", num_envs=2) as pool:
        pool.reset()
        with pytest.raises(error):
            pool.step(action)
        assert pool.step(np.zeros(2, int)).step_type.tolist() == [1, 1]


def test_close() -> None:
    pool = make_dm("CartPole-v1")
    pool.close()
    assert pool.closed
    with pytest.raises(ClosedError):
        pool.reset()


@pytest.mark.slow
def test_without_dm_env_installed() -> None:
    script = """
import sys
sys.modules["dm_env"] = None
import parallel_pool
parallel_pool.make_gym("CartPole-v1").reset()
for call in (parallel_pool.make_dm, lambda id: parallel_pool.make_spec(id).action_spec()):
    try:
        call("CartPole-v1")
    except parallel_pool.MissingDependencyError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install 'parallel_pool[dm]'") == 2
