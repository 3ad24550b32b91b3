"""Toy text equals Gymnasium's, and EnvPool's where Gymnasium has none: results, infos, pictures."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import DummyVecEnv

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.support.pairs import pair
from tests.support.same import assert_same
from tests.support.sampling import paired, thinned

pytestmark = pytest.mark.proven("csrc/envs/toy_text")

IDS = sorted(id for id, found in registry.builtin().items() if found.family == "toy_text")
MODES = list(AutoresetMode)
LAKE, TAXI, CARDS = "FrozenLake-v1", "Taxi-v4", "Blackjack-v1"


@dataclass(frozen=True)
class Case:
    """What to make, and how long to run it."""

    id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 120
    num_envs: int = 5

    def __str__(self) -> str:
        return "-".join([self.id, *(f"{k}={v}" for k, v in self.options.items())])


# all rules of a wet taxi, and of its passenger, in a few hundred steps of 40 environments
MUCH = {"steps": 400, "num_envs": 40}

PLAIN = [
    *(Case(id) for id in IDS),
    *(Case(id, {"max_episode_steps": 3}, steps=40) for id in IDS),
]
# with other rules, which autoreset does not know
RULES = [
    Case("CliffWalking-v1", {"is_slippery": True}),
    Case("CliffWalkingSlippery-v1", {"is_slippery": False}),
    Case(LAKE, {"is_slippery": False}),
    Case(LAKE, {"map_name": "8x8"}),
    Case("FrozenLake8x8-v1", {"map_name": "4x4", "success_rate": 0.7}),
    # rates that make a certain outcome, or sums that fall; an int shows in the info prob
    *(Case(LAKE, {"success_rate": rate}) for rate in (0.0, 1.0, 0, 1, 2, -1, 1.4, -0.3)),
    Case(LAKE, {"reward_schedule": (2.5, -1, -0.01)}),
    Case(LAKE, {"reward_schedule": [5, 4, 3], "is_slippery": False}),
    # several starts, other letters, a goal between, no start, cells without a letter
    Case(LAKE, {"desc": ["SFFS", "FHFX", "GFSF"]}),
    Case(LAKE, {"desc": ["FFF", "FFG"]}),
    Case(LAKE, {"desc": ["SF\0", "F\nH"]}),
    Case(LAKE, {"desc": [["S", "F"], ["F", "G"]]}),
    Case(LAKE, {"desc": np.array([["S", "F"], ["F", "G"]])}),
    Case(LAKE, {"desc": ["S" * 7] * 9}),
    Case(LAKE, {"desc": ["SG"], "map_name": None}),
    Case(TAXI, {"is_rainy": True}, **MUCH),
    Case(TAXI, {"fickle_passenger": True, "fickle_probability": 0.9}, **MUCH),
    Case(TAXI, {"is_rainy": True, "fickle_passenger": True, "rainy_probability": 0.37}, **MUCH),
    Case(TAXI, {"is_rainy": True, "rainy_probability": 1.5}, **MUCH),
    Case(CARDS, {"natural": True}, **MUCH),
    Case(CARDS, {"natural": True, "sab": False}, **MUCH),
    Case(CARDS, {"sab": False}, **MUCH),
]


def assert_same_run(case: Case, mode: AutoresetMode, seed: Any = 11) -> None:
    vector_kwargs = {"autoreset_mode": mode}
    with (
        np.errstate(invalid="ignore"),
        pair(case.id, case.num_envs, vector_kwargs=vector_kwargs, **case.options) as (theirs, ours),
    ):
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
        theirs.action_space.seed(7)
        for step in range(case.steps):
            action = _legal(theirs, ours) if step % 2 else theirs.action_space.sample()
            expected = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                mask = {"reset_mask": ended}
                again = theirs.reset(options=dict(mask))
                assert_same(ours.reset(options=dict(mask)), again, f"reset at {step}")


def _legal(theirs: Any, ours: Any) -> Any:
    """Returns actions that change a taxi's state, so that passengers travel."""
    state = getattr(theirs.envs[0].unwrapped, "action_mask", None)
    if state is None:
        return theirs.action_space.sample()
    actions = theirs.action_space.sample()
    for i, env in enumerate(theirs.envs):
        mask = env.unwrapped.action_mask(env.unwrapped.s)
        # passengers get in and out wherever they can
        actions[i] = 4 if mask[4] else 5 if mask[5] and actions[i] < 2 else actions[i]
    return actions


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("case", "mode"),
    thinned(paired(PLAIN, RULES, MODES), 2),
    ids=lambda value: value.name if isinstance(value, AutoresetMode) else str(value),
)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    assert_same_run(case, mode)


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_hundreds_of_seeds_are_the_same(id: str) -> None:
    assert_same_run(Case(id, steps=80, num_envs=300), AutoresetMode.NEXT_STEP, seed=1000)


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_thousands_of_steps_are_the_same(id: str) -> None:
    """Twenty times as many as the longest time limit."""
    assert_same_run(Case(id, steps=4000, num_envs=3), AutoresetMode.SAME_STEP, seed=[0, 2**70, 5])


def test_rainy_drift_is_that_of_every_place() -> None:
    """Each move from each of the 25 cells leads to all cells that Gymnasium's table names."""
    env: Any = gymnasium.make(TAXI, is_rainy=True).unwrapped
    count = 8000
    with closing(PoolVectorEnv(TAXI, count, is_rainy=True)) as ours:
        ours.reset(seed=3)
        before = np.array([row[0] for row in _states(ours)])
        actions = np.arange(count) % 4
        after = ours.step(actions)[0]
    seen = set()
    for state, action, found in zip(before.tolist(), actions.tolist(), after.tolist(), strict=True):
        assert found in [outcome[1] for outcome in env.P[state][action]]
        seen.add((state // 20, action, found // 20))
    wanted = {
        (state // 20, action, outcome[1] // 20)
        for state in range(500)
        for action in range(4)
        for outcome in env.P[state][action]
    }
    assert seen == wanted


def _states(envs: PoolVectorEnv) -> Iterator[Any]:
    size = envs.pool.definition.raw.state_size
    for snapshot in envs.pool.get_state():
        yield np.frombuffer(snapshot[-size:], np.int64, 1)


# -------------------------------------------------------------------------------- other APIs --


@pytest.mark.quick(3)
@pytest.mark.parametrize("id", IDS)
def test_stable_baselines_gets_the_same(id: str) -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.make(id, max_episode_steps=6)

    theirs, ours = DummyVecEnv([make] * 4), PoolVecEnv(id, 4, max_episode_steps=6)
    try:
        assert ours.observation_space == theirs.observation_space
        theirs.seed(3)
        ours.seed(3)
        assert_same(ours.reset(), theirs.reset(), "reset")
        assert_same(ours.reset_infos, theirs.reset_infos, "infos of reset")
        rng = np.random.default_rng(0)
        for step in range(60):
            action = rng.integers(theirs.action_space.n, size=4)
            # DummyVecEnv changes its lists in the next step
            expected = copy.deepcopy(theirs.step(action))
            assert_same(tuple(ours.step(action)), expected, f"step {step}")
            assert_same(ours.reset_infos, theirs.reset_infos, f"infos of resets at {step}")
    finally:
        ours.close()
        theirs.close()


def test_integer_infos_of_one_environment() -> None:
    """With success_rate=1 prob is an int in every row; Stable-Baselines3 gets Python's."""
    with closing(PoolVectorEnv(LAKE, 2, success_rate=1)) as envs:
        assert envs.reset(seed=0)[1]["prob"].dtype == np.int64
        assert envs.step([2, 2])[4]["prob"].dtype == np.int64
    env = PoolVecEnv(LAKE, 1, success_rate=1)
    env.reset()
    info = env.step(np.array([2]))[3][0]
    assert type(info["prob"]) is int
    env.close()


@pytest.mark.parametrize("id", [*IDS, "Taxi-v3", "CliffWalking-v0", "Catch-v0", "NChain-v0"])
def test_envpools_api_has_arrays(id: str) -> None:
    """A Tuple is one array there, as in EnvPool; an id that only EnvPool has is its own."""
    assert id in parallel_pool.list_all_envs()
    spec = parallel_pool.make_spec(id)
    envs = parallel_pool.make_gymnasium(id, num_envs=3, seed=1)
    observation, infos = envs.reset()
    assert all(spec.observation_space.contains(row) for row in observation)
    assert observation.shape[1:] == spec.observation_space.shape
    assert (np.asarray(infos["elapsed_step"]) == 0).all()
    array = spec.state_array_spec["obs"]
    low, high = np.asarray(array.minimum), np.asarray(array.maximum)
    for _ in range(30):
        observation = envs.step(np.zeros(3, np.int32))[0]
        assert ((observation >= low) & (observation <= high)).all()
    envs.close()


@pytest.mark.parametrize(
    ("alias", "id"), [("Taxi-v3", TAXI), ("CliffWalking-v0", "CliffWalking-v1")]
)
def test_ids_that_only_envpool_has(alias: str, id: str) -> None:
    envs = parallel_pool.make_gymnasium(alias, num_envs=2, seed=4)
    same = parallel_pool.make_gymnasium(id, num_envs=2, seed=4)
    assert envs.spec.id == alias
    assert_same(envs.reset(), same.reset(), "reset")
    assert_same(envs.step(np.array([1, 2])), same.step(np.array([1, 2])), "step")
    envs.close()
    same.close()
    # Gymnasium's API knows them no more than Gymnasium does
    with pytest.raises(gymnasium.error.Error):
        parallel_pool.make_vec(alias, 2)


# ------------------------------------------------------------------------------------ options --


@pytest.mark.sanitizers
def test_without_a_map_each_environment_draws_its_own() -> None:
    kwargs = {"desc": None, "map_name": None}
    envs = parallel_pool.make_vec(LAKE, 4, vector_kwargs={"num_workers": 1}, **kwargs)
    assert (envs.backend, envs.single_observation_space.n) == ("process", 64)
    assert "draws a map of its own" in envs.backend_reason
    assert len({desc.tobytes() for desc in envs.get_attr("desc")}) > 1
    envs.close()
    with pytest.raises(ValueError, match="draws a map of its own"):
        PoolVectorEnv(LAKE, 4, backend="native", map_name=None)
    with pytest.raises(ValueError, match="draws a map of its own"):
        parallel_pool.Pool(LAKE, 4, options=kwargs)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"map_name": "5x5"}, ValueError, "map_name=5x5: choose 4x4 or 8x8, or give desc"),
        ({"desc": ["SF", "F"]}, ValueError, "desc=.*give strings of one length"),
        ({"desc": []}, ValueError, "desc=.*give strings of one length"),
        ({"desc": ["S"]}, ValueError, "desc=.*give strings of one length"),
        ({"desc": ["SÄ"]}, ValueError, "desc=.*give strings of one length"),
        ({"desc": "SF\nG"}, ValueError, "desc=SF\nG: give rows of one length"),
        ({"desc": "SF\n"}, ValueError, "give rows of one length"),
        ({"desc": "\n"}, ValueError, "give rows of one length"),
        ({"reward_schedule": (1, 0)}, TypeError, "reward_schedule=.*give three numbers"),
        ({"reward_schedule": 1}, TypeError, "reward_schedule=1: give three numbers"),
        ({"reward_schedule": (1, 0, "a")}, TypeError, "reward_frozen='a' is a str"),
        ({"reward_schedule": (1, 0, 0), "reward_hole": 1}, TypeError, "are the same"),
        ({"success_rate": "1"}, TypeError, "success_rate='1' is a str"),
        ({"success_rate": float("nan")}, ValueError, "success_rate=nan"),
        ({"size": 5}, ValueError, "size=5: choose 4 or 8"),
        ({"size": 4, "map_name": "4x4"}, TypeError, "are the same"),
    ],
)
def test_wrong_options_are_named(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        parallel_pool.Pool(LAKE, 2, options=options)


def test_envpools_size_is_a_map() -> None:
    assert parallel_pool.make_spec(LAKE, size=8).observation_space.n == 64
    assert parallel_pool.make_spec("FrozenLake8x8-v1", size=4).observation_space.n == 16


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize("id", IDS)
def test_surface_is_the_same(id: str) -> None:
    with pair(id, 2) as (theirs, ours):
        assert ours.metadata == theirs.metadata
        ours.spec.kwargs.pop("vectorization_mode")
        theirs.spec.kwargs.pop("vectorization_mode")
        assert ours.spec == theirs.spec
        for name in ("desc", "nrow", "reward_range", "P", "natural", "is_slippery", "locs"):
            if hasattr(theirs.envs[0].unwrapped, name):
                expected = theirs.get_attr(name)
                assert_same(ours.get_attr(name), expected, name)


# ----------------------------------------------------------------------------------- pictures --

PICTURES = [
    (LAKE, {}),
    (LAKE, {"desc": ["SFFS", "FHFX", "GFSF"], "is_slippery": False}),
    ("FrozenLake8x8-v1", {}),
    (TAXI, {"is_rainy": True}),
    ("CliffWalkingSlippery-v1", {}),
    (CARDS, {}),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", thinned(MODES, 3), ids=lambda mode: mode.name)
@pytest.mark.parametrize(
    ("id", "options", "mode"),
    [
        (id, options, mode)
        for id, options in PICTURES
        for mode in ("rgb_array", "ansi", "rgb_array_list")
        if (id, mode) != (CARDS, "ansi")
    ],
)
def test_pictures_are_the_same(
    id: str, options: dict[str, Any], mode: str, autoreset: AutoresetMode
) -> None:
    vector_kwargs = {"autoreset_mode": autoreset}
    settings = {"render_mode": mode, "max_episode_steps": 7, **options}
    with pair(id, 2, vector_kwargs=vector_kwargs, **settings) as (theirs, ours):
        assert ours.metadata == theirs.metadata
        theirs.reset(seed=4)
        ours.reset(seed=4)
        assert_same(ours.render(), theirs.render(), "after reset")
        theirs.action_space.seed(1)
        for step in range(16):
            action = theirs.action_space.sample()
            ended = np.logical_or(*theirs.step(action)[2:4])
            ours.step(action)
            if autoreset is AutoresetMode.DISABLED and ended.any():
                theirs.reset(options={"reset_mask": ended})
                ours.reset(options={"reset_mask": ended})
            # a taxi's orientation is that of its last picture, so some are left out
            if step % 4 != 1:
                assert_same(ours.render(), theirs.render(), f"step {step}")


def test_pictures_of_text_are_refused_for_blackjack() -> None:
    with pytest.raises(ValueError, match="choose 'human' or 'rgb_array'"):
        PoolVectorEnv(CARDS, 2, render_mode="ansi")


# ------------------------------------------------------------------- EnvPool's Catch and NChain --


class Words:
    """The output of std::mt19937."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed)

    def next(self) -> int:
        return int.from_bytes(self._random.bytes(4), "little")

    def below(self, n: int) -> int:
        """Lemire's rule; none of the few draws here is rejected."""
        return self.next() * n >> 32

    def uniform(self) -> float:
        low = self.next()
        return (low + self.next() * 2.0**32) / 2.0**64


def catch(seed: int, actions: list[int], height: int, width: int) -> Iterator[Any]:
    """Yields observation, reward and end of EnvPool's game, after a reset and after each step."""
    words, is_over = Words(seed), True
    for action in [0, *actions]:
        reward = 0.0
        if is_over:
            row, ball, paddle, is_over = 0, words.below(width), width // 2, False
        else:
            row, paddle = row + 1, min(max(paddle + action - 1, 0), width - 1)
            is_over = row == height - 1
            reward = (1.0 if ball == paddle else -1.0) if is_over else 0.0
        board = np.zeros((height, width), np.float32)
        board[row, ball] = board[-1, paddle] = 1
        yield board, reward, is_over


def chain(seed: int, actions: list[int], limit: int) -> Iterator[Any]:
    words, position, steps = Words(seed), 0, limit
    for action in [0, *actions]:
        reward = 0.0
        if steps == limit:
            position = steps = 0
        else:
            steps += 1
            goes_back = (action == 1) != (words.uniform() < 0.2)
            reward = 2.0 if goes_back else 10.0 if position == 4 else 0.0
            position = 0 if goes_back else min(position + 1, 4)
        yield np.int64(position), reward, False


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("id", "options", "num_actions"),
    [
        ("Catch-v0", {}, 3),
        ("Catch-v0", {"height": 2, "width": 7}, 3),
        ("Catch-v0", {"height": 6, "width": 1}, 3),
        ("NChain-v0", {"max_episode_steps": 37}, 2),
    ],
)
@pytest.mark.parametrize("seed", [0, 5, 2**31])
def test_envpools_own_games(id: str, options: dict[str, int], num_actions: int, seed: int) -> None:
    steps = 300
    envs = parallel_pool.make_gymnasium(id, num_envs=3, seed=seed, **options)
    rng = np.random.default_rng(1)
    # forward along the chain, mostly
    actions = np.minimum(rng.integers(0, num_actions + 2, (steps, 3)), num_actions - 1)
    actions = num_actions - 1 - actions
    limit = options.get("max_episode_steps", 0)
    board = (options.get("height", 10), options.get("width", 5))
    models = []
    for i in range(3):
        own = actions[:, i].tolist()
        models.append(catch(seed + i, own, *board) if not limit else chain(seed + i, own, limit))
    observation, _ = envs.reset()
    rewards, ends = np.zeros(3), np.zeros(3, bool)
    best = 0.0
    for step in range(steps):
        for i, model in enumerate(models):
            expected, reward, is_over = next(model)
            assert_same(np.asarray(observation[i]), np.asarray(expected), f"{step} of {i}")
            assert (rewards[i], ends[i]) == (reward, is_over)
        observation, rewards, ends, _, _ = envs.step(actions[step])
        best = max(best, float(rewards.max()))
    assert best == (10 if limit else 1)
    envs.close()
