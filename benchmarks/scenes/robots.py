"""Robots: models in MJCF, each as the starts of `new --mujoco` step it, in C and in Python.

All players of a robot do the same: the observation is all positions but those that say how far the
robot has come, all velocities and all sensors; the reward is the way along x, less the effort.
"""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import parallel_pool
from benchmarks.scenes.mujoco_bare import Bare
from parallel_pool._bench.contender import Task
from parallel_pool._families import mujoco
from parallel_pool._source import start

ROOT = Path(__file__).resolve().parents[2]
QUADRUPED = ROOT / "tests" / "families" / "robots"
# by name: the model and what it includes
MODELS: dict[str, tuple[Path, ...]] = {
    "half_cheetah": (mujoco.assets() / "half_cheetah.xml",),
    "ant": (mujoco.assets() / "ant.xml",),
    "humanoid": (mujoco.assets() / "humanoid.xml",),
    "quadruped": (QUADRUPED / "quadruped.xml", QUADRUPED / "parts"),
    "hand": (Path(__file__).with_name("hand.xml"),),
}
FRAME_SKIP, LIMIT, NOISE = 5, 300, 0.01

# returns the environment steps of a round
Player = Callable[[], int]


@dataclass(frozen=True)
class Robot:
    """A model, and its two starts.

    Attributes:
        name: in `MODELS`.
        model: the MjModel.
        task_id: of the start in C.
        task: the class of the start in Python.
    """

    name: str
    model: Any
    task_id: str
    task: Any

    def actions(self, steps: int, envs: int) -> np.ndarray[Any, Any]:
        """Returns actions (steps, envs, actuators), within the ranges of the controls."""
        ranges = np.where(
            self.model.actuator_ctrllimited[:, None] != 0, self.model.actuator_ctrlrange, (-1, 1)
        )
        shape = steps, envs, self.model.nu
        drawn = np.random.default_rng(0).uniform(ranges[:, 0], ranges[:, 1], shape)
        return drawn.astype(np.float32)


def load(name: str, folder: Path) -> Robot:
    """Writes both starts of a model into a new folder, and compiles the one in C."""
    folder.mkdir()
    for path in MODELS[name]:
        copy: Any = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / path.name)
    model = folder / MODELS[name][0].name
    start.write(folder / f"{name}.c", model)
    cls = start.write(folder / f"{name}.py", model)
    (task_id,) = parallel_pool.load_source(folder / f"{name}.c")
    spec = importlib.util.spec_from_file_location(f"start_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Robot(
        name, mujoco.load(model, switches=False, warns=False)[0], task_id, getattr(module, cls)
    )


# ------------------------------------------------------------------------------------- players --


def bare_player(robot: Robot, actions: np.ndarray[Any, Any], threads: int) -> Player:
    """The loop over mj_step, without observations and rewards."""
    count, envs, size = actions.shape
    task = Task(
        task_id=robot.task_id,
        num_actions=0,
        action_size=size,
        num_envs=envs,
        batch_size=envs,
        num_threads=threads,
        max_episode_steps=LIMIT,
    )
    # the same as the others', within the ranges of the controls
    bare = Bare(task, data_per_thread=True, switches=False, actions=actions)
    return lambda: bare.play(count)


def pool_player(robot: Robot, actions: np.ndarray[Any, Any], threads: int) -> Player:
    """The start in C."""
    pool = parallel_pool.Pool(
        robot.task_id,
        actions.shape[1],
        num_threads=threads,
        seed=0,
        max_episode_steps=LIMIT,
    )
    pool.reset()

    def play() -> int:
        for action in actions:
            pool.step(action)
        return int(actions.shape[0] * actions.shape[1])

    return play


def batch_player(robot: Robot, actions: np.ndarray[Any, Any], threads: int) -> Player | None:
    """The same observation and reward, in NumPy, on MuJoCo's own batches; None: it has none."""
    try:
        from mujoco.batch import Batch
    except ImportError:
        return None
    # methods that need no engine: the reward's and the observation's
    task = robot.task()
    batch = Batch(robot.model, actions.shape[1], threads)
    task.x = np.zeros(actions.shape[1])
    rng = np.random.default_rng(0)
    elapsed = 0

    def play() -> int:
        nonlocal elapsed
        for action in actions:
            if elapsed % LIMIT == 0:
                batch.reset()
                batch.qpos[:] += rng.uniform(-NOISE, NOISE, batch.qpos.shape)
                batch.qvel[:] += NOISE * rng.standard_normal(batch.qvel.shape)
            elapsed += 1
            task.act(batch, action)
            batch.step(nstep=FRAME_SKIP)
            task.observe(batch)
            task.reward(batch)
        return int(actions.shape[0] * actions.shape[1])

    return play


def python_player(robot: Robot, actions: np.ndarray[Any, Any], threads: int) -> Player | None:
    """The start in Python; None: MuJoCo has no batches."""
    try:
        from parallel_pool.mujoco_batch import BatchVectorEnv

        envs = BatchVectorEnv(
            robot.task, actions.shape[1], num_threads=threads, max_episode_steps=LIMIT
        )
    except parallel_pool.MissingDependencyError:
        return None
    envs.reset(seed=0)

    def play() -> int:
        for action in actions:
            envs.step(action)
        return int(actions.shape[0] * actions.shape[1])

    return play


def added_by_task(robot: Robot, worlds: int, threads: int, steps: int) -> list[float]:
    """Returns the CPU time of steps of the start in Python, of which `Batch.step` is 1.

    Both are measured in the same steps, so that other processes slow down both.
    """
    from parallel_pool.mujoco_batch import BatchVectorEnv

    envs = BatchVectorEnv(robot.task, worlds, num_threads=threads)
    envs.reset(seed=0)
    step, spent = envs.batch.step, [0.0]

    def timed(*arguments: Any, **options: Any) -> None:
        begun = time.process_time()
        step(*arguments, **options)
        spent[0] = time.process_time() - begun

    # an attribute of the object comes before the class's method
    vars(envs.batch)["step"] = timed
    shares = []
    for action in robot.actions(steps, worlds):
        begun = time.process_time()
        envs.step(action)
        shares.append((time.process_time() - begun) / spent[0])
    del vars(envs.batch)["step"]
    envs.close()
    return shares
