"""Recorders of Gymnasium and Stable-Baselines3 get the pictures that the originals give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers.vector import RecordVideo as RecordVectorVideo
from stable_baselines3.common.vec_env import DummyVecEnv, VecVideoRecorder

import parallel_pool
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.support import stand_in_moviepy

ID = "CartPole-v1"
MAKERS: list[Callable[[], Any]] = [lambda: gymnasium.make(ID, render_mode="rgb_array")] * 2


@pytest.fixture(autouse=True)
def moviepy(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_moviepy.put_in(monkeypatch)


def assert_same_videos(folder: Path, record: Callable[[Any, str], None], *envs: Any) -> None:
    """Records environments of both kinds with the same actions."""
    found = []
    for i, each in enumerate(envs):
        record(each, str(folder / str(i)))
        found.append(stand_in_moviepy.videos(folder / str(i)))
    ours, originals = found
    assert ours.keys() == originals.keys() and len(ours) == 2
    for name, pictures in originals.items():
        assert len(pictures) > 3 and np.array_equal(ours[name], pictures), name


@pytest.mark.parametrize("backend", ["native", "process"])
def test_vectors_are_recorded_as_gymnasiums_are(backend: str, tmp_path: Path) -> None:
    def record(envs: Any, folder: str) -> None:
        recorder = RecordVectorVideo(envs, folder, episode_trigger=lambda episode: episode < 2)
        recorder.reset(seed=1)
        for step in range(40):
            # environment 0, whose episodes count, falls over soon
            recorder.step(np.array([1, step % 2]))
        recorder.close()

    ours = parallel_pool.make_vec(ID, 2, backend=backend, render_mode="rgb_array")
    assert_same_videos(tmp_path, record, ours, SyncVectorEnv(MAKERS))


def test_one_environment_is_recorded_as_gymnasiums_is(tmp_path: Path) -> None:
    def record(env: Any, folder: str) -> None:
        recorder = RecordVideo(env, folder, episode_trigger=lambda episode: episode < 2)
        for seed in range(3):
            recorder.reset(seed=seed)
            while not recorder.step(1)[2]:
                pass
        recorder.close()

    ours = gymnasium.make(f"parallel_pool/{ID}", render_mode="rgb_array")
    assert_same_videos(tmp_path, record, ours, MAKERS[0]())


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "workers"])
def test_vec_envs_are_recorded_as_stable_baselines3s_are(is_native: bool, tmp_path: Path) -> None:
    def record(envs: Any, folder: str) -> None:
        envs.seed(3)
        recorder = VecVideoRecorder(envs, folder, lambda step: step in (2, 20), video_length=10)
        recorder.reset()
        for step in range(35):
            recorder.step(np.array([step % 2, 1]))
        recorder.close()

    ours = PoolVecEnv(ID, 2, render_mode="rgb_array") if is_native else PoolVecEnv(MAKERS)
    assert_same_videos(tmp_path, record, ours, DummyVecEnv(MAKERS))
