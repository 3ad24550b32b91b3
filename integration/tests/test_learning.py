"""The threshold of the training tests is far from all results of 20 seeds (learning.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from integration.training import learning
from integration.training.agents import LEARNED_RETURN, WINDOW, best


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(learning.RESULT.read_text())
    return found


def test_the_measured_setting_is_that_of_the_tests(result: dict[str, Any]) -> None:
    assert result["setting"] == learning.setting(), "run python -m integration.training.learning"


@pytest.mark.parametrize("threads", learning.THREADS)
@pytest.mark.parametrize("agent", learning.AGENTS)
def test_every_seed_stays_far_from_the_threshold(
    agent: str, threads: int, result: dict[str, Any]
) -> None:
    runs = [run for run in result["runs"] if (run["agent"], run["threads"]) == (agent, threads)]
    assert {run["seed"] for run in runs} >= set(range(1, learning.SEEDS + 1))
    assert min(run["best"] for run in runs) >= LEARNED_RETURN * learning.MARGIN
    assert max(run["start"] for run in runs) <= LEARNED_RETURN / learning.MARGIN


def test_best_is_the_mean_of_a_window() -> None:
    high, low = [100.0] * WINDOW, [20.0] * WINDOW
    assert best(low) == 20
    # an agent that learned and forgot; then one that was never good for a whole window
    assert best([*low, *high, *low]) == 100
    assert best([*low, *high[::2], *low]) == 60


def test_measurement_does_only_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        {"agent": agent, "seed": 1, "threads": threads, "start": 20.0, "best": 100.0}
        for agent in learning.AGENTS
        for threads in learning.THREADS
    ]
    file = tmp_path / "learning.json"
    learning.write(made[::-1], file)
    assert json.loads(file.read_text())["runs"] == made
    # nothing is missing
    learning.main(["--seeds", "1", "--out", str(file)])
    assert "DQN        2 runs: start  20 to  20, best  100 to  100" in capsys.readouterr().out
