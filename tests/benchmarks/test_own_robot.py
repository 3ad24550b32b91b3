"""The study of robots, in a short form: all players step all models, and do the same work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from benchmarks.scenes import robots
from benchmarks.studies import own_robot
from parallel_pool import Pool
from parallel_pool._engine import registry
from parallel_pool.mujoco_batch import BatchVectorEnv


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test loads is known to that test alone."""
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*settotalmass")
def test_the_report_has_all_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--rounds", "1", "--steps", "3", "--envs", "2", "--worlds", "4", "--task-steps", "2"]
    assert own_robot.main([*short, "--out", str(tmp_path / "report.md")]) == 0
    text = (tmp_path / "report.md").read_text()
    for name in robots.MODELS:
        assert text.count(f"\n| {name} | ") == 2
    assert " | - |" not in text


@pytest.mark.slow
def test_both_starts_of_a_hand_do_the_same(tmp_path: Path) -> None:
    """From the same states and with the same actions, in C and in Python."""
    robot = robots.load("hand", tmp_path / "hand")
    assert robot.model.nsensordata == 15
    actions = robot.actions(40, 3)
    envs = BatchVectorEnv(robot.task(noise=0.0), 3, num_threads=1)
    still = {"reset_noise_scale": 0.0}
    with Pool(robot.task_id, 3, num_threads=1, options=still) as pool:
        np.testing.assert_array_equal(envs.reset(seed=1)[0], pool.reset(seed=1).obs)
        for action in actions:
            seen, rewards, *_ = envs.step(action)
            batch = pool.step(action)
            np.testing.assert_array_equal(seen, batch.obs)
            np.testing.assert_allclose(rewards, batch.reward, rtol=1e-6, atol=1e-9)
        assert batch.obs[:, -15:].any()
    envs.close()
