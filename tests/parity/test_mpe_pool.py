"""`PoolParallelEnv` over native worlds equals a plain loop over mpe2's, in both of its forms."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from parallel_pool import PoolParallelEnv
from parallel_pool._apis.pettingzoo.groups import AgentArrays
from parallel_pool.errors import StateError
from tests.support.agent_arrays import check_order_only, stacked
from tests.support.parallel_loop import Loop, sample
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/mpe")

MODES = list(AutoresetMode)
NUM_ENVS = 5

WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("simple_tag_v3", {"num_good": 2, "terminate_on_success": True}),
    ("simple_v3", {}),
    ("simple_spread_v3", {"N": 2, "terminate_on_success": True}),
    ("simple_world_comm_v3", {"continuous_actions": True}),
    ("simple_speaker_listener_v4", {"continuous_actions": True}),
    ("simple_crypto_v3", {}),
]


def loop_of(name: str, mode: AutoresetMode, options: dict[str, Any]) -> Loop:
    make = importlib.import_module(f"mpe2.{name}").parallel_env
    return Loop([partial(make, **options)] * NUM_ENVS, mode)


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", thinned(MODES, 3), ids=lambda mode: mode.name)
@pytest.mark.parametrize(("name", "options"), thinned(WORLDS, 3), ids=str)
def test_results_are_those_of_a_plain_loop(
    name: str, options: dict[str, Any], mode: AutoresetMode
) -> None:
    options = {**options, "max_cycles": 7}
    loop = loop_of(name, mode, options)
    rng = np.random.default_rng(4)
    with PoolParallelEnv(f"mpe/{name}", NUM_ENVS, autoreset_mode=mode, **options) as envs:
        assert not envs.agents
        assert_same(envs.reset(seed=3), loop.reset(3), "reset")
        ends = 0
        for step in range(30):
            assert_same(envs.live, loop.live(), f"live before step {step}")
            actions = sample(envs, rng)
            assert_same(envs.step(actions), loop.step(actions), f"step {step}")
            states = [env.unwrapped.state() for env in loop.envs]
            np.testing.assert_array_equal(envs.state(), states)
            over = ~np.any(list(envs.live.values()), axis=0)
            ends += int(over.sum())
            if mode is AutoresetMode.DISABLED and over.any():
                again = envs.reset(seed=step, options={"reset_mask": over.copy()})
                assert_same(again, loop.reset(step, over), f"reset at {step}")
        assert bool(ends) == (mode is not AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("mode", thinned(MODES[:2], 2), ids=lambda mode: mode.name)
@pytest.mark.parametrize(("name", "options"), thinned(WORLDS, 3), ids=str)
def test_stacked_arrays_are_those_of_the_dicts(
    name: str, options: dict[str, Any], mode: AutoresetMode
) -> None:
    options = {**options, "max_cycles": 5, "autoreset_mode": mode}
    rng = np.random.default_rng(8)
    with (
        PoolParallelEnv(f"mpe/{name}", NUM_ENVS, **options) as dicts,
        PoolParallelEnv(f"mpe/{name}", NUM_ENVS, **options) as envs,
    ):
        arrays = envs.reset_arrays(seed=9)
        observations, infos = dicts.reset(seed=9)
        check_arrays(envs, arrays, observations, infos)
        assert not arrays.rewards.any() and not arrays.terminations.any() and arrays.live.all()
        for _ in range(12):
            actions = sample(dicts, rng)
            arrays = envs.step_arrays(stacked(envs, actions))
            observations, *tables, infos = dicts.step(actions)
            check_arrays(envs, arrays, observations, infos)
            for table, expected in zip(arrays[1:4], tables, strict=True):
                np.testing.assert_array_equal(table, np.stack(list(expected.values()), axis=1))
            np.testing.assert_array_equal(arrays.live, np.stack(list(dicts.live.values()), axis=1))


def check_arrays(envs: PoolParallelEnv, arrays: AgentArrays, observations: Any, infos: Any) -> None:
    assert len(arrays.observations) == len(envs.groups)
    for group, block in zip(envs.groups, arrays.observations, strict=True):
        expected = np.stack([observations[agent] for agent in group.agents], axis=1)
        assert_same(block, expected, "observations")
    assert_same(arrays.infos, infos, "infos")


def test_groups_have_equal_spaces() -> None:
    with PoolParallelEnv("mpe/simple_tag_v3", 2, num_good=2) as envs:
        adversaries, good = envs.groups
        assert adversaries.agents == ("adversary_0", "adversary_1", "adversary_2")
        assert good.agents == ("agent_0", "agent_1") and good.indices == (3, 4)
        assert good.columns == slice(3, 5)
        for group in envs.groups:
            for agent in group.agents:
                assert envs.observation_space(agent) is group.observation_space
                assert envs.action_space(agent) is group.action_space
    with PoolParallelEnv("mpe/simple_crypto_v3", 2) as envs:
        assert [group.agents for group in envs.groups] == [("eve_0",), ("bob_0", "alice_0")]


def test_benchmark_data_are_infos_of_the_agents() -> None:
    with PoolParallelEnv("mpe/simple_spread_v3", 3, benchmark_data=True, max_cycles=2) as envs:
        _, infos = envs.reset(seed=1)
        assert not any(infos[agent] for agent in envs.possible_agents)
        actions = {agent: [0, 1, 2] for agent in envs.possible_agents}
        *_, infos = envs.step(actions)
        assert infos["agent_1"]["benchmark_data"].shape == (3, 4)
        assert infos["agent_1"]["_benchmark_data"].all()
        envs.step(actions)
        *_, infos = envs.step(actions)
        assert not any(infos[agent] for agent in envs.possible_agents)


def test_results_are_the_callers_own() -> None:
    with (
        PoolParallelEnv("mpe/simple_tag_v3", 3, max_cycles=4) as envs,
        PoolParallelEnv("mpe/simple_tag_v3", 3, max_cycles=4) as same,
    ):
        envs.reset(seed=2)
        same.reset(seed=2)
        rng = np.random.default_rng(5)
        for step in range(9):
            actions = sample(envs, rng)
            result, expected = envs.step(actions), same.step(actions)
            assert_same(result, expected, f"step {step}")
            for part in result[:4]:
                for array in (*part.values(), *envs.live.values()):
                    array[...] = 1


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"env": "mpe/simple_spread_v3", "num_workers": 2}, TypeError, "num_workers=2 is for func"),
        ({"env": "mpe/simple_spread_v3", "on_error": "restart"}, TypeError, "is for functions"),
        ({"env": "mpe/simple_spread_v3", "M": 2}, TypeError, "has no option M: it has N, bench"),
        ({"env": [lambda: None], "num_threads": 2}, TypeError, "num_threads=2 is for the id of"),
        ({"env": [lambda: None], "num_envs": 2}, TypeError, "num_envs=2 is for the id of"),
        ({"env": [lambda: None], "env_fns": []}, TypeError, "give one of the two"),
        ({}, TypeError, "env is missing"),
        ({"env": "mpe/simple_spread_v3", "num_envs": 0}, ValueError, "num_envs=0"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        PoolParallelEnv(**arguments)


@pytest.mark.parametrize(
    ("actions", "error", "match"),
    [
        (np.zeros((3, 3), int), ValueError, "actions are an ndarray: give a sequence of 2 arrays"),
        ([np.zeros((3, 3), int)], ValueError, "actions are a list of 1"),
        ([np.zeros((3, 2), int), np.zeros((3, 1), int)], ValueError, r"actions\[0\] has shape"),
        ([np.zeros((3, 3)), np.zeros((3, 1), int)], TypeError, "dtype"),
        (
            [np.full((3, 3), 5), np.zeros((3, 1), int)],
            ValueError,
            "outside its space: choose 0 to 4",
        ),
    ],
)
def test_wrong_actions_step_nothing(actions: Any, error: type[Exception], match: str) -> None:
    with (
        PoolParallelEnv("mpe/simple_tag_v3", 3) as envs,
        PoolParallelEnv("mpe/simple_tag_v3", 3) as same,
    ):
        envs.reset(seed=1)
        same.reset(seed=1)
        with pytest.raises(error, match=match):
            envs.step_arrays(actions)
        right = [np.ones((3, 3), int), np.ones((3, 1), int)]
        assert_same(envs.step_arrays(right), same.step_arrays(right), "step")


def test_an_action_is_checked_against_the_space_of_its_agent() -> None:
    with PoolParallelEnv("mpe/simple_speaker_listener_v4", 2) as envs:
        envs.reset(seed=0)
        actions = {"speaker_0": np.array([2, 3]), "listener_0": np.array([4, 4])}
        with pytest.raises(ValueError, match=r"action 3 of environment 1 is outside .* 0 to 2"):
            envs.step(actions)
        actions["speaker_0"][1] = 2
        envs.step(actions)


# ---------------------------------------------------------------------------------- asynchronous --


@pytest.mark.parametrize("mode", thinned(MODES[:2], 2), ids=lambda mode: mode.name)
@pytest.mark.parametrize(("name", "options"), thinned(WORLDS, 3), ids=str)
def test_an_asynchronous_pool_differs_in_order_only(
    name: str, options: dict[str, Any], mode: AutoresetMode
) -> None:
    options = {**options, "max_cycles": 4, "autoreset_mode": mode, "benchmark_data": True}
    with (
        PoolParallelEnv(f"mpe/{name}", NUM_ENVS, **options) as synchronous,
        PoolParallelEnv(
            f"mpe/{name}", NUM_ENVS, batch_size=2, num_threads=2, **options
        ) as asynchronous,
    ):
        assert asynchronous.is_async and asynchronous.batch_size == 2
        check_order_only(synchronous, asynchronous, rounds=15)


def test_calls_of_the_other_kind_of_pool_are_refused() -> None:
    with PoolParallelEnv("mpe/simple_v3", 4, batch_size=2) as envs:
        for call in (
            envs.reset,
            envs.reset_arrays,
            lambda: envs.step({"agent_0": [0] * 4}),
            lambda: envs.step_arrays(np.zeros((4, 1), int)),
            lambda: envs.get_attr("N"),
        ):
            with pytest.raises(StateError, match=r"of an asynchronous pool \(batch_size=2 < num_e"):
                call()
        with pytest.raises(StateError, match="0 environments are in flight, a batch needs 2"):
            envs.recv()
        with pytest.raises(ValueError, match=r"actions\[0\] has shape \(2, 2\): give \(2, 1\)"):
            envs.send(np.zeros((2, 2), int), [0, 1])
    assert envs.closed
    with PoolParallelEnv("mpe/simple_v3", 4) as envs:
        assert not envs.is_async
        for call in (envs.async_reset, envs.recv, lambda: envs.send([0], [0])):
            with pytest.raises(StateError, match="of a synchronous pool: use reset"):
                call()
