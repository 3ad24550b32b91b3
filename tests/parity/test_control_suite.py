"""Tasks of dm_control's suite equal dm_control's own, in the same process and with its MuJoCo."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import parallel_pool
from parallel_pool import MissingDependencyError, Pool
from parallel_pool._engine import registry
from parallel_pool._families import control_suite_models
from tests.support.reference import control_suite_player
from tests.support.reference.control_suite_player import TASKS, Play
from tests.support.reference.player_process import SAME
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/mujoco")

with_reference = pytest.mark.skipif(
    not control_suite_player.is_installed(),
    reason=f"dm_control is not in {control_suite_player.FOLDER}, where make installs it",
)

# a task of each kind: pools' own models, models of environments, RK4, springs of the seed
QUICK = ("cartpole-three_poles", "humanoid-run", "lqr-lqr_6_2", "manipulator-insert_peg")


@pytest.mark.quick(1)
@with_reference
@pytest.mark.parametrize("task", sampled(TASKS, QUICK))
def test_episodes_are_the_same(task: str) -> None:
    assert control_suite_player.played(Play(task, seed=5, run=2)) == SAME


@with_reference
@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_long_runs_are_the_same(task: str) -> None:
    """With the tasks' own limits, of which one ends."""
    play = Play(task, seed=2**32 - 5, num=1, steps=1100, limit=0, run=3)
    assert control_suite_player.played(play) == SAME


@pytest.mark.quick(1)
@with_reference
@pytest.mark.parametrize("task", sampled(TASKS, ("acrobot-swingup", "hopper-stand", "lqr-lqr_6_2")))
def test_models_are_the_same(task: str) -> None:
    assert control_suite_player.compared_model(task) == SAME


@pytest.mark.slow
@with_reference
def test_a_long_seed_is_words() -> None:
    play = Play("reacher-easy", seed=2**80 + 2**33 + 1, steps=60, limit=20)
    assert control_suite_player.played(play) == SAME


@with_reference
def test_another_seed_gives_other_episodes() -> None:
    """So that a comparison that compares nothing would not pass."""
    found = control_suite_player.played(Play("reacher-easy", ours=1, steps=5))
    assert found.startswith("reacher-easy, step 0, environment 0: position is")


def test_every_task_has_both_ids() -> None:
    ids = {
        definition.id: definition.reference
        for definition in registry.definitions().values()
        if definition.family == "control_suite"
    }
    ours = {f"dm_control/{task}-v0" for task in TASKS}
    assert ours <= ids.keys() and len(ids) == 2 * len(ours)
    assert {ids[each] for each in ours} == {ids[each] for each in ids.keys() - ours}


def test_dm_controls_names_are_ids() -> None:
    with parallel_pool.make_dm("ball_in_cup-catch", batched=False, seed=1) as env:
        first = env.reset()
        step = env.step(np.zeros(2))
    assert first.first() and first.reward is None and first.discount is None
    assert list(first.observation) == ["position", "velocity"]
    assert step.mid() and step.discount == 1


def test_a_limit_truncates_with_discount_1() -> None:
    with parallel_pool.make_dm("pendulum-swingup", batched=False, max_episode_steps=2) as env:
        env.reset()
        steps = [env.step(np.zeros(1)) for _ in range(3)]
    assert [step.step_type for step in steps] == [1, 2, 0] and steps[1].discount == 1


def test_stacked_observations_are_the_last() -> None:
    id = "dm_control/hopper-hop-v0"
    with Pool(id, 2, seed=1, options={"frame_stack": 2}) as pool, Pool(id, 2, seed=1) as plain:
        stacked, newest = pool.reset(), plain.reset()
        older = newest
        for _ in range(3):
            for name in ("position", "velocity", "touch"):
                wanted = np.stack([getattr(older, name), getattr(newest, name)], axis=1)
                assert np.array_equal(getattr(stacked, name), wanted)
            actions = np.full((2, 4), 0.5)
            stacked, older, newest = pool.step(actions), newest, plain.step(actions)


def test_switches_change_nothing() -> None:
    rewards = []
    for switches in (True, False):
        options = {"speed_switches": switches}
        with Pool("WalkerRun-v1", 2, seed=1, options=options) as pool:
            pool.reset()
            actions = np.random.default_rng(0).uniform(-1, 1, (30, 2, 6))
            rewards.append([pool.step(row).orientations.copy() for row in actions])
    assert np.array_equal(*rewards)


def test_a_missing_dm_control_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    control_suite_models.suite.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install --no-deps dm-control"):
        Pool("CheetahRun-v1", 1)
