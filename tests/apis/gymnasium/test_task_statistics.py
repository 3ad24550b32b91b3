"""RecordTaskStatistics: Gymnasium's statistics, and the same episodes by task."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool.compat.gymnasium import RecordTaskStatistics
from tests.support.mixtures import mixture

POLES = ("CartPole-v1", "MountainCar-v0")


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_each_task_has_the_episodes_that_it_has_alone(mode: str) -> None:
    options: dict[str, Any] = {"autoreset_mode": mode, "max_episode_steps": 30}
    envs = RecordTaskStatistics(parallel_pool.make_vec(mixture(*POLES).id, 4, **options))
    assert envs.tasks == (POLES[0],) * 2 + (POLES[1],) * 2
    alone = [
        gymnasium.wrappers.vector.RecordEpisodeStatistics(
            parallel_pool.make_vec(task, 2, **options)
        )
        for task in POLES
    ]
    envs.reset(seed=0)
    for i, each in enumerate(alone):
        each.reset(seed=2 * i)
    envs.action_space.seed(1)
    for _ in range(200):
        actions = envs.action_space.sample()
        infos = envs.step(actions)[4]
        for i, each in enumerate(alone):
            own = each.step(actions[2 * i : 2 * i + 2])[4]
            if "episode" in own:
                np.testing.assert_array_equal(
                    infos["episode"]["r"][2 * i : 2 * i + 2], own["episode"]["r"]
                )
    for task, each in zip(POLES, alone, strict=True):
        assert list(envs.return_queues[task]) == list(each.return_queue)
        assert list(envs.length_queues[task]) == list(each.length_queue)
        assert each.return_queue
    assert envs.episode_count == sum(each.episode_count for each in alone)


def test_environments_without_tasks_are_refused() -> None:
    envs = parallel_pool.make_vec("CartPole-v1", 2)
    with pytest.raises(AttributeError, match="task"):
        RecordTaskStatistics(envs)
    envs.close()


def test_what_is_written_into_infos_changes_no_statistics() -> None:
    task = mixture(*POLES).id
    envs, twin = (RecordTaskStatistics(parallel_pool.make_vec(task, 4)) for _ in range(2))
    for each in (envs, twin):
        each.reset(seed=1)
        each.action_space.seed(1)
    for _ in range(80):
        infos = envs.step(envs.action_space.sample())[4]
        if "_episode" in infos:
            infos["_episode"][:] = True
        twin.step(twin.action_space.sample())
    lengths = [list(queue) for queue in twin.length_queues.values()]
    assert sum(map(len, lengths)) > 4
    assert [list(queue) for queue in envs.length_queues.values()] == lengths
    envs.close()
    twin.close()
