"""Particle worlds equal mpe2's, bit for bit: observations, rewards, ends and benchmark data."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.pool import Pool
from parallel_pool._families import numpy_loops
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/mpe")

WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("simple_v3", {}),
    ("simple_spread_v3", {}),
    ("simple_spread_v3", {"N": 5, "local_ratio": 0.3}),
    ("simple_spread_v3", {"N": 4, "num_agent_neighbors": 2, "num_landmark_neighbors": 6}),
    (
        "simple_spread_v3",
        {
            "N": 2,
            "num_agent_neighbors": 7,
            "num_landmark_neighbors": 1,
            "terminate_on_success": True,
        },
    ),
    ("simple_spread_v3", {"N": 1, "num_agent_neighbors": None, "terminate_on_success": True}),
    ("simple_spread_v3", {"N": 2, "curriculum": True}),
    ("simple_tag_v3", {}),
    ("simple_tag_v3", {"num_good": 3, "num_adversaries": 4, "num_obstacles": 3}),
    ("simple_tag_v3", {"curriculum": True}),
    ("simple_tag_v3", {"num_good": 2, "num_agent_neighbors": 2, "num_landmark_neighbors": 1}),
    (
        "simple_tag_v3",
        {
            "num_adversaries": 9,
            "num_agent_neighbors": 11,
            "num_landmark_neighbors": 5,
            "terminate_on_success": True,
        },
    ),
    ("simple_adversary_v3", {}),
    ("simple_adversary_v3", {"N": 4}),
    ("simple_adversary_v3", {"N": 3, "num_agent_neighbors": 1, "num_landmark_neighbors": 5}),
    ("simple_push_v3", {}),
    ("simple_crypto_v3", {}),
    ("simple_reference_v3", {}),
    ("simple_reference_v3", {"local_ratio": 0.9}),
    ("simple_speaker_listener_v4", {}),
    ("simple_world_comm_v3", {}),
    (
        "simple_world_comm_v3",
        {
            "num_good": 3,
            "num_adversaries": 2,
            "num_obstacles": 2,
            "num_food": 3,
            "num_forests": 4,
        },
    ),
    ("simple_world_comm_v3", {"num_adversaries": 1, "num_forests": 0, "num_obstacles": 0}),
    ("simple_formation_v1", {}),
    ("simple_formation_v1", {"N": 9}),
    ("simple_formation_v1", {"N": 1, "terminate_on_success": True}),
    ("simple_line_v1", {}),
    ("simple_line_v1", {"N": 10}),
    ("simple_line_v1", {"N": 1, "terminate_on_success": True}),
    ("collect_treasure_v1", {}),
    ("collect_treasure_v1", {"num_collectors": 3, "num_deposits": 4, "num_treasures": 9}),
]


class Pair:
    """One world of mpe2, and the same one as a pool of one environment."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.theirs = importlib.import_module(f"mpe2.{name}").parallel_env(**options)
        self.ours = Pool(
            f"mpe/{name}",
            num_threads=1,
            reward_dtype="float64",
            autoreset="disabled",
            options=options,
        )
        self.spec = self.ours.spec
        self.agents: list[str] = self.theirs.possible_agents
        self.where = ""

    def close(self) -> None:
        self.theirs.close()
        self.ours.close()

    def of_agents(self, column: Any) -> Iterator[tuple[int, str, Any]]:
        # a pool of one player has no axis of players
        rows = column.reshape(len(self.agents), -1)
        return zip(range(len(self.agents)), self.agents, rows, strict=True)

    def reset(self, seed: int | None) -> None:
        observations, _ = self.theirs.reset(seed=seed)
        self.compare(observations, self.ours.reset(seed=seed))

    def compare(self, observations: dict[str, Any], batch: Any) -> None:
        sizes = self.spec.fields[0].player_sizes
        assert sizes is not None
        for i, agent, row in self.of_agents(batch.obs):
            where = f"{self.where}: {agent}"
            np.testing.assert_array_equal(row[: sizes[i]], observations[agent], where)
            assert not row[sizes[i] :].any()

    def draw(self, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
        """Returns an action of all agents as an array, and by agent."""
        sizes = self.spec.action.player_sizes
        assert sizes is not None
        if self.spec.action.space_kind == "discrete":
            row = rng.integers(sizes)
            return row, {agent: int(row[i]) for i, agent in enumerate(self.agents)}
        row = rng.random((len(sizes), *self.spec.action.shape))
        # some agents leave the space, which mpe2 clips
        row += (rng.random((len(sizes), 1)) < 0.3) * rng.uniform(-0.2, 0.2, row.shape)
        row = row.astype(rng.choice(["f2", "f4", "f8"]))
        return row, {agent: row[i, : sizes[i]].copy() for i, agent in enumerate(self.agents)}

    def step(self, rng: np.random.Generator) -> bool:
        """Steps both with the same random action; returns whether the episode has ended."""
        row, by_agent = self.draw(rng)
        observations, rewards, terminations, truncations, infos = self.theirs.step(by_agent)
        batch = self.ours.step(row.reshape(1, *ActionReader(self.ours.spec).shape))
        self.compare(observations, batch)
        for _, agent, reward in self.of_agents(batch.reward):
            assert reward[0] == rewards[agent], (self.where, agent)
            assert np.signbit(reward[0]) == np.signbit(rewards[agent]), (self.where, agent)
        if len(self.spec.infos):
            for _, agent, data in self.of_agents(batch.benchmark_data):
                expected = flat(infos[agent]["benchmark_data"])
                np.testing.assert_array_equal(data[: len(expected)], expected, self.where)
        else:
            assert not any(info.get("benchmark_data") for info in infos.values())
        ends = bool(batch.terminated[0]), bool(batch.truncated[0])
        assert set(zip(terminations.values(), truncations.values(), strict=True)) == {ends}
        return any(ends)


def flat(data: Any) -> list[float]:
    """Returns mpe2's benchmark data as a list of numbers; NaN for None."""
    parts = data if isinstance(data, tuple) else (data,)
    return [np.nan if x is None else x for part in parts for x in np.atleast_1d(part)]


@pytest.mark.quick(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize(("name", "options"), thinned(WORLDS, 10), ids=str)
def test_play_is_identical(name: str, options: dict[str, Any], is_continuous: bool) -> None:
    rng = np.random.default_rng(len(name))
    shared = {"continuous_actions": is_continuous, "benchmark_data": True, "max_cycles": 10}
    with closing(Pair(name, {**options, **shared})) as pair:
        for seed in (2**40, None):
            pair.where = f"reset with {seed}"
            pair.reset(seed)
            has_ended, step = False, 0
            while not has_ended:
                step += 1
                pair.where = f"seed {seed}, step {step}"
                has_ended = pair.step(rng)
            assert step <= 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize(("name", "options"), thinned(WORLDS, 10), ids=str)
def test_spaces_and_names_are_identical(
    name: str, options: dict[str, Any], is_continuous: bool
) -> None:
    with closing(Pair(name, {**options, "continuous_actions": is_continuous})) as pair:
        assert list(pair.spec.player_names) == pair.agents
        for i, agent in enumerate(pair.agents):
            observation, action = pair.spec.fields[0].of_player(i), pair.spec.action.of_player(i)
            assert observation.space() == pair.theirs.observation_space(agent)
            assert action.space() == pair.theirs.action_space(agent)


def test_success_ends_an_episode() -> None:
    """An agent that goes to its place ends the episode where mpe2's does."""
    for name in ("simple_spread_v3", "simple_line_v1"):
        options = {"N": 1, "terminate_on_success": True, "continuous_actions": True}
        with closing(Pair(name, {**options, "max_cycles": 50})) as pair:
            pair.reset(5)
            steps = 0
            while steps < 50:
                steps += 1
                # velocity, position, then the landmark's position relative to the agent
                observation = pair.ours.observe().obs.reshape(-1)
                # an agent coasts by 0.4 of its velocity, and by 0.2 after a push of 1
                push = np.clip((observation[4:6] - 0.4 * observation[:2]) / 0.2, -1, 1)
                row = np.array([0, -push[0], push[0], -push[1], push[1]], np.float32).clip(0)
                _, _, terminations, truncations, _ = pair.theirs.step({"agent_0": row})
                batch = pair.ours.step(row.reshape(1, 5))
                assert bool(batch.terminated[0]) == terminations["agent_0"]
                assert bool(batch.truncated[0]) == truncations["agent_0"]
                if batch.terminated[0]:
                    break
            assert batch.terminated[0] and 3 < steps < 50


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["simple_spread_v3", "simple_tag_v3"])
def test_stages_of_a_curriculum_are_reset_options(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    with closing(Pair(name, {"curriculum": True, "max_cycles": 20})) as pair:
        for stage in (1, 0, 2) if name == "simple_tag_v3" else (1, 0):
            # mpe2 1.1.1 stays at stage 0: the setter that its worlds inherit does nothing
            scenario = type(pair.theirs.unwrapped.scenario)
            monkeypatch.setattr(scenario, "curriculum_stage", stage, raising=False)
            observations, _ = pair.theirs.reset(seed=stage)
            batch = pair.ours.reset(seed=stage, options={"curriculum_stage": stage})
            pair.where = f"stage {stage}"
            pair.compare(observations, batch)
            while not pair.step(rng):
                pass
            # the stage stays until it is set again
            pair.reset(7)
            while not pair.step(rng):
                pass


def test_the_loops_are_numpys() -> None:
    """The C library's exp gives other bits on processors with AVX-512; the loops never do."""
    assert len(numpy_loops.packed()) == 8 * (2 * len(numpy_loops.FUNCTIONS) + 1)
    address, data = numpy_loops.find_loop(np.exp)
    values = np.random.default_rng(3).uniform(-20, 5, 2000)
    assert [numpy_loops.call_loop(address, data, [x]) for x in values] == np.exp(values).tolist()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("simple_spread_v3", {"N": 0}, "N=0: choose 1 to 64"),
        ("simple_spread_v3", {"num_agent_neighbors": 0}, "num_agent_neighbors=0: choose 1 or more"),
        ("simple_tag_v3", {"num_landmark_neighbors": 2**31 - 1}, "choose -1 to 65536"),
        ("simple_spread_v3", {"local_ratio": 1.5}, "local_ratio=1.5: choose 0 to 1"),
        ("simple_tag_v3", {"num_good": 60, "num_adversaries": 60}, "120 agents and 2 landmarks"),
        ("simple_tag_v3", {"num_good": 0, "num_adversaries": 0}, "0 agents and 2 landmarks"),
        ("simple_v3", {"max_cycles": 0}, "max_cycles=0: choose 1 to"),
        ("simple_v3", {"_numpy": b"123"}, "_numpy has 3 bytes"),
        ("collect_treasure_v1", {"num_deposits": 7}, "num_deposits=7: choose 1 to 6"),
        ("simple_world_comm_v3", {"num_food": 0}, "num_food=0: choose 1 to 64"),
    ],
)
def test_wrong_options_are_named(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pool(f"mpe/{name}", options=options)


def test_all_worlds_are_compared() -> None:
    ids = {env for env in registry.builtin() if env.startswith("mpe/")}
    assert ids == {f"mpe/{name}" for name, _ in WORLDS}
