"""Rows of a mixture equal those of a pool of their task alone, in all APIs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool import Pool, each, each_reset
from parallel_pool._engine.variation import EachReset
from tests.support.mixtures import (
    BLOCK,
    assert_same_infos,
    assert_same_rows,
    block,
    joined_actions,
    mixture,
)

pytestmark = pytest.mark.proven("csrc/envs")

GAMES = ["Pong", "Breakout", "Skiing", "MsPacman", "Seaquest", "Qbert", "Freeway", "Tennis"]
NAMES = """
Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider Berzerk Bowling
Boxing Breakout Centipede ChopperCommand CrazyClimber Defender DemonAttack DoubleDunk Enduro
FishingDerby Freeway Frostbite Gopher Gravitar Hero IceHockey Jamesbond Kangaroo Krull
KungFuMaster MontezumaRevenge MsPacman NameThisGame Phoenix Pitfall Pong PrivateEye Qbert
Riverraid RoadRunner Robotank Seaquest Skiing Solaris SpaceInvaders StarGunner Surround Tennis
TimePilot Tutankham UpNDown Venture VideoPinball WizardOfWor YarsRevenge Zaxxon
"""
ATARI_57 = NAMES.split()

CASES: dict[str, Sequence[str]] = {
    "classic": ("CartPole-v1", "MountainCar-v0", "Acrobot-v1"),
    "toy text": ("FrozenLake-v1", "Taxi-v4", "CliffWalking-v1"),
    "torques": ("Pendulum-v1", "MountainCarContinuous-v0"),
    "MuJoCo": ("Hopper-v5", "Humanoid-v5", "Ant-v5"),
    "ALE": tuple(f"ALE/{game}-v5" for game in GAMES),
    "MiniGrid": ("MiniGrid-Empty-5x5-v0", "MiniGrid-DoorKey-6x6-v0", "BabyAI-GoToObj-v0"),
    "several families": ("CartPole-v1", "LunarLander-v3"),
}
# of all tasks of a case
OPTIONS: dict[str, dict[str, Any]] = {"MiniGrid": {"layout": "flat"}}
AUTORESET = {"next_step": "NextStep", "same_step": "SameStep", "disabled": "Disabled"}
MODES = list(AUTORESET)
EXPENSIVE = {"ALE", "MuJoCo"}
few = pytest.mark.quick(2, sanitizers=3)


def rounds(name: str) -> int:
    return 30 if name in EXPENSIVE else 120


# ------------------------------------------------------------------------------------- Pool --


def _key(column: Any) -> tuple[Any, ...]:
    # an info may have the name of a column of the engine's
    return column.name, column.is_final, column.field < 0


class Twins:
    """A pool of a mixture, and a pool of each task with the same seeds."""

    def __init__(self, tasks: Sequence[str], **settings: Any) -> None:
        count = len(tasks) * BLOCK
        self.mixed = Pool(mixture(*tasks), count, seed=list(range(count)), **settings)
        self.alone = [
            Pool(task, BLOCK, seed=list(range(i * BLOCK, (i + 1) * BLOCK)), **settings)
            for i, task in enumerate(tasks)
        ]
        self._spaces = [pool.spec.batched_action_space(BLOCK) for pool in self.alone]
        for i, space in enumerate(self._spaces):
            space.seed(i)

    def compare(self, batch: Any, others: Sequence[Any], where: str) -> None:
        for i, (pool, other) in enumerate(zip(self.alone, others, strict=True)):
            columns = zip(self.mixed.columns, batch, strict=True)
            found = {_key(column): array for column, array in columns}
            ended = batch.terminated | batch.truncated
            for column, array in zip(pool.columns, other, strict=True):
                ours = found[_key(column)][block(i)]
                rows = slice(None)
                if column.name in ("env_id", "players.env_id"):
                    ours = ours - i * BLOCK
                if column.is_final:
                    rows = ended[block(i)]
                assert ours.dtype == array.dtype
                assert_same_rows(ours[rows], array[rows], f"{where}, {column.name} of {pool}")

    def reset(self) -> None:
        self.compare(self.mixed.reset(), [pool.reset() for pool in self.alone], "reset")

    def step(self, where: str) -> None:
        actions = [space.sample() for space in self._spaces]
        joined = joined_actions(self.mixed.spec.action_space(), actions)
        batch = self.mixed.step(joined)
        self.compare(batch, [p.step(a) for p, a in zip(self.alone, actions, strict=True)], where)
        ended = np.flatnonzero(batch.terminated | batch.truncated).astype(np.int32)
        if self.mixed.autoreset == "disabled" and ended.size:
            self.mixed.reset(ended)
            for i, pool in enumerate(self.alone):
                own = ended[(ended >= i * BLOCK) & (ended < (i + 1) * BLOCK)] - i * BLOCK
                if own.size:
                    pool.reset(own)

    def play(self, count: int) -> None:
        self.reset()
        for i in range(count):
            self.step(f"step {i}")


@pytest.mark.sanitizers
@few
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_every_column_of_a_pool(name: str, mode: str) -> None:
    settings = {"step_type": True, "discount": True, "players": True, "statistics": True}
    Twins(CASES[name], autoreset=mode, options=OPTIONS.get(name), **settings).play(rounds(name))


@few
@pytest.mark.parametrize("name", CASES)
def test_a_pool_with_a_time_limit(name: str) -> None:
    Twins(CASES[name], options=OPTIONS.get(name), max_episode_steps=7, statistics=True).play(25)


@pytest.mark.sanitizers
def test_eight_games_of_envpool() -> None:
    Twins([f"{game}-v5" for game in GAMES], autoreset="same_step").play(40)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}-v5", "ALE/{}-v5"])
def test_57_games(form: str) -> None:
    Twins([form.format(game) for game in ATARI_57], statistics=True).play(150)


@pytest.mark.quick(1, sanitizers=True)
@few
@pytest.mark.parametrize("name", CASES)
def test_snapshots(name: str) -> None:
    twins = Twins(CASES[name], options=OPTIONS.get(name))
    twins.play(5)
    states = twins.mixed.get_state()
    others = [pool.get_state() for pool in twins.alone]
    for i in range(5):
        twins.step(f"before, {i}")
    twins.mixed.set_state(states)
    for pool, own in zip(twins.alone, others, strict=True):
        pool.set_state(own)
    for i in range(20):
        twins.step(f"after, {i}")


def test_an_asynchronous_pool() -> None:
    tasks = CASES["classic"]
    count = len(tasks) * BLOCK
    mixed = Pool(mixture(*tasks), count, batch_size=2, num_threads=2, seed=1)
    alone = [Pool(task, BLOCK, seed=1 + i * BLOCK) for i, task in enumerate(tasks)]
    own = [pool.reset() for pool in alone]
    mixed.send_reset()
    waiting = {i: own[i // BLOCK].obs[i % BLOCK] for i in range(count)}
    for _ in range(300):
        batch = mixed.recv()
        ids = batch.env_id.copy()
        for row, env_id in enumerate(ids.tolist()):
            assert_same_rows(batch.obs[row : row + 1], [waiting[env_id]], f"environment {env_id}")
            other = alone[env_id // BLOCK].step(np.array([1]), [env_id % BLOCK])
            waiting[env_id] = other.obs[0]
        mixed.send(np.ones(len(ids), np.int64), ids)


# ------------------------------------------------------------------------------- other APIs --


@pytest.mark.quick(1, sanitizers=True)
@few
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_vector_environments(name: str, mode: str) -> None:
    tasks = CASES[name]
    setting = {"autoreset_mode": AUTORESET[mode], **OPTIONS.get(name, {})}
    mixed = parallel_pool.make_vec(mixture(*tasks).id, len(tasks) * BLOCK, **setting)
    alone = [parallel_pool.make_vec(task, BLOCK, **setting) for task in tasks]
    for i, envs in enumerate(alone):
        envs.action_space.seed(i)
    results = [envs.reset(seed=i * BLOCK) for i, envs in enumerate(alone)]
    observations, infos = mixed.reset(seed=0)
    for i, (own, own_infos) in enumerate(results):
        _compare_observations(observations, own, i)
        assert_same_infos(infos, own_infos, block(i))
    for _ in range(rounds(name)):
        actions = [envs.action_space.sample() for envs in alone]
        step = mixed.step(joined_actions(mixed.single_action_space, actions))
        steps = [envs.step(own) for envs, own in zip(alone, actions, strict=True)]
        for i, own_step in enumerate(steps):
            _compare_observations(step[0], own_step[0], i)
            for ours, theirs in zip(step[1:4], own_step[1:4], strict=True):
                assert ours.dtype == theirs.dtype
                np.testing.assert_array_equal(ours[block(i)], theirs)
            if "final_obs" not in own_step[4] or not isinstance(own_step[0], dict):
                assert_same_infos(step[4], own_step[4], block(i))
        ended = step[2] | step[3]
        if mode == "disabled" and ended.any():
            mixed.reset(options={"reset_mask": ended})
            for i, envs in enumerate(alone):
                if ended[block(i)].any():
                    envs.reset(options={"reset_mask": ended[block(i)]})
    for envs in (mixed, *alone):
        envs.close()


def _compare_observations(mixed: Any, alone: Any, task: int) -> None:
    if isinstance(alone, dict):
        for key, values in alone.items():
            _compare_observations(mixed[key], values, task)
    elif isinstance(alone, tuple):
        assert mixed[block(task)] == alone
    else:
        assert mixed.dtype == alone.dtype
        assert_same_rows(mixed[block(task)], alone, "observations")


@pytest.mark.sanitizers
@pytest.mark.parametrize("kind", ["gym", "gymnasium"])
def test_envpool(kind: str) -> None:
    tasks = ("Pong-v5", "Breakout-v5", "CartPole-v1")[:2]
    make = getattr(parallel_pool, f"make_{kind}")
    mixed = make(mixture(*tasks).id, num_envs=2 * BLOCK, seed=3)
    alone = [make(task, num_envs=BLOCK, seed=3 + i * BLOCK) for i, task in enumerate(tasks)]
    mixed.reset()
    for envs in alone:
        envs.reset()
    rng = np.random.default_rng(1)
    for _ in range(40):
        actions = rng.integers(0, 4, 2 * BLOCK)
        found = mixed.step(actions)
        for i, envs in enumerate(alone):
            own = envs.step(actions[block(i)])
            for ours, theirs in zip(found[:4], own[:4], strict=True):
                assert_same_rows(ours[block(i)], theirs, "results")
            for key in own[4].keys() - {"env_id", "players"}:
                assert_same_rows(found[4][key][block(i)], own[4][key], key)


def test_dm_env() -> None:
    tasks = CASES["classic"]
    mixed = parallel_pool.make_dm(mixture(*tasks).id, num_envs=3 * BLOCK, seed=3)
    alone = [
        parallel_pool.make_dm(task, num_envs=BLOCK, seed=3 + i * BLOCK)
        for i, task in enumerate(tasks)
    ]
    mixed.reset()
    for envs in alone:
        envs.reset()
    rng = np.random.default_rng(1)
    for _ in range(100):
        actions = rng.integers(0, 2, 3 * BLOCK)
        found = mixed.step(actions)
        for i, envs in enumerate(alone):
            own = envs.step(actions[block(i)])
            for name in ("step_type", "reward", "discount"):
                assert_same_rows(getattr(found, name)[block(i)], getattr(own, name), name)
            assert_same_rows(found.observation.obs[block(i)], own.observation.obs, "obs")


@pytest.mark.sanitizers
@pytest.mark.parametrize("name", ["classic", "toy text", "torques", "ALE"])
def test_sb3(name: str) -> None:
    pytest.importorskip("stable_baselines3")
    tasks = CASES[name]
    mixed = parallel_pool.PoolVecEnv(mixture(*tasks).id, len(tasks) * BLOCK)
    alone = [parallel_pool.PoolVecEnv(task, BLOCK) for task in tasks]
    mixed.seed(5)
    for i, envs in enumerate(alone):
        envs.seed(5 + i * BLOCK)
        envs.action_space.seed(i)
    first = mixed.reset()
    for i, envs in enumerate(alone):
        assert_same_rows(first[block(i)], envs.reset(), "reset")
        _compare_dicts(mixed.reset_infos[block(i)], envs.reset_infos)
    for _ in range(rounds(name)):
        actions = [np.stack([envs.action_space.sample() for _ in range(BLOCK)]) for envs in alone]
        observations, rewards, dones, infos = mixed.step(
            joined_actions(mixed.action_space, actions)
        )
        for i, envs in enumerate(alone):
            own = envs.step(actions[i])
            assert_same_rows(observations[block(i)], own[0], "observations")
            np.testing.assert_array_equal(rewards[block(i)], own[1])
            np.testing.assert_array_equal(dones[block(i)], own[2])
            _compare_dicts(infos[block(i)], own[3])
            _compare_dicts(mixed.reset_infos[block(i)], envs.reset_infos)


def _compare_dicts(mixed: Sequence[dict[str, Any]], alone: Sequence[dict[str, Any]]) -> None:
    for ours, theirs in zip(mixed, alone, strict=True):
        assert ours.keys() - {"action_mask"} == theirs.keys() - {"action_mask"}
        for key, value in theirs.items():
            if isinstance(value, np.ndarray):
                assert_same_rows(ours[key][None], value[None], key)
            else:
                assert ours[key] == value, key


def test_leases() -> None:
    from parallel_pool.leases import LeasePool

    tasks = ("CartPole-v1", "Taxi-v4")
    with pytest.raises(ValueError, match="can't be mixed"):
        LeasePool(mixture(*tasks).id, 2)


@pytest.mark.sanitizers
def test_xla() -> None:
    pytest.importorskip("jax")
    from parallel_pool.compat.jax import xla

    tasks = CASES["toy text"]
    count = len(tasks) * BLOCK
    compiled = parallel_pool.make_vec(mixture(*tasks).id, count)
    plain = parallel_pool.make_vec(mixture(*tasks).id, count)
    compiled.reset(seed=1)
    plain.reset(seed=1)
    handle, _, _, step, *_ = xla(compiled)
    for _ in range(30):
        actions = plain.action_space.sample()
        handle, found = step(handle, actions)
        own = plain.step(actions)
        for ours, theirs in zip(found[:4], own[:4], strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs)
        for key, values in own[4].items():
            if key.startswith("_"):
                np.testing.assert_array_equal(np.asarray(found[4][key]), values, key)


# ------------------------------------------------------------------------ options that differ --


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "values", [each_reset(2.0, 20.0), each([3.0, 9.0]), each([9.0, 9.0])], ids=["drawn", "two", "1"]
)
def test_options_that_differ(values: Any, mode: str) -> None:
    tasks = ("MountainCarContinuous-v0", "Pendulum-v1")
    settings = {"autoreset": mode, "max_episode_steps": 20}
    others = values if isinstance(values, EachReset) else each([1.0, 1.0, *values.values])
    mixed = Pool(mixture(*tasks), 2 * BLOCK, seed=1, options={"g": others}, **settings)
    alone = Pool(tasks[1], BLOCK, seed=1 + BLOCK, options={"g": values}, **settings)
    rng = np.random.default_rng(1)
    batch, own = mixed.reset(), alone.reset()
    for _ in range(60):
        assert_same_rows(batch.obs[block(1)], own.obs, "obs")
        assert_same_rows(batch.reward[block(1)], own.reward, "reward")
        found = [mixed.option_value("g", BLOCK + i) for i in range(BLOCK)]
        assert found == [alone.option_value("g", i) for i in range(BLOCK)]
        ended = batch.truncated
        if mode == "disabled" and ended.any():
            mixed.reset(np.flatnonzero(ended))
            alone.reset(np.flatnonzero(ended[block(1)]))
        actions = rng.uniform(-1, 1, (2 * BLOCK, 1)).astype(np.float32)
        batch, own = mixed.step(actions), alone.step(actions[block(1)])
