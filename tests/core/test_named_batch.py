"""Batches as named tuples: names of fields, and everything that tuples do."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine.buffers import Column
from parallel_pool._engine.named_batch import NamedBatch, batch_class, field_names

ENGINE = ("reward", "terminated", "truncated", "env_id", "elapsed_step")


def columns(*names: str, engine: tuple[str, ...] = ()) -> list[Column]:
    """Columns of these names; "final:x" is the final column of x."""
    dtype = np.dtype(np.int32)
    own = [Column(n.removeprefix("final:"), dtype, (), 0, n.startswith("final:")) for n in names]
    return own + [Column(name, dtype, (), -1, False) for name in engine]


def same(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    return len(a) == len(b) and all(map(np.array_equal, a, b))


def test_fields_are_the_names_of_the_columns() -> None:
    with parallel_pool.Pool("CartPole-v1", 3, seed=0) as pool:
        batch = pool.reset()
        assert isinstance(batch, NamedBatch)
        assert batch._fields == ("obs", *ENGINE)
        assert batch._fields == tuple(column.name for column in pool.columns)
        batch = pool.step([0, 1, 0])
        for name, array in zip(batch._fields, batch, strict=True):
            assert getattr(batch, name) is array
        assert batch.env_id.tolist() == [0, 1, 2]
        pool.send([0, 1, 0])
        assert pool.recv().reward.tolist() == [1, 1, 1]
        assert pool.step([0], [2]).env_id.tolist() == [2]
        # also with a timeout
        assert pool.step([0, 1, 0], timeout=100).elapsed_step.tolist() == [3, 3, 4]
        assert pool.observe().obs.shape == (3, 4)


def test_optional_and_final_columns_are_fields() -> None:
    options = {"autoreset": "same_step", "step_type": True, "players": True, "statistics": True}
    with parallel_pool.Pool("CartPole-v1", 2, **options) as pool:
        batch = pool.reset()
        extras = ("step_type", "players_env_id", "episode_return", "episode_length")
        assert batch._fields == ("obs", *ENGINE, *extras, "final_obs")
        while not batch.terminated.any():
            batch = pool.step([0, 0])
        ended = batch.terminated
        assert (np.abs(batch.final_obs[ended][:, 2]) > 0.2).all()
        assert (np.abs(batch.obs[ended]) <= 0.05).all()


def test_batches_of_asynchronous_pools_and_of_failures_are_named() -> None:
    with parallel_pool.Pool("CartPole-v1", 4, batch_size=2) as pool:
        pool.send_reset()
        assert pool.recv().obs.shape == (2, 4)
    with parallel_pool.ProcessPool([Fails] * 2, num_workers=1) as pool:
        assert pool.reset()._fields == ("obs", *ENGINE)
        with pytest.raises(ZeroDivisionError) as error:
            pool.step([0, 0])
        failure = error.value.__cause__
        assert isinstance(failure, parallel_pool.EnvError)
        assert isinstance(failure.batch, NamedBatch)
        assert failure.batch.env_id.tolist() == [0, 1]


def test_a_batch_is_a_tuple() -> None:
    with parallel_pool.Pool("CartPole-v1", 2, seed=0) as pool:
        batch = pool.reset()
    obs, reward, terminated, truncated, env_id, elapsed_step = batch
    assert isinstance(batch, tuple)
    assert batch == (obs, reward, terminated, truncated, env_id, elapsed_step)
    assert tuple(batch) == batch
    assert batch[0] is obs
    assert batch[1:3] == (reward, terminated)
    assert len(batch) == 6
    # and the methods of named tuples
    assert batch._asdict()["reward"] is reward
    changed = batch._replace(reward=obs)
    assert type(changed) is type(batch)
    assert changed.reward is obs
    assert repr(batch).startswith("Batch(obs=array(")
    with pytest.raises(AttributeError):
        batch.reward = obs  # type: ignore[misc]
    with pytest.raises(AttributeError):
        batch.nothing  # noqa: B018


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_batches_are_pickled(protocol: int) -> None:
    with parallel_pool.Pool("CartPole-v1", 2, seed=0) as pool:
        batch = pool.reset()
    again = pickle.loads(pickle.dumps(batch, protocol))
    assert type(again) is type(batch)
    assert same(again, batch)
    copied = copy.deepcopy(batch)
    assert type(copied) is type(batch)
    assert same(copied, batch)
    assert not np.shares_memory(copied.obs, batch.obs)
    assert copy.copy(batch).obs is batch.obs


def test_pools_of_the_same_columns_share_a_class() -> None:
    with (
        parallel_pool.Pool("CartPole-v1", 1) as one,
        parallel_pool.Pool("CartPole-v1", 5) as other,
        parallel_pool.Pool("CartPole-v1", 1, autoreset="same_step") as third,
    ):
        assert type(one.reset()) is type(other.reset())
        assert type(one.reset()) is not type(third.reset())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (columns("obs", engine=ENGINE), ("obs", *ENGINE)),
        (columns("obs", "final:obs"), ("obs", "final_obs")),
        (columns("a.b", "a/b", "a b"), ("a_b", "a_b_", "a_b__")),
        (columns("0", "1.x", "_y", ""), ("column_0", "column_1_x", "column__y", "column_")),
        (columns("class", "count", "index"), ("class_", "count_", "index_")),
        # engine columns keep their names
        (columns("reward", "env_id", engine=ENGINE), ("reward_", "env_id_", *ENGINE)),
        (columns("final:0", "größe", "final_0"), ("final_0", "größe", "final_0_")),
    ],
)
def test_field_names_are_valid_and_unique_identifiers(
    given: list[Column], expected: tuple[str, ...]
) -> None:
    assert field_names(given) == expected
    arrays = [np.zeros(1)] * len(given)
    batch = batch_class(expected)(*arrays)
    assert all(name.isidentifier() for name in batch._fields)
    assert batch.count(arrays[0]) == len(given)


class Fails(gymnasium.Env):
    """Raises in its first step."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[int, dict]:
        return 0, {}

    def step(self, action: int) -> None:
        raise ZeroDivisionError


class Tree(gymnasium.Env):
    """Observes a Dict that holds a Tuple; one of its keys is the name of an engine column."""

    observation_space = gymnasium.spaces.Dict(
        {
            "reward": gymnasium.spaces.Discrete(3),
            "pair": gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)] * 2),
        }
    )
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[object, dict]:
        super().reset(seed=seed)
        return {"reward": 2, "pair": (0, 1)}, {}


def test_parts_of_nested_observations_are_fields() -> None:
    with parallel_pool.ProcessPool([Tree] * 2, num_workers=1) as pool:
        batch = pool.reset()
    assert sorted(batch._fields) == sorted(("pair_0", "pair_1", "reward_", *ENGINE))
    assert batch.reward_.tolist() == [2, 2]
    assert batch.pair_1.tolist() == [1, 1]
    assert batch.reward.tolist() == [0, 0]
