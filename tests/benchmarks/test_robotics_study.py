"""The study of Gymnasium-Robotics: its bare loop computes what a pool does, through resets."""

from __future__ import annotations

import ctypes
from collections import Counter
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from benchmarks.scenes.robotics_bare import FUNCTIONS, BareLoop
from benchmarks.studies import robotics
from parallel_pool import Pool
from parallel_pool._engine import registry
from parallel_pool._families import mujoco as mujoco_link
from tests.support.sampling import sampled

with_models = pytest.mark.skipif(find_spec("gymnasium_robotics") is None, reason="needs its models")

# tasks that call different functions, or write different inputs: the fingers' positions and mocap
# bodies; half steps; contact forces; the model; resets from the episode before
CASES = sampled(
    (
        *("FetchReach-v4", "FetchPickAndPlace-v4", "PointMaze_UMaze-v3", "AntMaze_UMaze-v4"),
        *("AntMaze_UMaze-v5", "AdroitHandDoor-v1", "AdroitHandPen-v1", "HandReach-v3"),
        *("HandManipulateBlock-v1", "HandManipulateEgg_ContinuousTouchSensors-v1"),
        "FrankaKitchen-v1",
    ),
    {"PointMaze_UMaze-v3", "AdroitHandDoor-v1"},
)
NUM_ENVS, LIMIT = 2, 4
# numbers of an action, and calls of a step; some calls change only what is observed
CALLS = [
    ("PointMaze_UMaze-v3", 2, {"mj_forward": 1, "mj_step2": 1}),
    ("AntMaze_UMaze-v5", 8, {"mj_step": 5, "mj_rnePostConstraint": 1}),
    pytest.param("FetchReach-v4", 4, {"mj_step": 20, "mj_forward": 1}, marks=pytest.mark.slow),
]


def actions_of(pool: Pool, steps: int) -> np.ndarray:
    shape = (steps, pool.num_envs, *pool.spec.action.shape)
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def test_the_ids_are_there() -> None:
    for task_id in robotics.IDS:
        assert registry.find(task_id).family == "robotics"


@pytest.mark.slow
@with_models
@pytest.mark.parametrize("task_id", CASES)
def test_the_bare_loop_is_the_pools_simulation(task_id: str) -> None:
    with Pool(task_id, NUM_ENVS, num_threads=1, seed=1, max_episode_steps=LIMIT) as pool:
        pool.reset()
        # two episodes, and the beginning of a third
        rows = actions_of(pool, 2 * LIMIT + 4)
        with closing(BareLoop(task_id, list(rows), seed=1, max_episode_steps=LIMIT)) as bare:
            assert bare.difference(pool) is None
            resets = 0
            for row in rows:
                resets += int((pool.step(row).elapsed_step == 0).sum())
                bare(1)
                assert bare.difference(pool) is None
            assert resets == 2 * NUM_ENVS
            with pytest.raises(ValueError, match=r"^0 batches are left of the recording, not 1$"):
                bare(1)
            # the pool is a step further
            pool.step(rows[0])
            found = bare.difference(pool)
            assert found is not None and "of environment 0 is [" in found


@with_models
def test_the_bare_loop_simulates() -> None:
    """A recorder that wrote the pool's positions would have the same states without computing."""
    task_id = "AdroitHandDoor-v1"
    with Pool(task_id, NUM_ENVS, num_threads=1, seed=1) as pool:
        pool.reset()
        rows = actions_of(pool, 3)
        with closing(BareLoop(task_id, list(rows), seed=1)) as bare:
            bare.copies[1].qvel[0] += 0.01
            for row in rows:
                pool.step(row)
            bare(3)
            found = bare.difference(pool)
            assert found is not None and found.startswith("qpos of environment 1 is ")


@with_models
@pytest.mark.parametrize(("task_id", "size", "expected"), CALLS)
def test_the_bare_loop_makes_the_tasks_calls(
    task_id: str, size: int, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Counter[str] = Counter()
    form = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    addresses = dict(mujoco_link.function_addresses())

    def counted(name: str) -> Any:
        call = form(addresses[name])

        def count(model: int, data: int) -> None:
            made[name] += 1
            call(model, data)

        return form(count)

    counters = {name: counted(name) for name in FUNCTIONS}
    for name, counter in counters.items():
        addresses[name] = ctypes.cast(counter, ctypes.c_void_p).value or 0
    monkeypatch.setattr(mujoco_link, "function_addresses", lambda: addresses)
    rows = np.zeros((2, NUM_ENVS, size), np.float32)
    with closing(BareLoop(task_id, list(rows), seed=1)) as bare:
        made.clear()
        bare(2)
    assert made == {name: 2 * NUM_ENVS * count for name, count in expected.items()}


@pytest.mark.slow
@with_models
def test_the_study_has_a_row_for_each_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(robotics, "MUJOCO", mujoco.__version__)
    monkeypatch.setattr(robotics, "NUM_ENVS", NUM_ENVS)
    monkeypatch.setattr(robotics, "calibrate", lambda play, least: least)
    monkeypatch.setattr(robotics, "envpool_loop", lambda task_id, actions: None)
    monkeypatch.setattr(robotics, "python_loop", lambda task_id, actions: lambda steps: None)
    out = tmp_path / "robotics.md"
    assert robotics.main(["PointMaze_UMaze-v3", "--rounds", "1", "--out", str(out)]) == 0
    head, _, row, median = out.read_text().splitlines()[-4:]
    assert head == "| id | us | EnvPool | bare | Python | Python / bare |"
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0] == "PointMaze_UMaze-v3" and cells[2] == "" and float(cells[3]) > 0
    assert median.startswith("| median |  |  | ")
    capsys.readouterr()
    monkeypatch.setattr(BareLoop, "difference", lambda self, pool: "qpos differs")
    with pytest.raises(RuntimeError, match=r"^PointMaze_UMaze-v3: after 8 steps qpos differs$"):
        robotics.costs("PointMaze_UMaze-v3", 1)
