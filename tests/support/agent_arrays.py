"""Comparisons of `PoolParallelEnv`'s stacked arrays: with its dicts, and of asynchronous pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parallel_pool import PoolParallelEnv
from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.groups import AgentArrays
from tests.support.parallel_loop import sample
from tests.support.same import assert_same


def stacked(envs: PoolParallelEnv, by_agent: dict[Any, Any]) -> list[Any]:
    """Returns an array (n, agents, ...) for each group of actions, or a tree of such."""
    return [
        groups.stack(group.action_space, [by_agent[agent] for agent in group.agents])
        for group in envs.groups
    ]


def check_order_only(
    synchronous: PoolParallelEnv, asynchronous: PoolParallelEnv, rounds: int
) -> None:
    """Each environment's rows of an asynchronous pool must be those of a synchronous one."""
    envs, n = asynchronous, synchronous.num_envs
    rng = np.random.default_rng(1)
    actions = [stacked(synchronous, sample(synchronous, rng)) for _ in range(rounds)]
    expected = [synchronous.reset_arrays(seed=6)]
    expected += [synchronous.step_arrays(each) for each in actions]
    envs.async_reset(seed=6)
    steps = np.zeros(n, int)
    while steps.min() < rounds:
        arrays = envs.recv()
        ids = arrays.env_ids
        assert len(ids) == envs.batch_size < n
        for row, env_id in enumerate(ids.tolist()):
            if steps[env_id] <= rounds:
                check_row(envs, arrays, row, expected[steps[env_id]], env_id)
        np.testing.assert_array_equal(np.stack([*envs.live.values()], axis=1)[ids], arrays.live)
        chosen = [actions[min(step, rounds - 1)] for step in steps[ids]]
        envs.send(rows_of(envs, chosen, ids), ids)
        steps[ids] += 1


def rows_of(envs: PoolParallelEnv, chosen: Sequence[Any], env_ids: Any) -> list[Any]:
    """Returns the actions of some environments, each from its own set of blocks."""
    blocks = []
    for number, group in enumerate(envs.groups):
        rows = [
            groups.take(each[number], i) for each, i in zip(chosen, env_ids.tolist(), strict=True)
        ]
        shape = (len(env_ids), len(group.agents))
        block = groups.zeros(group.action_space, shape)
        for at, row in enumerate(rows):
            groups.put(block, at, row)
        blocks.append(block)
    return blocks


def check_row(
    envs: PoolParallelEnv, ours: AgentArrays, row: int, theirs: AgentArrays, env_id: int
) -> None:
    """One row of a result must be that of an environment in another one."""
    for block, expected in zip(ours.observations, theirs.observations, strict=True):
        assert_same(groups.take(block, row), groups.take(expected, env_id), "observations")
    for array, expected in zip(ours[1:5], theirs[1:5], strict=True):
        np.testing.assert_array_equal(array[row], expected[env_id])
    assert_same(info_of(ours.infos, row), info_of(theirs.infos, env_id), "infos")


def info_of(infos: Any, row: int) -> Any:
    """Returns the infos that one row has, without masks."""
    found = {}
    for key, value in infos.items():
        if isinstance(value, dict) and f"_{key}" not in infos:
            inner = info_of(value, row)
            if inner:
                found[key] = inner
        elif f"_{key}" in infos and infos[f"_{key}"][row]:
            found[key] = info_of(value, row) if key == "final_info" else groups.take(value, row)
    return found
