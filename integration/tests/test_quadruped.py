"""The programs of the quadruped in a short form: they train, measure and draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integration.training import quadruped, quadruped_randomised
from integration.training.quadrupeds import Quadrupeds, Ranges
from parallel_pool.mujoco_batch import BatchVectorEnv

SHORT = ["--steps", "6000", "--worlds", "32", "--threads", "1"]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TEST_STEPS": 12, "SETTLING": 4, "TEST_WORLDS": 4, "EVERY": 1000}.items():
        monkeypatch.setattr(quadruped, name, value)


def test_a_quadruped_trains_and_walks(tmp_path: Path) -> None:
    quadruped.main([*SHORT, "--seeds", "1", "2", "--out", str(tmp_path)])
    result = json.loads((tmp_path / "quadruped.json").read_text())
    assert [each["seed"] for each in result["seeds"]] == [1, 2]
    for each in result["seeds"]:
        assert len(each["followed"]) == len(quadruped.COMMANDS)
    for name in ("quadruped.png", "quadruped_gait.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_randomised_quadruped_is_tested_outside_its_ranges(tmp_path: Path) -> None:
    quadruped_randomised.main([*SHORT, "--out", str(tmp_path)])
    result = json.loads((tmp_path / "quadruped_randomised.json").read_text())
    assert [each["name"] for each in result["runs"]] == ["one world", "randomised"]
    assert result["runs"][0]["tests"].keys() == quadruped_randomised.TESTS.keys()
    for name in ("quadruped_randomised.png", "quadruped_randomised_curves.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_trains_the_same_agent() -> None:
    settings = quadruped.ppo.Settings(total_steps=3000, rollout_steps=12, seed=3)
    found = [quadruped.trained(Ranges(), settings, 1, 16, threads)[0] for threads in (1, 2)]
    one, other = (agent.state_dict() for agent in found)
    assert all((one[key] == other[key]).all() for key in one)


def test_velocities_are_in_the_robots_own_axes() -> None:
    envs = BatchVectorEnv(Quadrupeds(), 3, num_threads=1)
    envs.reset(seed=1)
    task: Any = envs.task
    angles = np.array([0, np.pi / 2, np.pi])
    envs.batch.qpos[:, 3:7] = np.column_stack(
        [np.cos(angles / 2), 0 * angles, 0 * angles, np.sin(angles / 2)]
    )
    envs.batch.qvel[:, :3] = [0, 1, 0]
    local = task.rotated(envs.batch)
    wanted = [[0, 1, 0], [1, 0, 0], [0, -1, 0]]
    np.testing.assert_allclose(local["velocity"], wanted, atol=1e-12)
    np.testing.assert_allclose(local["up"], [[0, 0, 1]] * 3, atol=1e-12)
    envs.close()
