"""Tasks of dm_control's suite equal dm_control's own, in the same process and with its MuJoCo."""

from __future__ import annotations

import pytest

from parallel_pool._engine import registry
from tests.support.reference import control_suite_player
from tests.support.reference.control_suite_player import SAME, TASKS, Play
from tests.support.sampling import sampled, thinned

pytestmark = pytest.mark.skipif(
    not control_suite_player.is_installed(),
    reason=f"dm_control is not in {control_suite_player.FOLDER}, where make installs it",
)

# a task of each kind: pools' own models, models of environments, RK4, springs of the seed
QUICK = (
    *("cartpole-three_poles", "cheetah-run", "finger-turn_hard", "fish-swim", "hopper-hop"),
    *("humanoid-run", "lqr-lqr_6_2", "manipulator-insert_peg", "point_mass-hard"),
    *("quadruped-fetch", "stacker-stack_2", "swimmer-swimmer6", "walker-run"),
)


@pytest.mark.parametrize("task", sampled(TASKS, QUICK))
def test_episodes_are_the_same(task: str) -> None:
    assert control_suite_player.played(Play(task, seed=5, run=2)) == SAME


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_long_runs_are_the_same(task: str) -> None:
    """With the tasks' own limits, of which one ends."""
    play = Play(task, seed=2**32 - 5, num=1, steps=1100, limit=0, run=3)
    assert control_suite_player.played(play) == SAME


@pytest.mark.parametrize("task", thinned(TASKS, 10))
def test_models_are_the_same(task: str) -> None:
    assert control_suite_player.compared_model(task) == SAME


def test_a_long_seed_is_words() -> None:
    play = Play("reacher-easy", seed=2**80 + 2**33 + 1, steps=60, limit=20)
    assert control_suite_player.played(play) == SAME


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
