"""The program that compares dm_control's tasks, on a few steps of one."""

from __future__ import annotations

import pytest

from integration.compare import same_as_control_suite
from tests.support.reference import control_suite_player


@pytest.mark.skipif(
    not control_suite_player.is_installed(),
    reason=f"dm_control is not in {control_suite_player.FOLDER}, where make installs it",
)
def test_it_says_that_a_task_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--steps", "40", "--seeds", "2", "--tasks", "pendulum-swingup"]
    assert same_as_control_suite.main(given) == 0
    assert capsys.readouterr().out.split() == (
        ["pendulum-swingup", "seed", "2,", "40", "steps:", "the", "same"]
    )
