"""Other libraries' environments return the same in worker processes as in SyncVectorEnv."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from integration.compare.same_as_sync import assert_same_as_sync

ROOT = Path(__file__).resolve().parents[2]

# The newest MuJoCo that dm_control 1.0.38 supports; no dm_control supports MuJoCo 4.
DM_CONTROL_MUJOCO = Path(sys.prefix) / "mujoco-3.6.0"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ViZDoom writes files into the current folder, which workers inherit from their parent."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("id", ["LunarLander-v3", "BipedalWalker-v3"])
def test_box2d(id: str) -> None:
    assert_same_as_sync(id, ends=2)


def test_box2d_with_pictures() -> None:
    assert_same_as_sync("CarRacing-v3", steps=60, ends=8, max_episode_steps=25)


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2], ids=lambda mode: mode.name)
@pytest.mark.parametrize("id", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-LavaCrossingS9N1-v0"])
def test_minigrid(id: str, mode: AutoresetMode) -> None:
    """MiniGrid's observations contain a text."""
    importlib.import_module("minigrid")
    assert_same_as_sync(id, ends=4, mode=mode)


def test_minigrid_without_its_text() -> None:
    wrappers = importlib.import_module("minigrid.wrappers")
    id = "MiniGrid-LavaCrossingS9N1-v0"
    assert_same_as_sync(id, ends=4, wrappers=[wrappers.ImgObsWrapper])


@pytest.mark.parametrize("id", ["VizdoomBasic-v1", "VizdoomHealthGathering-MultiBinary-v1"])
def test_vizdoom(id: str) -> None:
    """Each environment starts a process of its own; pictures are in a Dict."""
    importlib.import_module("vizdoom.gymnasium_wrapper")
    assert_same_as_sync(id, steps=200, ends=4, frame_skip=4, max_episode_steps=90)


ATARI = [AtariPreprocessing, partial(FrameStackObservation, stack_size=4)]


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2], ids=lambda mode: mode.name)
def test_ale_in_wrappers(mode: AutoresetMode) -> None:
    gymnasium.register_envs(importlib.import_module("ale_py"))
    options = {"frameskip": 1, "max_episode_steps": 90}
    infos = assert_same_as_sync(
        "ALE/Breakout-v5", steps=200, ends=8, mode=mode, wrappers=ATARI, **options
    )
    assert "lives" in infos


def test_ale() -> None:
    gymnasium.register_envs(importlib.import_module("ale_py"))
    assert_same_as_sync("ALE/Freeway-v5", steps=200, ends=4, max_episode_steps=90)


def test_dm_control_by_shimmy() -> None:
    ids = ["dm_control/walker-walk-v0", "dm_control/cartpole-balance-v0"]
    options = ["--register", "shimmy", "--steps", "200", "--limit", "60"]
    shown = run_with_dm_control("integration.compare.same_as_sync", *ids, *options)
    for id in ids:
        assert f"{id}: the same for 200 steps; infos: _timestep" in shown


def test_dm_control() -> None:
    """Its environments are dm_env's, of two kinds: the suite's, and composer's."""
    suite = ["walker-walk", "cartpole-balance", "acrobot-swingup"]
    shown = run_with_dm_control("integration.compare.same_as_dm_loop", *suite, "--steps", "120")
    assert shown.count("the same for 120 steps") == 3 and "; 0 episodes ended" not in shown
    shown = run_with_dm_control(
        "integration.compare.same_as_dm_loop",
        "manipulation-stack_2_bricks_features",
        "--steps",
        "8",
    )
    assert "the same for 8 steps" in shown


def run_with_dm_control(module: str, *arguments: str) -> str:
    """Runs a module, and returns what it prints.

    dm_control needs an older MuJoCo, so it runs in another interpreter.
    """
    assert DM_CONTROL_MUJOCO.is_dir(), "make installs it"
    path = os.pathsep.join(map(str, (DM_CONTROL_MUJOCO, ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        # no rendering
        env={**os.environ, "PYTHONPATH": path, "MUJOCO_GL": "disabled"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
