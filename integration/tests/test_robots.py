"""Agents on robots: equal on our pools and on the originals in Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from integration.training import ant_maze, comparison, robots
from integration.training.comparison import OURS, SYNC, Comparison, Task

# some episodes of each environment, and some gradient steps
STEPS = {robots.WALKER: 9000, robots.FETCH: 3000, ant_maze.TASKS[0].task_id: 24576}
# with the vectoriser of the original
CASES = [
    *((robots.COMPARISON, task, comparison.DUMMY) for task in robots.TASKS),
    *((ant_maze.COMPARISON, task, SYNC) for task in ant_maze.TASKS),
]


@pytest.mark.parametrize(
    ("whole", "task", "original"), CASES, ids=lambda value: getattr(value, "task_id", "")
)
def test_agents_are_equal(whole: Comparison, task: Task, original: str, tmp_path: Path) -> None:
    if not (Path(sys.prefix) / task.folder).exists():
        pytest.skip(f"{task.folder} is not installed here")
    steps = str(STEPS[task.task_id])
    words = [task.task_id, "--seeds", "1", "--steps", steps, "--out", str(tmp_path)]
    # it raises AssertionError if curves differ
    whole.main([*words, "--players", OURS, original])
    written = tmp_path / f"{whole.result}.json"
    (runs,) = json.loads(written.read_text())["tasks"].values()
    curves = [run["curve"] for name in (OURS, original) for run in runs[name]]
    assert [point[1:] for point in curves[0]] == [point[1:] for point in curves[1]]
    assert len(curves) == 2 and curves[0][-1][2] is not None
