"""Environments of a pool with their own options equal Gymnasium's with those options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool import Pool, PoolVectorEnv, each, each_reset
from parallel_pool._apis.common import ale_ids, attribute_options
from parallel_pool._apis.common.env_fn import EnvFn
from parallel_pool._engine import registry
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs")

MODES = ["next_step", "same_step", "disabled"]
NUM_ENVS = 5


@dataclass(frozen=True)
class Case:
    """What to make: options with one value for each of NUM_ENVS environments."""

    id: str
    options: Mapping[str, Sequence[Any]]
    steps: int = 60
    limit: int = 25
    kept: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.id, *self.options])

    def of_env(self, env_id: int) -> dict[str, Any]:
        own = {name: values[env_id] for name, values in self.options.items()}
        return {**self.kept, **own}


ALIKE = [True, False, False, True, True]
CASES = [
    # environments 1 and 2, and 3 and 4, share a configuration
    Case("CartPole-v1", {"sutton_barto_reward": ALIKE}),
    Case("FrozenLake-v1", {"success_rate": [0.1, 0.3, 0.5, 0.9, 1.0], "is_slippery": ALIKE}),
    Case("Pendulum-v1", {"g": [10.0, 1.6, 3.7, 24.8, -1.0]}),
    Case("Blackjack-v1", {"natural": ALIKE, "sab": ALIKE[::-1]}, limit=10),
    Case("MountainCar-v0", {"goal_velocity": [0.0, 0.0, 0.01, 0.02, 0.0]}),
    Case(
        "CartPole-v1",
        {
            "gravity": [9.8, 1.6, 3.7, 24.8, -9.8],
            "masscart": [1.0, 0.5, 2.0, 1.0, 1.0],
            "masspole": [0.1, 0.1, 0.3, 0.1, 0.1],
            "length": [0.5, 1.0, 0.3, 0.5, 0.5],
            "force_mag": [10.0, 5.0, 20.0, 10.0, 10.0],
            "tau": [0.02, 0.01, 0.03, 0.02, 0.02],
        },
    ),
    Case(
        "Pendulum-v1",
        {
            "m": [1.0, 0.5, 2.0, 1.0, 1.0],
            "l": [1.0, 1.0, 0.7, 1.3, 1.0],
            "g": [10.0, 9.0] * 2 + [3.0],
        },
    ),
    Case("FrozenLake-v1", {"desc": [["SFG", "HFF"]] * 2 + [["SHF", "FFG"]] * 3}),
    Case("FrozenLake-v1", {"reward_schedule": [(1.0, 0.0, 0.0)] * 2 + [(2.0, -1.0, 0.5)] * 3}),
    Case(
        "Taxi-v4",
        {
            "is_rainy": ALIKE,
            "rainy_probability": [0.1, 0.3, 0.5, 0.7, 0.9],
            "fickle_passenger": ALIKE[::-1],
            "fickle_probability": [0.9, 0.7, 0.5, 0.3, 0.1],
        },
    ),
    Case("CliffWalking-v1", {"is_slippery": ALIKE}),
    Case(
        "LunarLander-v3",
        {
            "gravity": [-10.0, -5.0, -1.5, -11.9, -3.0],
            "enable_wind": ALIKE,
            "wind_power": [15.0, 3.0, 2.0, 1.0, 0.0],
            "turbulence_power": [1.5, 1.0, 2.0, 0.1, 0.0],
        },
    ),
    Case(
        "ALE/Pong-v5",
        {"repeat_action_probability": [0.0, 0.25, 0.9, 0.25, 1.0], "mode": [0, 1, 0, 1, 0]},
        steps=20,
        limit=8,
    ),
    Case(
        "Ant-v5",
        {
            "ctrl_cost_weight": [0.5, 0.1, 0.0, 0.5, 0.5],
            "reset_noise_scale": [0.1, 0.2, 0.0, 0.1, 0.1],
            "healthy_z_range": [(0.2, 1.0)] * 3 + [(0.4, 0.8)] * 2,
            "frame_skip": [5, 1, 5, 2, 5],
        },
        steps=25,
        limit=10,
    ),
    Case("HalfCheetah-v5", {"forward_reward_weight": [1.0, 0.5, 2.0, 0.0, 1.0]}, steps=12, limit=5),
    Case("Hopper-v5", {"healthy_state_range": [(-100.0, 100.0), (-1.0, 1.0)] * 2 + [(-5.0, 5.0)]}),
    Case("Walker2d-v5", {"healthy_reward": [1.0, 0.5, 2.0, 0.0, 1.0]}, steps=12, limit=5),
    Case("Swimmer-v5", {"ctrl_cost_weight": [1.0, 0.5, 2.0, 0.0, 1.0]}, steps=12, limit=5),
    Case("Reacher-v5", {"reward_control_weight": [1.0, 0.5, 2.0, 0.0, 1.0]}, steps=12, limit=5),
    Case("Pusher-v5", {"reward_near_weight": [1.0, 0.5, 2.0, 0.0, 1.0]}, steps=12, limit=5),
    Case("InvertedPendulum-v5", {"reset_noise_scale": [0.1, 0.01, 0.0, 0.1, 0.1]}),
    Case("InvertedDoublePendulum-v5", {"healthy_reward": [10.0, 5.0, 2.0, 0.0, 1.0]}),
    Case("Humanoid-v5", {"healthy_reward": [5.0, 1.0, 2.0, 0.0, 1.0]}, steps=10, limit=4),
    Case(
        "HumanoidStandup-v5", {"impact_cost_weight": [5e-7, 0.0, 1e-3, 0.0, 0.1]}, steps=6, limit=3
    ),
]
# ids whose reference is no Gymnasium environment
OTHERS = [
    Case(
        "Pong-v5",
        {"repeat_action_probability": [0.0, 0.25, 0.9, 0.25, 1.0], "frame_skip": [4, 1, 4, 2, 4]},
        steps=12,
        limit=5,
    ),
    Case("Breakout-v5", {"episodic_life": ALIKE}, steps=60, limit=40),
    Case("Humanoid-v4", {"contact_cost_weight": [0.0, 5e-7, 1e-3, 0.0, 0.1]}, steps=10, limit=4),
    Case("Catch-v0", {"height": [10] * 5}, limit=8),
    Case("mpe/simple_spread_v3", {"local_ratio": [0.1, 0.5, 0.9, 0.5, 0.5]}, limit=8),
    Case("classic/rps_v2", {"max_cycles": [3, 5, 3, 7, 9]}, steps=20),
]


def make_actions(space: Any, steps: int) -> list[Any]:
    space.seed(7)
    return [np.array([space.sample() for _ in range(NUM_ENVS)]) for _ in range(steps)]


def make_reference(case: Case, env_id: int) -> Any:
    definition = registry.find(case.id)
    if definition.family == ale_ids.FAMILY:
        ale_ids.register(case.id)
    options, attributes = attribute_options.split(definition, case.of_env(env_id))
    env = gymnasium.make(case.id, disable_env_checker=True, max_episode_steps=case.limit, **options)
    attribute_options.apply(env.unwrapped, attributes)
    return env


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", thinned(AutoresetMode, 3), ids=lambda mode: mode.name)
@pytest.mark.parametrize("case", thinned(CASES, 3), ids=str)
def test_rows_equal_gymnasium(case: Case, mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv(
        [lambda i=i: make_reference(case, i) for i in range(NUM_ENVS)], autoreset_mode=mode
    )
    ours = PoolVectorEnv(
        case.id,
        NUM_ENVS,
        autoreset_mode=mode,
        backend="native",
        num_threads=2,
        max_episode_steps=case.limit,
        **case.kept,
        **{name: each(values) for name, values in case.options.items()},
    )
    try:
        assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
        for step, action in enumerate(make_actions(theirs.single_action_space, case.steps)):
            expected = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                masks = [{"reset_mask": ended.copy()} for _ in range(2)]
                assert_same(ours.reset(options=masks[0]), theirs.reset(options=masks[1]), f"{step}")
    finally:
        theirs.close()
        ours.close()


def spread(case: Case, autoreset: str, **arguments: Any) -> Pool:
    """Returns the pool of a case, with time limits of each environment's own."""
    return Pool(
        case.id,
        NUM_ENVS,
        autoreset=autoreset,
        seed=3,
        max_episode_steps=each([case.limit + i for i in range(NUM_ENVS)]),
        options={**case.kept, **{name: each(values) for name, values in case.options.items()}},
        **arguments,
    )


def single(case: Case, env_id: int, autoreset: str) -> Pool:
    """Returns a pool of one environment that equals an environment of `spread`."""
    return Pool(
        case.id,
        1,
        autoreset=autoreset,
        seed=3 + env_id,
        num_threads=1,
        max_episode_steps=case.limit + env_id,
        options=case.of_env(env_id),
    )


def assert_row(pool: Pool, batch: Any, row: int, other: Any) -> None:
    """Fails unless a row equals the only row of another pool's batch."""
    ended = other.terminated[0] or other.truncated[0]
    for at, column in enumerate(pool.columns):
        if column.name == "env_id" or (column.is_final and not ended):
            continue
        assert_same(batch[at][row], other[at][0], f"{column.name} of row {row}")


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", thinned(MODES, 2))
@pytest.mark.parametrize("case", thinned([*CASES, *OTHERS], 3), ids=str)
def test_rows_equal_those_of_single_pools(case: Case, mode: str) -> None:
    with spread(case, mode, num_threads=2) as pool:
        singles = [single(case, i, mode) for i in range(NUM_ENVS)]
        results = [pool.reset(), *[each.reset() for each in singles]]
        for action in make_actions(pool.spec.action_space(), case.steps):
            for i in range(NUM_ENVS):
                assert_row(pool, results[0], i, results[1 + i])
            ended = results[0].terminated | results[0].truncated
            if mode == "disabled" and ended.any():
                ids = np.flatnonzero(ended)
                again = pool.reset(ids)
                for row, i in enumerate(ids):
                    assert_row(pool, again, row, singles[i].reset())
            results = [pool.step(action), *[p.step(action[[i]]) for i, p in enumerate(singles)]]
        for each in singles:
            each.close()


def test_runs_of_an_unordered_pool_end_at_configurations() -> None:
    # enough environments for runs of several, whose configurations change within a run
    count, values = 64, [i % 7 < 3 for i in range(64)]
    limits = [5 + i % 3 for i in range(count)]
    options = {"sutton_barto_reward": each(values)}
    expected: dict[int, list[tuple[float, bool]]] = {}
    for i in range(count):
        with Pool(
            "CartPole-v1",
            1,
            seed=i,
            max_episode_steps=limits[i],
            num_threads=1,
            options={"sutton_barto_reward": values[i]},
        ) as pool:
            pool.reset()
            rows = [pool.step([0]) for _ in range(20)]
            expected[i] = [(float(row.reward[0]), bool(row.truncated[0])) for row in rows]
    with Pool(
        "CartPole-v1",
        count,
        batch_size=16,
        seed=0,
        options=options,
        num_threads=2,
        max_episode_steps=each(limits),
    ) as pool:
        pool.send_reset()
        seen: dict[int, list[tuple[float, bool]]] = {i: [] for i in range(count)}
        while min(map(len, seen.values())) < 20:
            batch = pool.recv()
            for row, env_id in enumerate(batch.env_id.tolist()):
                if batch.elapsed_step[row] or seen[env_id]:
                    seen[env_id].append((float(batch.reward[row]), bool(batch.truncated[row])))
            pool.send(np.zeros(16, np.int64), batch.env_id)
    for i in range(count):
        assert seen[i][:20] == expected[i], i


@pytest.mark.slow
def test_worker_processes_give_each_environment_its_options() -> None:
    values, limits = [True, False, True], [3, 4, 5]
    ours = parallel_pool.make_vec(
        "CartPole-v1",
        3,
        backend="process",
        num_workers=1,
        sutton_barto_reward=each(values),
        max_episode_steps=each(limits),
    )
    spec = gymnasium.spec("CartPole-v1")
    made = [
        EnvFn(spec, {"sutton_barto_reward": value, "max_episode_steps": limit}, ())
        for value, limit in zip(values, limits, strict=True)
    ]
    theirs = SyncVectorEnv(made)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
    for step in range(12):
        action = np.zeros(3, np.int64)
        assert_same(ours.step(action), theirs.step(action), f"step {step}")
    ours.close()
    theirs.close()


# --------------------------------------------------------------------- values drawn at resets --


def generator(seed: int) -> np.random.Generator:
    """Returns the generator of an environment's draws, as the documentation says."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(1)[0]))


DRAWN = [
    Case("CartPole-v1", {"gravity": (1.0, 20.0), "length": (0.2, 2.0)}),
    Case("FrozenLake-v1", {"success_rate": (0.1, 0.9)}),
    Case("Pendulum-v1", {"g": (1.0, 20.0), "m": (0.5, 2.0)}),
    Case(
        "LunarLander-v3",
        {"gravity": (-11.0, -1.0), "wind_power": (0.0, 20.0)},
        kept={"enable_wind": True},
    ),
    Case("Taxi-v4", {"rainy_probability": (0.1, 0.9)}, kept={"is_rainy": True}),
    Case("Pong-v5", {"repeat_action_probability": (0.0, 1.0)}, steps=12, limit=5),
    Case("ALE/Pong-v5", {"repeat_action_probability": (0.0, 1.0)}, steps=12, limit=5),
    Case(
        "Ant-v5",
        {"ctrl_cost_weight": (0.0, 1.0), "reset_noise_scale": (0.0, 0.2)},
        steps=12,
        limit=5,
    ),
]


@pytest.mark.quick(2)
@pytest.mark.parametrize("mode", thinned(MODES, 2))
@pytest.mark.parametrize("case", thinned(DRAWN, 2), ids=str)
def test_draws_are_numpys_and_in_force(case: Case, mode: str) -> None:
    """Each episode equals that of a pool with the value that NumPy draws."""
    options = {name: each_reset(*bounds) for name, bounds in case.options.items()}
    with Pool(
        case.id,
        3,
        seed=5,
        autoreset=mode,
        max_episode_steps=case.limit,
        options={**case.kept, **options},
    ) as pool:
        order = [name for name in pool.definition.options if name in options]
        actions = make_actions(pool.spec.action_space(), case.steps)
        for seed in (5, 40):
            batch = pool.reset(seed=seed)
            drawn = pool.option_values()
            for i in range(3):
                rng = generator(seed + i)
                expected = {name: rng.uniform(*case.options[name]) for name in order}
                assert {name: drawn[name][i] for name in order} == expected
                with Pool(
                    case.id,
                    1,
                    seed=seed + i,
                    autoreset=mode,
                    max_episode_steps=case.limit,
                    options={**case.kept, **expected},
                ) as other:
                    states = pool.get_state()
                    assert_row(pool, batch, i, other.reset())
                    for action in actions:
                        mine, row = pool.step(action[[i]], [i]), other.step(action[[i]])
                        if mode == "same_step" and (row.terminated[0] or row.truncated[0]):
                            break
                        assert_row(pool, mine, 0, row)
                        if row.terminated[0] or row.truncated[0]:
                            break
                    pool.set_state(states)


DRAWS = {
    "gravity": each_reset(1.0, 20.0),
    "length": each_reset(0.1, 10.0, log=True),
    "tau": each_reset([0.01, 0.02, 0.05]),
}


def draw(rng: np.random.Generator) -> dict[str, float]:
    """Draws what a reset draws of DRAWS and of max_episode_steps from 3 to 6."""
    gravity = rng.uniform(1.0, 20.0)
    length = math.exp(rng.uniform(math.log(0.1), math.log(10.0)))
    tau = [0.01, 0.02, 0.05][rng.integers(0, 3)]
    limit = rng.integers(3, 6 + 1)
    return {"gravity": gravity, "length": length, "tau": tau, "max_episode_steps": limit}


@pytest.mark.parametrize("num_threads", [1, 2])
def test_every_reset_draws_again(num_threads: int) -> None:
    with Pool(
        "CartPole-v1",
        40,
        seed=9,
        num_threads=num_threads,
        options=DRAWS,
        max_episode_steps=each_reset(3, 6),
    ) as pool:
        generators = [generator(9 + i) for i in range(40)]
        pool.reset()
        for _ in range(30):
            seen = pool.option_values()
            for i, rng in enumerate(generators):
                assert {name: values[i] for name, values in seen.items()} == draw(rng)
            pool.reset()


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_automatic_resets_draw(mode: str) -> None:
    # a pole so short and heavy a push that only the time limit ends episodes
    with Pool(
        "CartPole-v1",
        40,
        seed=9,
        num_threads=2,
        autoreset=mode,
        options={"force_mag": 0.0, "gravity": each_reset(0.0, 1e-9)},
        max_episode_steps=each_reset(3, 6),
    ) as pool:
        generators = [generator(9 + i) for i in range(40)]
        episodes = [(rng.uniform(0.0, 1e-9), rng.integers(3, 7)) for rng in generators]
        pool.reset()
        for _ in range(40):
            batch, values = pool.step(np.zeros(40, np.int64)), pool.option_values()
            for i, rng in enumerate(generators):
                assert batch.truncated[i] == (batch.elapsed_step[i] == episodes[i][1])
                begins = batch.truncated[i] if mode == "same_step" else not batch.elapsed_step[i]
                if begins:
                    episodes[i] = (rng.uniform(0.0, 1e-9), rng.integers(3, 7))
                assert (values["gravity"][i], values["max_episode_steps"][i]) == episodes[i]


def test_draws_do_not_depend_on_batches() -> None:
    seen: list[dict[int, list[Any]]] = []
    for batch_size, num_threads in ((32, 1), (8, 2)):
        with Pool(
            "CartPole-v1",
            32,
            batch_size=batch_size,
            num_threads=num_threads,
            seed=1,
            options=DRAWS,
            max_episode_steps=each_reset(3, 6),
        ) as pool:
            rows: dict[int, list[Any]] = {i: [] for i in range(32)}
            pool.send_reset()
            while min(map(len, rows.values())) < 30:
                batch = pool.recv()
                for row, env_id in enumerate(batch.env_id.tolist()):
                    rows[env_id].append((batch.obs[row].tolist(), bool(batch.truncated[row])))
                pool.send(np.ones(len(batch.env_id), np.int64), batch.env_id)
            seen.append({env_id: found[:30] for env_id, found in rows.items()})
    assert seen[0] == seen[1]


def test_np_random_draws_nothing_more() -> None:
    plain = Pool("CartPole-v1", 4, seed=2)
    drawn = Pool("CartPole-v1", 4, seed=2, options={"gravity": each_reset(1.0, 2.0)})
    for _ in range(3):
        assert_same(drawn.reset().obs, plain.reset().obs, "initial states")
    plain.close()
    drawn.close()
