"""The start of `new my_robot.py --mujoco`: it is simulated, varied and trained as it is."""

from __future__ import annotations

import importlib.util
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool import __main__ as cli
from parallel_pool._families.mujoco import assets
from parallel_pool.mujoco_batch import BatchVecEnv, BatchVectorEnv

ROBOTS = Path(__file__).parents[2] / "families" / "robots"
PENDULUM = """
<mujoco>
  <worldbody>
    <body name="arm"><joint name="a &quot;joint&quot;\\" axis="0 1 0"/>
      <geom size="0.1" pos="0 0 -1"/></body>
  </worldbody>
  <actuator><motor joint="a &quot;joint&quot;\\"/></actuator>
</mujoco>
"""


def started(folder: Path, model: str, file: str = "my_robot.py") -> Any:
    """Writes a start, and returns its class."""
    shutil.copy(assets() / "half_cheetah.xml", folder)
    shutil.copytree(ROBOTS, folder, dirs_exist_ok=True)
    (folder / "pendulum.xml").write_text(PENDULUM)
    assert cli.main(["new", str(folder / file), "--mujoco", str(folder / model)]) == 0
    spec = importlib.util.spec_from_file_location("my_robot", folder / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MyRobot


@pytest.mark.filterwarnings("ignore:.*settotalmass")
@pytest.mark.parametrize("model", ["half_cheetah.xml", "quadruped.xml", "pendulum.xml"])
def test_a_start_is_simulated(model: str, tmp_path: Path) -> None:
    task = started(tmp_path, model)(mass=(0.5, 2.0))
    with closing(BatchVectorEnv(task, 4, max_episode_steps=15, num_threads=1)) as envs:
        envs.reset(seed=1)
        masses = envs.batch.expand("body_mass").sum(axis=1)
        assert len(set(masses.tolist())) == 4
        actions = envs.action_space.sample()
        for _ in range(20):
            seen, rewards, *_, infos = envs.step(actions)
            assert np.isfinite(seen).all() and np.isfinite(rewards).all()
            assert infos["x"].shape == (4,)
        # each episode has a mass of its own
        assert not (envs.batch.expand("body_mass").sum(axis=1) == masses).any()


@pytest.mark.slow
def test_a_start_trains(tmp_path: Path) -> None:
    from stable_baselines3 import PPO

    with closing(BatchVecEnv(started(tmp_path, "quadruped.xml"), 8, seed=0)) as envs:
        PPO("MlpPolicy", envs, n_steps=16, batch_size=64, seed=0, device="cpu").learn(256)


def test_a_start_says_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started(tmp_path, "quadruped.xml")
    shown = capsys.readouterr().out
    assert "defines MyRobot" in shown and "BatchVectorEnv(MyRobot, 1024)" in shown
    text = (tmp_path / "my_robot.py").read_text()
    assert "the robot of quadruped.xml must move along x" in text
    assert "# joint('root'), joint('hip fl')" in text and "actuator('knee br')" in text


def test_a_start_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my_robot.py").write_text("mine")
    shutil.copytree(ROBOTS, tmp_path, dirs_exist_ok=True)
    model = str(tmp_path / "quadruped.xml")
    assert cli.main(["new", str(tmp_path / "my_robot.py"), "--mujoco", model]) == 1
    assert "exists, and stays as it is" in capsys.readouterr().err
