"""The EnvPool-style API: what its pools return, and which arguments they take."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import ClipReward, NormalizeObservation, RecordEpisodeStatistics

import parallel_pool
from parallel_pool import (
    make_gym,
    make_gymnasium,
    make_spec,
)
from tests.support.envpool_cases import equal

# ----------------------------------------------------------------------------- what pools return --


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("task_id", "steps"), [("CartPole-v1", 400), ("Acrobot-v1", 600), ("Pendulum-v1", 450)]
)
def test_results_are_gymnasiums(task_id: str, steps: int) -> None:
    """Same seed and actions: the arrays of Gymnasium's vector environments, rewards in float32."""
    reference = gymnasium.make_vec(task_id, num_envs=4, vectorization_mode="sync")
    pool = make_gymnasium(task_id, num_envs=4, seed=7)
    reference.action_space.seed(0)
    first = reference.reset(seed=7)[0]
    assert equal(pool.reset()[0], first)
    ended = 0
    for _ in range(steps):
        action = reference.action_space.sample()
        ours, theirs = pool.step(action), reference.step(action)
        assert equal(ours[0], theirs[0])
        assert equal(ours[1], theirs[1].astype(np.float32))
        assert equal(ours[2:4], theirs[2:4])
        ended += int((ours[2] | ours[3]).sum())
    assert ended >= 4
    pool.close()
    reference.close()


def test_info_is_nested_as_envpools() -> None:
    with make_gymnasium("Pong-v5", num_envs=2, seed=0) as pool:
        for info in (pool.reset()[1], pool.step(np.zeros(2, int))[4]):
            assert list(info) == [
                "env_id",
                "players",
                "lives",
                "reward",
                "terminated",
                "ram",
                "elapsed_step",
            ]
            assert list(info["players"]) == ["env_id"]
            assert info["env_id"].tolist() == info["players"]["env_id"].tolist() == [0, 1]
            dtypes = {key: info[key].dtype for key in info if key != "players"}
            assert dtypes == {
                "env_id": np.int32,
                "lives": np.int32,
                "reward": np.float32,
                "terminated": np.int32,
                "ram": np.uint8,
                "elapsed_step": np.int32,
            }
            assert info["ram"].shape == (2, 128)


def test_autoreset_is_next_step() -> None:
    with make_gymnasium("CartPole-v1", num_envs=2, seed=0) as pool:
        pool.reset()
        left = np.zeros(2, int)
        resets = 0
        before = np.zeros(2, bool)
        for _ in range(60):
            _, reward, term, trunc, info = pool.step(left)
            assert reward[before].tolist() == [0.0] * before.sum()
            assert not (term | trunc)[before].any()
            assert not info["elapsed_step"][before].any()
            assert reward[~before].tolist() == [1.0] * (~before).sum()
            before = term | trunc
            resets += int(before.sum())
        assert resets >= 6


def test_both_flags_when_an_episode_ends_on_its_time_limit() -> None:
    def first_end(**config: Any) -> tuple[int, bool, bool]:
        with make_gymnasium("CartPole-v1", seed=0, **config) as pool:
            pool.reset()
            while True:
                *_, term, trunc, info = pool.step(np.zeros(1, int))
                if term[0] or trunc[0]:
                    return int(info["elapsed_step"][0]), bool(term[0]), bool(trunc[0])

    steps, *flags = first_end()
    assert flags == [True, False]
    assert first_end(max_episode_steps=steps) == (steps, True, True)
    assert first_end(max_episode_steps=steps - 1) == (steps - 1, False, True)
    assert first_end(max_episode_steps=2**31 - 1) == (steps, True, False)


def test_first_step_without_reset_is_a_reset() -> None:
    with make_gymnasium("CartPole-v1", num_envs=2, seed=5) as pool:
        first, _ = pool.reset()
    with make_gymnasium("CartPole-v1", num_envs=2, seed=5) as pool:
        obs, reward, term, trunc, info = pool.step(np.ones(2, int))
        assert equal(obs, first)
        assert not reward.any() and not term.any() and not trunc.any()
        assert info["elapsed_step"].tolist() == [0, 0]
    with make_gymnasium("CartPole-v1", num_envs=2, seed=5) as pool:
        pool.send(np.ones(2, int))
        assert equal(pool.recv()[0], first)


def test_results_may_be_kept_and_written_to() -> None:
    with (
        make_gym("CartPole-v1", num_envs=3, seed=0) as pool,
        make_gym("CartPole-v1", num_envs=3, seed=0) as other,
    ):
        kept = [(pool.reset(), other.reset().copy())]
        for step in range(50):
            action = np.array([step % 2, 1, 0])
            kept.append((pool.step(action)[0], other.step(action)[0].copy()))
        assert all(equal(ours, copied) for ours, copied in kept)
        kept[-1][0][:] = 9
        assert equal(pool.step(action)[0], other.step(action)[0])


def test_spaces_describe_one_environment() -> None:
    with make_gym("CartPole-v1", num_envs=5) as pool:
        assert pool.action_space.n == 2
        assert pool.observation_space.shape == (4,)
        assert pool.single_action_space == pool.action_space
        assert pool.single_observation_space == pool.observation_space
        reference = gymnasium.make("CartPole-v1")
        assert pool.observation_space == reference.observation_space
        assert pool.action_space == reference.action_space
    with make_gym("Pong-v5") as pool:
        assert pool.observation_space == gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)
        assert pool.action_space == gymnasium.spaces.Discrete(6)


def test_attributes() -> None:
    with make_gym("CartPole-v1", num_envs=5, batch_size=2, num_threads=1) as pool:
        assert len(pool) == pool.num_envs == 5
        assert pool.is_async and pool.is_vector_env
        assert pool.all_env_ids.tolist() == [0, 1, 2, 3, 4] and pool.all_env_ids.dtype == np.int32
        assert pool.config["batch_size"] == 2 and pool.config["max_episode_steps"] == 500
        assert pool.spec.reward_threshold == 475.0
        assert repr(pool).startswith("GymnasiumEnvPool(CartPole-v1, num_envs=5, batch_size=2,")
    assert not make_gym("CartPole-v1").is_async


def test_attributes_that_programs_assign() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        first = pool.reset(seed=0)
        pool.num_envs = 7
        pool.is_vector_env = True
        pool.single_action_space = pool.action_space
        pool.single_observation_space = pool.observation_space
        pool.observation_space = pool.action_space = None
        assert equal(pool.reset(seed=0), first)
        assert pool.step(np.zeros(2, int))[0].shape == (2, 4)
        assert len(pool) == 2


# ------------------------------------------------------------------------------------- resetting --


def test_partial_reset_returns_only_its_rows() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, seed=0) as pool:
        pool.reset()
        pool.step(np.zeros(4, int))
        obs, info = pool.reset(np.array([2, 0]))
        assert obs.shape == (2, 4)
        assert info["env_id"].tolist() == [2, 0]
        assert info["elapsed_step"].tolist() == [0, 0]
        assert pool.step(np.zeros(4, int))[4]["elapsed_step"].tolist() == [1, 2, 1, 2]
        assert pool.reset([3])[0].shape == (1, 4)
        assert pool.reset(3)[0].shape == (1, 4)


def test_partial_step_returns_only_its_rows() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, seed=0) as pool:
        pool.reset()
        obs, *_, info = pool.step(np.zeros(2, int), np.array([3, 1]))
        assert obs.shape == (2, 4) and info["env_id"].tolist() == [3, 1]
        assert pool.step(np.zeros(4, int))[4]["elapsed_step"].tolist() == [1, 2, 1, 2]


def test_reset_mask() -> None:
    with make_gymnasium("CartPole-v1", num_envs=4, seed=0) as pool:
        pool.reset()
        options = {"reset_mask": np.array([True, False, False, True])}
        obs, info = pool.reset(seed=10, options=options)
        assert info["env_id"].tolist() == [0, 3]
        assert "reset_mask" in options
        again, _ = pool.reset(seed=10)
        assert equal(obs, again[[0, 3]])
        listed, _ = pool.reset(seed=[10, 11, 12, 13], options=options)
        assert equal(obs, listed)
        for mask, error in [
            (np.zeros(4, bool), ValueError),
            (np.ones(3, bool), ValueError),
            (np.ones(4), TypeError),
            (np.ma.masked_array([True] * 4, [True] * 4), TypeError),
        ]:
            with pytest.raises(error, match="reset_mask"):
                pool.reset(options={"reset_mask": mask})
        with pytest.raises(TypeError, match="both name environments"):
            pool.reset(np.array([1]), options=options)


def test_reset_options_of_the_environment() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=0) as pool:
        obs = pool.reset(options={"low": 0.5, "high": 0.5})
        assert np.allclose(obs, 0.5)
        with pytest.raises(TypeError, match="no option lo: it has high, low"):
            pool.reset(options={"lo": 1})


def test_reset_with_seed_reseeds() -> None:
    with make_gym("CartPole-v1", num_envs=3) as pool:
        first = pool.reset(seed=5)
        assert not equal(pool.reset(), first)
        assert equal(pool.reset(seed=5), first)
        assert equal(pool.reset(seed=[5, 6, 7]), first)
        assert equal(pool.reset(seed=np.array([5, 6, 7])), first)
        assert equal(pool.reset(np.array([2, 1]), seed=5), first[[2, 1]])
        assert equal(pool.reset(np.array([2, 1]), seed=[7, 6]), first[[2, 1]])
        with pytest.raises(ValueError, match="2 seeds for 3 environments"):
            pool.reset(seed=[1, 2])


def test_seeds() -> None:
    def first(**config: Any) -> np.ndarray:
        with make_gym("CartPole-v1", num_envs=3, **config) as pool:
            return pool.reset()

    assert not equal(first(), first())
    assert equal(first(seed=4), first(seed=4))
    assert equal(first(seed=4), first(seed=[4, 5, 6]))
    assert equal(first(seed=4), first(seed=np.array([4, 5, 6], np.int32)))
    assert equal(first(seed=4), first(env_seed=[4, 5, 6]))
    assert equal(first(seed=1, env_seed=[4, 5, 6]), first(seed=4))
    assert equal(first(seed=2**40), first(seed=[2**40, 2**40 + 1, 2**40 + 2]))
    # EnvPool's int32: -1 is 2**32 - 1, and the next one is 0
    assert equal(first(seed=-1), first(seed=[2**32 - 1, 0, 1]))
    assert equal(first(seed=-7), first(seed=[-7, -6, -5]))
    assert equal(first(seed=2**31 - 1), first(seed=[2**31 - 1, -(2**31), -(2**31) + 1]))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("seed", "env_id"),
    [
        (-1, 0),
        (-2, 1),
        (np.int64(-1), 0),
        (np.int32(-3), 2),
        (np.array(-1), 0),
        (np.uint32(2**32 - 1), 0),
        (2**32 - 2, 1),
        ([5, -1, 7], 1),
        ((0, 1, 2**32 - 1), 2),
        (np.array([5, 6, -1]), 2),
    ],
)
def test_seed_that_makes_ale_use_the_clock_is_refused(seed: Any, env_id: int) -> None:
    """With -1 ALE takes its seed from the clock. Atari tasks refuse -1 before they make a pool."""
    message = rf"environment {env_id} would get seed -1 \(4294967295\).*: choose another"
    each = {"env_seed": seed} if np.ndim(seed) else {"seed": seed}
    for function in (make_gym, make_gymnasium, parallel_pool.make_dm, make_spec):
        for options in ({"seed": seed}, each):
            with pytest.raises(ValueError, match=message):
                function("Pong-v5", num_envs=3, **options)
    with make_gym("Pong-v5", num_envs=3, seed=4) as pool:
        before = pool.get_state()
        for reset in (pool.reset, pool.async_reset):
            with pytest.raises(ValueError, match=message):
                reset(seed=seed)
        assert pool.get_state() == before
    # other tasks accept it as a number
    make_gym("CartPole-v1", num_envs=3, seed=seed).reset()


def test_seeds_next_to_the_refused_one() -> None:
    for seed in (-4, 2**32, 2**32 - 4, [2**32, -2, None]):
        with make_gym("Pong-v5", num_envs=3, seed=seed) as pool:
            pool.reset()
    with make_gym("Pong-v5", num_envs=3, seed=0) as pool:
        pool.reset(np.array([2, 1]), seed=-4)
        # only the seeds of environments in the mask are used
        pool.reset(seed=[-1, 5, 6], options={"reset_mask": np.array([False, True, True])})
        with pytest.raises(ValueError, match="environment 2 would get seed -1"):
            pool.reset(np.array([2, 1]), seed=-3)
        with pytest.raises(ValueError, match="environment 1 would get seed -1"):
            pool.reset(np.array([2, 1]), seed=[5, -1])


def test_seed_warns_as_envpools() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=4) as pool:
        with pytest.warns(UserWarning, match=r"seed\(7\) changes nothing.*give the seed to make"):
            assert pool.seed(7) is None
        first = pool.reset()
    with make_gym("CartPole-v1", num_envs=2, seed=4) as pool:
        assert equal(pool.reset(), first)


def test_config_makes_the_same_pool() -> None:
    with make_gym("CartPole-v1", num_envs=2, seed=[8, 3], max_episode_steps=9) as pool:
        first = pool.reset()
        config = pool.config
    with make_gym("CartPole-v1", **config) as pool:
        assert equal(pool.reset(), first)
        assert pool.config == config


# ---------------------------------------------------------------------------------- dict actions --


def test_dict_actions() -> None:
    with (
        make_gym("CartPole-v1", num_envs=3, seed=0) as pool,
        make_gym("CartPole-v1", num_envs=3, seed=0) as other,
    ):
        pool.reset(), other.reset()
        action, ids = np.array([0, 1], np.int32), np.array([2, 0], np.int32)
        expected = other.step(action, ids)
        assert equal(pool.step({"action": action, "env_id": ids}), expected)
        expected = other.step(action, ids)
        assert equal(pool.step({"action": action}, ids), expected)
        expected = other.step(action, ids)
        assert equal(pool.step(MappingProxyType({"action": action}), ids), expected)
        expected = other.step(action, ids)
        whole = {"action": action, "env_id": ids, "players": {"env_id": ids}}
        assert equal(pool.step(whole), expected)
        pool.send({"action": np.zeros(3, int)})
        assert pool.recv()[0].shape == (3, 4)


@pytest.mark.parametrize(
    ("action", "env_id", "message"),
    [
        ({"actions": np.zeros(2, int)}, None, "unknown 'actions'"),
        ({"env_id": np.arange(2)}, None, "action is missing"),
        ({"action": np.zeros(2, int), "env_id": np.arange(2)}, np.arange(2), "given twice"),
    ],
)
def test_wrong_dict_actions_are_refused(action: Any, env_id: Any, message: str) -> None:
    with make_gym("CartPole-v1", num_envs=2) as pool:
        pool.reset()
        with pytest.raises(TypeError, match=message):
            pool.step(action, env_id)


# ------------------------------------------------------------------------------------- Gymnasium --


def test_pools_are_vector_envs_and_envs() -> None:
    with make_gymnasium("CartPole-v1") as pool:
        assert isinstance(pool, VectorEnv)
        assert isinstance(pool, gymnasium.Env)
        assert str(pool) == repr(pool)
        assert pool.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
        assert pool.unwrapped is pool


def wrapped(env: Any) -> Any:
    return ClipReward(NormalizeObservation(RecordEpisodeStatistics(env)), -0.5, 0.5)


@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_vector_wrappers_work_as_around_its_own_environments() -> None:
    reference = wrapped(gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"))
    pool = wrapped(make_gymnasium("CartPole-v1", num_envs=3))
    ours, theirs = pool.reset(seed=4), reference.reset(seed=4)
    assert equal(ours[0], theirs[0])
    ended = 0
    for step in range(100):
        action = np.array([0, step % 2, 1])
        ours, theirs = pool.step(action), reference.step(action)
        assert equal(ours[0], theirs[0])
        assert (ours[1] == theirs[1]).all() and equal(ours[2:4], theirs[2:4])
        assert ("episode" in ours[4]) == ("episode" in theirs[4])
        if "episode" in ours[4]:
            ended += 1
            assert equal(ours[4]["_episode"], theirs[4]["_episode"])
            assert ours[4]["episode"]["r"].tolist() == theirs[4]["episode"]["r"].tolist()
            assert ours[4]["episode"]["l"].tolist() == theirs[4]["episode"]["l"].tolist()
    assert ended >= 5
    pool.close()
    assert pool.unwrapped.closed


# --------------------------------------------------------------------------------------- players --


def test_rows_are_players() -> None:
    with make_gymnasium("test/Duel-v0", num_envs=2, seed=0) as pool:
        obs, info = pool.reset()
        assert obs["score"].shape == (4, 2) and obs["stake"].shape == (2,)
        assert info["env_id"].tolist() == [0, 1]
        assert info["players"]["env_id"].tolist() == [0, 0, 1, 1]
        assert info["round"].shape == (2,)
        assert pool.action_space == gymnasium.spaces.Discrete(3)
        assert obs["score"][0] in pool.observation_space["score"]
        assert obs["stake"][0] in pool.observation_space["stake"]

        stake = obs["stake"]
        obs, reward, term, trunc, info = pool.step(np.array([1, 0, 0, 2]))
        assert reward.tolist() == [stake[0], -stake[0], stake[1], -stake[1]]
        assert term.shape == trunc.shape == (2,)
        assert info["players"]["last_move"].tolist() == [1, 0, 0, 2]
        assert obs["score"][:, 0].tolist() == [stake[0], 0, stake[1], 0]


def test_actions_of_players() -> None:
    config = {"num_envs": 3, "seed": 0}
    with make_gym("test/Duel-v0", **config) as pool, make_gym("test/Duel-v0", **config) as other:
        assert equal(pool.reset(), other.reset())
        moves = np.array([1, 0, 0, 2, 2, 2])
        assert equal(pool.step(moves.reshape(3, 2)), other.step(moves))
        # rows in any order, each with its owner: the environment of its player
        order = np.array([4, 1, 2, 3, 0, 5])
        owners = np.array([0, 0, 1, 1, 2, 2])[order]
        # the rows of one owner are its players' actions, in the order of the rows
        by_owner = {"action": moves[order], "players.env_id": owners}
        expected = np.concatenate([moves[order][owners == i] for i in range(3)])
        assert equal(pool.step(by_owner), other.step(expected))
        # some environments, in another order
        some = {"action": np.array([2, 0, 1, 1]), "env_id": [2, 0], "players.env_id": [0, 2, 0, 2]}
        assert equal(pool.step(some), other.step(np.array([0, 1, 2, 1]), [2, 0]))


def test_owners_of_players_are_integers() -> None:
    with make_gym("test/Duel-v0", num_envs=1) as pool:
        pool.reset()
        for owners in ("x", [0.5, 1]):
            with pytest.raises(TypeError, match=r"players\.env_id has dtype .*: give integers"):
                pool.step({"action": np.zeros(2, int), "players.env_id": owners})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros(3, int), r"shape \(3,\): 3 environments take \(3, 2\)"),
        (np.zeros(5, int), r"shape \(5,\)"),
        (np.array(0), r"shape \(\)"),
        (
            {"action": np.zeros(6, int), "players.env_id": [0, 0, 0, 1, 2, 2]},
            "environment 0 has 3 actions: give one for each of its 2 players",
        ),
        ({"action": np.zeros(5, int), "players.env_id": [0, 0, 1, 1, 2, 2]}, "one owner per row"),
        (
            {"action": np.zeros(4, int), "env_id": [0, 1], "players.env_id": [0, 0, 2, 2]},
            "name the same",
        ),
        ({"action": np.zeros(2, int), "players.env_id": [7, 7]}, "env_id 7"),
    ],
)
def test_wrong_actions_of_players_are_refused(action: Any, message: str) -> None:
    with make_gym("test/Duel-v0", num_envs=3, seed=0) as pool:
        pool.reset()
        with pytest.raises(ValueError, match=message):
            pool.step(action)
        assert pool.step(np.zeros(6, int))[4]["round"].tolist() == [1, 1, 1]


def test_players_partial_and_async() -> None:
    with make_gymnasium("test/Duel-v0", num_envs=3) as pool:
        pool.reset()
        obs, info = pool.reset(np.array([2]))
        assert obs["score"].shape == (2, 2) and info["players"]["env_id"].tolist() == [2, 2]
    with make_gym("test/Duel-v0", num_envs=4, batch_size=2, max_num_players=2) as pool:
        pool.async_reset()
        for _ in range(20):
            _, reward, term, _, info = pool.recv()
            assert reward.shape == (4,) and term.shape == (2,)
            assert info["players"]["env_id"].tolist() == np.repeat(info["env_id"], 2).tolist()
            pool.send(np.zeros(4, int), info["env_id"])
    with pytest.raises(ValueError, match="max_num_players=1: test/Duel-v0 has 2"):
        make_gym("test/Duel-v0", max_num_players=1)
