"""Meta-World's 50 tasks, in workers of a virtual environment with the older MuJoCo that they need.

make installs it beside ours: see `meta-world` in the Makefile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool.compat.gymnasium import PoolVectorEnv
from tests.support.same import assert_same
from tests.support.timeouts import limited

# another one than make's can be named
FOLDER = Path(os.environ.get("META_WORLD", Path(sys.prefix) / "meta-world-3.1.1"))
PYTHON = FOLDER / "bin" / "python"

pytestmark = [
    # it takes half a minute of CPU time
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason=f"{FOLDER} is missing: make check installs it"),
]

# A module of the other interpreter; it plays the tasks one by one if it is run as a program. Models
# take 0.4 s to compile, and a task's class and its goals need one each: the second is a copy.
THERE = """
import copy
import functools

import gymnasium
import metaworld
import mujoco
import numpy as np

compiled = functools.lru_cache(maxsize=1)(mujoco.MjModel.from_xml_path)
mujoco.MjModel.from_xml_path = staticmethod(lambda path: copy.copy(compiled(path)))
# of the 50 goals, each takes a hundred steps to draw
metaworld._N_GOALS = 2
NAMES = sorted(metaworld.ALL_V3_ENVIRONMENTS)


def make(name):
    env = gymnasium.make("Meta-World/MT1", env_name=name, seed=7, disable_env_checker=True)
    # the tasks differ in the bounds of places
    bounds = env.observation_space
    space = gymnasium.spaces.Box(-np.inf, np.inf, bounds.shape, bounds.dtype)
    return gymnasium.wrappers.TransformObservation(env, lambda observation: observation, space)


for number, name in enumerate(NAMES):
    globals()[f"task_{number}"] = functools.partial(make, name)


def play(name, seed, actions):
    env = make(name)
    rows = [env.reset(seed=seed)]
    for action in actions:
        rows.append(env.step(action))
    env.close()
    return [row[0] for row in rows], [row[1] for row in rows[1:]], rows[-1][-1]["success"]


if __name__ == "__main__":
    assert mujoco.__version__ == "3.3.0"
    actions = np.load("actions.npy")
    assert len(NAMES) == actions.shape[1]
    played = [play(name, 1 + i, actions[:, i]) for i, name in enumerate(NAMES)]
    observations, rewards, successes = zip(*played)
    np.savez("played.npz", observations=observations, rewards=rewards, successes=successes)
"""
TASKS = 50
STEPS = 12


# half of the tasks are made in each worker
@pytest.mark.filterwarnings("ignore::parallel_pool.errors.SlowWorkerWarning")
def test_tasks_step_as_they_do_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one in that interpreter, and at the same time in its workers."""
    module = tmp_path / "meta_there.py"
    module.write_text(THERE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, TASKS, 4)).astype(np.float32)
    np.save("actions.npy", actions)
    with limited(250.0), subprocess.Popen([PYTHON, module]) as alone:
        ours = in_workers(actions)
        assert alone.wait() == 0
    played = np.load("played.npz")
    for name, array in ours.items():
        assert_same(array, played[name], name)


def in_workers(actions: Any) -> dict[str, Any]:
    """Returns what the tasks give in workers; observations and rewards by task, then by step."""
    fns: list[Any] = [f"meta_there:task_{number}" for number in range(TASKS)]
    with closing(PoolVectorEnv(fns, num_workers=2, python=str(PYTHON))) as envs:
        rows = [envs.reset(seed=1)[0]]
        rewards = []
        for action in actions:
            observation, reward, *_, infos = envs.step(action)
            rows.append(observation)
            rewards.append(reward)
    return {
        "observations": np.stack(rows, 1),
        "rewards": np.stack(rewards, 1),
        "successes": infos["success"],
    }
