"""Comparisons of vectorisers: the same steps on each, files, pictures, and agents that differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from integration.training import coinrun, comparison, doorkey, ppo, training_time
from integration.training.comparison import OURS, SYNC, Comparison, Task, check_equal, shortened
from tests.support.reference import procgen_player

COMPARISONS = [training_time.COMPARISON, doorkey.COMPARISON]
needs_procgen = pytest.mark.skipif(
    not procgen_player.is_installed(), reason="procgen-mirror is not installed here"
)


@pytest.fixture(autouse=True)
def one_torch_thread(torch_threads: Callable[[int], None]) -> None:
    """One thread, as the networks are small."""
    torch_threads(1)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Lets comparisons train in this process."""

    def train(self: Comparison, task: Task, name: str, seed: int) -> dict[str, Any]:
        return {"seed": seed, **comparison.train(task, self.players(task)[name], seed)}

    monkeypatch.setattr(Comparison, "train_in_a_process", train)
    # MuJoCo writes its log into the current folder
    monkeypatch.chdir(tmp_path)
    return tmp_path


def small(whole: Comparison) -> Comparison:
    """Returns the comparison with 4 environments."""
    return replace(whole, tasks=[replace(task, num_envs=4) for task in whole.tasks])


def steps_of(run: dict[str, Any]) -> list[int]:
    return [point[1] for point in run["curve"]]


@pytest.mark.parametrize(
    ("whole", "task"),
    [(small(whole), task) for whole in COMPARISONS for task in small(whole).tasks],
    ids=lambda value: getattr(value, "task_id", ""),
)
def test_training_takes_the_same_steps_on_each_vectoriser(
    whole: Comparison, task: Task, here: Path
) -> None:
    """Two rollouts of each task."""
    rollout = 4 * task.settings.rollout_steps
    whole.main([task.task_id, "--seeds", "1", "--steps", str(2 * rollout), "--out", str(here)])
    runs = json.loads((here / f"{whole.result}.json").read_text())["tasks"][task.task_id]
    assert set(runs) == set(whole.players(task)) >= {OURS, SYNC}
    for name, (run,) in runs.items():
        assert steps_of(run) == [rollout, 2 * rollout], name
        assert not run["reached"]
    assert (here / f"{whole.result}.png").read_bytes().startswith(b"\x89PNG")


def test_a_measurement_goes_on_where_it_was_stopped(here: Path) -> None:
    def train(*words: str) -> dict[str, list[dict[str, Any]]]:
        given = ["CartPole-v1", "--steps", "128", "--out", str(here), *words]
        small(training_time.COMPARISON).main(given)
        found = json.loads((here / "training.json").read_text())["tasks"]["CartPole-v1"]
        return dict(found)

    assert not any(train("--minutes", "0").values())
    one = train("--seeds", "1", "--players", SYNC)
    assert {name: len(own) for name, own in one.items() if own} == {SYNC: 1}
    first = train("--seeds", "1")
    assert {len(own) for own in first.values()} == {1} and first[SYNC] == one[SYNC]
    both = train("--seeds", "2")
    assert [[run["seed"] for run in own] for own in both.values()] == [[1, 2]] * len(both)
    # those of the first seed are the same, times included
    assert {name: own[:1] for name, own in both.items()} == first


def test_an_agent_that_differs_is_found() -> None:
    task = training_time.TASKS[0]
    runs = {
        name: [{"seed": 1, "curve": [[0.0, 128, mean]]}]
        for name, mean in ((OURS, 20.0), (SYNC, 20.5))
    }
    with pytest.raises(AssertionError, match="CartPole-v1, seed 1: the agents differ"):
        check_equal(task, runs, 1)
    check_equal(task, runs, 1, [OURS])


def test_a_training_has_a_process_of_its_own() -> None:
    task = shortened(training_time.TASKS[0], 2 * 64 * 32)
    run = training_time.COMPARISON.train_in_a_process(task, OURS, 3)
    assert run["seed"] == 3 and steps_of(run) == [64 * 32, 2 * 64 * 32]
    assert set(run["moment"]) == {"time", "commit", "load"}


# ------------------------------------------------------------------------------------ DoorKey --


def test_cells_are_one_hot() -> None:
    """The 20 numbers of a cell say its kind, its color and its state."""
    task = replace(doorkey.TASKS[0], num_envs=3)
    make = doorkey.players(task)[OURS]
    with_images, wrapped = make(task, 1), task.wrap(make(task, 1))
    images, _ = with_images.reset(seed=4)
    seen, _ = wrapped.reset(seed=4)
    cells = seen.reshape(3, 7, 7, 20)
    assert wrapped.single_observation_space.contains(seen[0]) and cells.sum() == 3 * 49 * 3
    parts = np.split(cells, np.cumsum(doorkey.SIZES)[:-1], axis=3)
    assert np.array_equal(np.stack([part.argmax(3) for part in parts], 3), images)
    with_images.close()
    wrapped.close()


# ------------------------------------------------------------------------------------ CoinRun --


@needs_procgen
def test_coinrun_is_trained_on_its_levels_and_tested_on_all(tmp_path: Path) -> None:
    """A rollout of ours and of ProcgenGym3Env, whose agents must be equal."""
    steps = coinrun.NUM_ENVS * coinrun.ROLLOUT
    names = [OURS, coinrun.OWN]
    words = ["--seeds", "1", "--steps", str(steps), "--out", str(tmp_path), "--players", *names]
    coinrun.COMPARISON.main(words)
    (runs,) = json.loads((tmp_path / "coinrun.json").read_text())["tasks"].values()
    points = [runs[name][0]["curve"][0] for name in names]
    assert points[0][1:] == points[1][1:]
    _, done, trained, tested = points[0]
    assert done == steps and 0 < trained < 1 and 0 <= tested < 1
    assert (tmp_path / "coinrun.png").read_bytes().startswith(b"\x89PNG")


@needs_procgen
def test_the_test_leaves_training_alone() -> None:
    """It draws no random number of training, has other levels, and a full window of episodes."""
    levels = {
        name: {int(seed) for seed in envs.reset(seed=1)[1]["level_seed"]}
        for name, envs in (
            ("trained", coinrun.pool(coinrun.TRAINED)),
            ("all", coinrun.pool(coinrun.ALL)),
        )
    }
    assert max(levels["trained"]) < 200 < min(levels["all"])
    exam = coinrun.AllLevels(1)
    torch.manual_seed(5)
    agent = ppo.Agent((3, 64, 64), exam.actions)
    before = torch.random.get_rng_state()
    means = [exam.play(agent) for _ in range(4)]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert means[-1] is not None and 0 < means[-1] < 1
    exam.close()
