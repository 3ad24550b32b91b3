"""The bare loop over mj_step has the states of our pools, and its notes are right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.scenes import mujoco_bare
from parallel_pool._bench import race, tasks
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.rounds import Spread
from tests.support.sampling import thinned


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(tasks.MUJOCO, 3))
@pytest.mark.parametrize("data_per_thread", [False, True])
def test_the_bare_loop_does_the_same_work(name: str, data_per_thread: bool) -> None:
    """Its states equal ours bit by bit, through resets and time limits."""
    import numpy as np

    import parallel_pool

    num_envs, limit = 3, 40
    task = replace(tasks.mujoco(name, num_envs, num_envs, 1), max_episode_steps=limit)
    env = parallel_pool.make_vec(
        task.task_id, num_envs, max_episode_steps=limit, vector_kwargs={"num_threads": 1}
    )
    obs, _ = env.reset(seed=1)
    bare = mujoco_bare.Bare(task, data_per_thread=data_per_thread)
    # a reset takes the place of a step, and of its row of actions
    bare.play(1)
    # observations begin with the positions, without those along the track
    hidden = 2 if name in ("Ant", "Humanoid") else 1
    ends = 0
    for row in task.actions(np.int64)[1:]:
        obs, _, terminated, truncated, _ = env.step(row)
        bare.play(1)
        ends += int((terminated | truncated).sum())
        for i in range(num_envs):
            qpos, _ = bare.state(i)
            assert (obs[i, : len(qpos) - hidden] == qpos[hidden:]).all()
    bare.close()
    env.close()
    assert ends >= 3 * num_envs


def test_the_bare_loop_shares_its_steps_among_threads() -> None:
    task = tasks.mujoco("HalfCheetah", 4, 2, 2)
    with race.playing(mujoco_bare.bare_per_env, task) as player:
        assert player.play(5) == 10


def test_the_gain_is_split_into_factors() -> None:
    def row(who: str, cpu_us: float, role: str = "only") -> Row:
        return Row(who, "", role, Spread(1, 1, 1), Spread(cpu_us, cpu_us, cpu_us))

    rows = [
        row("parallel_pool.make", 10, "ours"),
        row("EnvPool", 32, "same"),
        row("EnvPool", 33, "best"),
        row(mujoco_bare.bare_envpool.name, 16),
        row(mujoco_bare.bare_stock.name, 12),
        row(mujoco_bare.bare_per_env.name, 8),
    ]
    assert mujoco_bare.gain(rows) == [
        "3.2x less CPU time per step than EnvPool at the same setting = 2 (EnvPool's engine) x"
        " 1.33 (MuJoCo's build) x 1.5 (switched options) x 0.8 (our engine)"
    ]
    assert mujoco_bare.gain(rows[:-1]) == []
