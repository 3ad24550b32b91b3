"""AgentVectorEnv equals a plain loop whose rows follow Gymnasium's rules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

from parallel_pool import PoolParallelEnv
from parallel_pool._apis.pettingzoo.agent_vector_env import AgentVectorEnv
from parallel_pool.compat.gymnasium import NotResetError
from parallel_pool.errors import StateError
from tests.apis.pettingzoo.test_pettingzoo import Relay
from tests.core.test_native_players import GAME, Elimination
from tests.support.row_loop import Herd, RowLoop
from tests.support.same import assert_same
from tests.support.sampling import thinned

MODES = list(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, MODES[-1]
NUM_ENVS = 4


@contextmanager
def herd(
    mode: AutoresetMode = NEXT_STEP, agents: Any = None, others: Any = None, **options: Any
) -> Iterator[AgentVectorEnv]:
    functions = [partial(Herd, **options)] * NUM_ENVS
    pool = PoolParallelEnv(functions, autoreset_mode=mode, num_workers=2, context="fork")
    envs = pool.as_vector_env(agents, others)
    yield envs
    envs.close()
    assert pool.closed


@contextmanager
def native(id: str, mode: AutoresetMode = NEXT_STEP, **options: Any) -> Iterator[AgentVectorEnv]:
    chosen = {key: options.pop(key) for key in ("agents", "others") if key in options}
    envs = PoolParallelEnv(id, NUM_ENVS, autoreset_mode=mode, **options).as_vector_env(**chosen)
    yield envs
    envs.close()


def check(envs: AgentVectorEnv, loop: RowLoop, steps: int) -> dict[str, int]:
    """Compares all results; returns how often something happened."""
    counted = {"early": 0, "over": 0, "truncated": 0}
    k = len(loop.agents)
    mode = envs.metadata["autoreset_mode"]
    envs.action_space.seed(5)
    assert_same(envs.reset(seed=3), loop.reset(3), "reset", ordered=False)
    for step in range(steps):
        actions = envs.action_space.sample()
        result = envs.step(actions)
        assert_same(result, loop.step(actions), f"step {step}", ordered=False)
        observations, _, terminations, truncations, infos = result
        assert observations in envs.observation_space
        live, ended = infos["live"].reshape(-1, k), terminations | truncations
        over = ~live.any(1)
        if mode is SAME_STEP:
            assert_same(infos.get("_final_obs", np.zeros_like(ended)), ended, "_final_obs")
            over = envs.restarted
        counted["early"] += int((ended.reshape(-1, k) & live & ~over[:, None]).sum())
        counted["early"] += int((ended & ~np.repeat(over, k)).sum())
        counted["over"] += int(over.sum())
        counted["truncated"] += int(truncations.sum())
        if mode is DISABLED and over.any():
            options = {"reset_mask": np.repeat(over, k)}
            again = envs.reset(seed=step, options=options)
            assert_same(again, loop.reset(step, over), f"reset at {step}", ordered=False)
    return counted


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("dicts", [False, True], ids=["arrays", "dicts"])
def test_rows_are_those_of_a_plain_loop_when_agents_end_early(
    dicts: bool, mode: AutoresetMode
) -> None:
    with herd(mode, dicts=dicts) as envs:
        counted = check(envs, RowLoop(partial(Herd, dicts=dicts), NUM_ENVS, mode), 40)
    assert min(counted.values()) > 10, counted


WORLDS: list[tuple[str, dict[str, Any], list[str] | None]] = [
    ("simple_spread_v3", {"terminate_on_success": True}, None),
    ("simple_v3", {"continuous_actions": True}, None),
]


@pytest.mark.parametrize("mode", thinned(MODES, 3), ids=lambda mode: mode.name)
@pytest.mark.parametrize(("name", "options", "agents"), WORLDS, ids=str)
def test_rows_of_particle_worlds_are_those_of_a_plain_loop(
    name: str, options: dict[str, Any], agents: Any, mode: AutoresetMode
) -> None:
    options = {**options, "max_cycles": 5}
    make = partial(importlib.import_module(f"mpe2.{name}").parallel_env, **options)
    with native(f"mpe/{name}", mode, **options) as envs:
        counted = check(envs, RowLoop(make, NUM_ENVS, mode, agents), 20)
        assert envs.metadata["name" if "name" in envs.metadata else "autoreset_mode"]
    assert counted["over"] > 5


@pytest.mark.quick(2)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_rows_of_native_players_that_drop_out_are_those_of_a_plain_loop(
    mode: AutoresetMode,
) -> None:
    with native(GAME, mode) as envs:
        counted = check(envs, RowLoop(Elimination, NUM_ENVS, mode), 60)
    assert min(counted.values()) > 10, counted


# ------------------------------------------------------------------------------- some of the agents


def chase(observations: dict[str, Any]) -> dict[str, Any]:
    return {
        agent: (np.abs(seen).sum(1) * 1000).astype(int) % 5 for agent, seen in observations.items()
    }


TEAMS = [["adversary_0", "adversary_1"], ["adversary_2", "adversary_0"], ["agent_0"]]


@pytest.mark.quick(2)
@pytest.mark.parametrize("agents", TEAMS, ids=str)
def test_others_act_by_their_policy(agents: list[str]) -> None:
    make = partial(importlib.import_module("mpe2.simple_tag_v3").parallel_env, max_cycles=4)
    id, options = "mpe/simple_tag_v3", {"max_cycles": 4, "agents": agents, "others": chase}
    with native(id, **options) as envs:
        assert envs.num_envs == NUM_ENVS * len(agents) and envs.agents == agents
        check(envs, RowLoop(make, NUM_ENVS, NEXT_STEP, agents, chase), 14)


@pytest.mark.slow
def test_others_of_dicts_may_end_too() -> None:
    def sit(observations: dict[str, Any]) -> dict[str, Any]:
        assert observations["cow_1"]["place"].shape == (NUM_ENVS, 2)
        return {"cow_1": {"x": np.ones(NUM_ENVS, int), "y": np.zeros((NUM_ENVS, 2), np.float32)}}

    with herd(agents=["cow_2", "cow_0"], others=sit, dicts=True) as envs:
        envs.reset(seed=1)
        ended = 0
        for _ in range(20):
            *_, terminations, truncations, _ = envs.step(envs.action_space.sample())
            ended += int((terminations | truncations).sum())
        assert ended > 10


@pytest.mark.parametrize(
    ("others", "error", "match"),
    [
        (lambda seen: [1], TypeError, r"others\(\) returned a list: return a dict with the act"),
        (lambda seen: {}, ValueError, r"returned no actions for agent 'agent_0': return 4"),
        (lambda seen: {"adversary_0": [0] * 4}, ValueError, "returned actions of 'adversary_0'"),
        (lambda seen: {"agent_0": [0] * 3}, ValueError, r"others\(\)\['agent_0'\] have shape \(3,"),
        (lambda seen: {"agent_0": [9] * 4}, ValueError, "action 9 of environment 0 is outside"),
    ],
)
def test_wrong_actions_of_others_step_nothing(
    others: Callable[..., Any], error: type[Exception], match: str
) -> None:
    agents = [f"adversary_{i}" for i in range(3)]
    policy = others
    with native("mpe/simple_tag_v3", agents=agents, others=lambda seen: policy(seen)) as envs:
        before, _ = envs.reset(seed=1)
        with pytest.raises(error, match=match):
            envs.step(np.zeros(12, int))
        policy = chase
        after = envs.step(np.zeros(12, int))[0]
    with native("mpe/simple_tag_v3", agents=agents, others=chase) as envs:
        assert_same(envs.reset(seed=1)[0], before, "reset")
        assert_same(envs.step(np.zeros(12, int))[0], after, "step")


@pytest.mark.parametrize(
    ("id", "chosen", "error", "match"),
    [
        ("simple_tag_v3", {}, ValueError, r"spaces differ .*'agent_0'\] Box.*choose agents of eq"),
        ("simple_tag_v3", {"agents": ["agent_0"]}, ValueError, "'adversary_2'] have no rows, and"),
        ("simple_spread_v3", {"agents": []}, ValueError, r"agents=\[\]: choose one or more of \["),
        ("simple_spread_v3", {"agents": ["x"]}, ValueError, "there is no agent 'x': choose of"),
        ("simple_spread_v3", {"agents": "agent_0"}, TypeError, "is a str: give a list of agents"),
        ("simple_spread_v3", {"agents": ["agent_0"] * 2}, ValueError, "names 'agent_0' twice"),
        ("simple_spread_v3", {"others": 3}, TypeError, "others=3 is an int: give a function"),
        ("simple_spread_v3", {"batch_size": 2}, StateError, r"asynchronous \(batch_size=2 < num"),
    ],
)
def test_wrong_agents_are_refused(id: str, chosen: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match), native(f"mpe/{id}", **chosen):
        pass


def test_agents_of_functions_may_have_other_spaces() -> None:
    with PoolParallelEnv([Relay], num_workers=1, context="fork") as pool:
        with pytest.raises(ValueError, match="spaces differ"):
            pool.as_vector_env()
        envs = pool.as_vector_env(["walker"], lambda seen: dict.fromkeys(seen, 0))
        with pytest.raises(NotResetError):
            envs.step([0])
    with pytest.raises(TypeError, match="envs='x' is a str: give a PoolParallelEnv"):
        AgentVectorEnv("x")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------- wrong calls


@pytest.mark.parametrize(
    ("actions", "error", "match"),
    [
        (np.zeros((4, 3), int), ValueError, r"actions have shape \(4, 3\): give \(12,\)"),
        (np.zeros(4, int), ValueError, r"actions have shape \(4,\): give \(12,\)"),
        ([0] * 11, ValueError, r"actions have shape \(11,\): give \(12,\)"),
        ({"agent_0": [0] * 4}, TypeError, "actions are a dict, .*no order: give an array"),
        (np.full(12, 5), ValueError, "action 5 of environment 0 is outside its space"),
        (np.zeros(12), TypeError, "dtype"),
    ],
)
def test_wrong_actions_step_nothing(actions: Any, error: type[Exception], match: str) -> None:
    with native("mpe/simple_spread_v3") as envs, native("mpe/simple_spread_v3") as same:
        assert_same(envs.reset(seed=2), same.reset(seed=2), "reset")
        with pytest.raises(error, match=match):
            envs.step(actions)
        assert_same(envs.step([1] * 12), same.step(np.ones(12, int)), "step")


def test_wrong_actions_of_dicts_step_nothing() -> None:
    with herd(dicts=True) as envs:
        envs.reset(seed=2)
        right = envs.action_space.sample()
        with pytest.raises(ValueError, match=r"give a dict of \['x', 'y'\]"):
            envs.step({"x": right["x"]})
        with pytest.raises(ValueError, match=r"actions\['y'\] have shape \(12,\): give \(12, 2\)"):
            envs.step({**right, "y": np.zeros(12)})
        envs.step(right)


def test_a_mask_of_a_reset_names_whole_environments() -> None:
    with herd(DISABLED) as envs:
        with pytest.raises(NotResetError, match="never reset"):
            envs.reset(options={"reset_mask": np.arange(12) < 3})
        _, infos = envs.reset(seed=0, options={"low": 7})
        assert infos["options"]["low"].tolist() == [7] * 12
        while (live := infos["live"].reshape(4, 3)).all() or not live.any(1).all():
            *_, infos = envs.step(envs.action_space.sample())
        env = int(np.argmin(live.all(1)))
        mask = np.repeat(np.arange(4) == env, 3)
        dead = mask & ~infos["live"]
        before, _ = envs.reset(seed=1, options={"reset_mask": np.ones(12, bool)})
        wrong: list[tuple[Any, type[Exception], str]] = [
            (dead, ValueError, f"names rows of environment {env}, but not row"),
            (np.ones(4, bool), ValueError, r"shape `\(12,\)`"),
            (np.ones(12), TypeError, "dtype"),
            (np.zeros(12, bool), ValueError, "at least one True"),
        ]
        for each, error, match in wrong:
            with pytest.raises(error, match=match):
                envs.reset(seed=9, options={"reset_mask": each})
        options = {"reset_mask": mask}
        again, _ = envs.reset(seed=1, options=options)
        assert_same(again, before, "reset")
        # as Gymnasium's wrappers expect, which read it after the reset
        assert options["reset_mask"] is mask


def test_rows_that_are_over_need_not_be_named() -> None:
    with native(GAME, DISABLED) as envs:
        _, infos = envs.reset(seed=0)
        terminated = np.zeros(12, bool)
        while not (terminated & ~np.repeat(infos["live"].reshape(4, 3).any(1), 3)).any():
            _, _, terminated, truncated, infos = envs.step(np.ones(12, int))
            over = ~np.repeat(infos["live"].reshape(4, 3).any(1), 3)
            mask = (terminated | truncated) & over
        assert not mask[over].all()
        with pytest.raises(StateError, match="reset"):
            envs.step(np.ones(12, int))
        _, infos = envs.reset(options={"reset_mask": mask})
        assert infos["live"][over].all()


# ---------------------------------------------------------------------------------- other methods


def test_spaces_and_metadata() -> None:
    with native("mpe/simple_spread_v3", SAME_STEP) as envs:
        assert isinstance(envs, VectorEnv) and envs.unwrapped is envs
        assert envs.single_observation_space == envs.envs.observation_space("agent_0")
        assert envs.observation_space == batch_space(envs.single_observation_space, 12)
        assert envs.action_space == gymnasium.spaces.MultiDiscrete([5] * 12)
        assert envs.metadata["autoreset_mode"] is SAME_STEP and envs.render_mode is None
        assert repr(envs) == "AgentVectorEnv(num_envs=12, agents=['agent_0', 'agent_1', 'agent_2'])"
    with herd(dicts=True) as envs:
        assert envs.observation_space == batch_space(envs.envs.observation_space("cow_0"), 12)
        assert envs.action_space == batch_space(envs.envs.action_space("cow_0"), 12)


def test_attributes_and_methods_are_those_of_the_rows_environments() -> None:
    with herd() as envs:
        envs.reset(seed=0)
        assert envs.call("add", 2) == (2,) * 12 and envs.get_attr("calls") == (2,) * 12
        envs.set_attr("calls", 5)
        envs.set_attr("calls", [row // 3 for row in range(12)])
        assert envs.get_attr("calls") == (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)
        with pytest.raises(ValueError, match="4 values of calls for 12 rows"):
            envs.set_attr("calls", [1, 2, 3, 4])
        with pytest.raises(ValueError, match="row 4 has another calls than row 3"):
            envs.set_attr("calls", [0, 0, 0, 1, 2, 1, 2, 2, 2, 3, 3, 3])
        assert len(envs.render()) == 12 and envs.render()[0].shape == (2, 3, 3)


@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_statistics_of_episodes_are_those_of_a_loop(mode: AutoresetMode) -> None:
    with native("mpe/simple_spread_v3", mode, max_cycles=6) as inner:
        envs = RecordEpisodeStatistics(inner)
        sums, found = np.zeros(12), 0
        envs.reset(seed=0)
        for _ in range(20):
            _, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
            sums += rewards
            for row in np.flatnonzero(terminated | truncated):
                assert infos["episode"]["r"][row] == sums[row]
                assert infos["episode"]["l"][row] == 6
                sums[row] = 0
                found += 1
        assert found == 12 * 3


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_returns_of_agents_that_end_early_are_right(mode: AutoresetMode) -> None:
    with herd(mode) as inner:
        envs = RecordEpisodeStatistics(inner)
        envs.reset(seed=0)
        sums, found = np.zeros(12), 0
        for _ in range(25):
            _, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
            sums += rewards
            for row in np.flatnonzero(terminated | truncated):
                assert infos["episode"]["r"][row] == sums[row] > 0
                sums[row], found = 0, found + 1
        assert found > 40


def test_statistics_survive_a_masked_reset() -> None:
    """Gymnasium's own vector environments remove the mask that its wrapper reads."""
    with native("mpe/simple_spread_v3", DISABLED, max_cycles=20) as inner:
        envs = RecordEpisodeStatistics(inner)
        envs.reset(seed=0)
        envs.step(np.ones(12, int))
        envs.reset(options={"reset_mask": np.arange(12) < 3})
        assert envs.episode_lengths.tolist() == [0] * 3 + [1] * 9


def test_normalized_observations_are_those_of_all_rows() -> None:
    with native("mpe/simple_spread_v3") as inner, native("mpe/simple_spread_v3") as plain:
        envs = NormalizeObservation(inner)
        seen = [plain.reset(seed=4)[0]]
        envs.reset(seed=4)
        for _ in range(5):
            actions = envs.action_space.sample()
            normal, *_ = envs.step(actions)
            seen.append(plain.step(actions)[0])
        rows = np.concatenate(seen)
        expected = (seen[-1] - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-8)
        np.testing.assert_allclose(normal, expected, atol=1e-2)


def test_results_are_the_callers_own() -> None:
    with (
        native("mpe/simple_tag_v3", agents=["agent_0"], others=chase, max_cycles=4) as envs,
        native("mpe/simple_tag_v3", agents=["agent_0"], others=chase, max_cycles=4) as same,
    ):
        envs.reset(seed=2)
        same.reset(seed=2)
        for step in range(9):
            actions = envs.action_space.sample()
            result = envs.step(actions)
            assert_same(result, same.step(actions), f"step {step}")
            for array in (*result[:4], result[4]["live"]):
                array[...] = 1
