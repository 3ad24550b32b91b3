"""The runners of the demo, ours and other libraries', and the measurement of their speed."""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import ale_py
import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import parallel_pool
from parallel_pool._bench.atari_env import FRAME_SKIP, atari_env
from parallel_pool._bench.interrupts import interrupts_ignored
from parallel_pool._native import ffi, lib

# The loop over single environments, which most programs use today.
SYNC = "Gymnasium, sync"
# Number of rows of actions; they are drawn beforehand and repeated.
ROWS = 64


@dataclass(frozen=True)
class Task:
    """An environment, and how many of them are stepped."""

    title: str
    task_id: str
    num_envs: int
    batch_size: int
    num_actions: int
    frame_skip: int = 1
    is_continuous: bool = False

    def actions(self, count: int) -> Iterator[Any]:
        """Yields rows of `count` uniform actions without end, the same for all runners."""
        generator = np.random.default_rng(0)
        if self.is_continuous:
            shape = (ROWS, count, self.num_actions)
            return itertools.cycle(list(generator.uniform(-1, 1, size=shape).astype(np.float32)))
        return itertools.cycle(list(generator.integers(self.num_actions, size=(ROWS, count))))


# All runners step the same number of environments. With more of them, a process for each would be
# too much for a small machine.
CART_POLE = Task("CartPole-v1", "CartPole-v1", 64, 16, 2)
PONG = Task("Pong-v5", "Pong-v5", 16, 4, 6, FRAME_SKIP)
ANT = Task("Ant-v5", "Ant-v5", 16, 4, 8, is_continuous=True)


class Stepping:
    """Steps all environments at once."""

    def __init__(self, env: Any, actions: Iterator[Any], num_envs: int, count: int) -> None:
        self.env, self.actions, self.num_envs, self.count = env, actions, num_envs, count

    def play(self, times: int) -> None:
        """Does `times` steps, each of `count` environments."""
        for row in itertools.islice(self.actions, times):
            self.env.step(row)

    def close(self, *, broken: bool) -> None:
        """Closes the environments, without waiting for broken ones."""
        if isinstance(self.env, AsyncVectorEnv):
            self.env.close(terminate=broken)
        else:
            self.env.close()


class Sending(Stepping):
    """Receives the environments that finished first and sends them the next actions."""

    def play(self, times: int) -> None:
        for row in itertools.islice(self.actions, times):
            info = self.env.recv()[4]
            self.env.send(row, info["env_id"])


@dataclass(frozen=True)
class Runner:
    """A library that steps a task.

    Attributes:
        name: name of the API.
        runs_on: its threads or processes.
        make: makes the environments and resets them.
    """

    task: Task
    name: str
    runs_on: str
    make: Callable[[], Stepping]

    @property
    def is_ours(self) -> bool:
        """Whether this is parallel_pool."""
        return self.name.startswith("parallel_pool")


@dataclass(frozen=True)
class Speed:
    """The measured speed of a runner."""

    runner: Runner
    steps_per_second: float


# Packages that are shown only if installed: module, name, and the command that installs it.
EXTRAS = (
    ("mujoco", "MuJoCo", "pip install 'parallel_pool[mujoco]'"),
    ("envpool", "EnvPool", "pip install envpool"),
)


def missing() -> list[str]:
    """Returns the packages that are not installed, each with the command that installs it."""
    return [f"{name} ({cure})" for module, name, cure in EXTRAS if not find_spec(module)]


def runners() -> list[Runner]:
    """Returns all runners in the order of the tables, ours first."""
    cores: int = lib.pp_usable_cores(ffi.NULL)
    tasks = (CART_POLE, PONG, ANT) if find_spec("mujoco") else (CART_POLE, PONG)
    found: list[Runner] = []
    for task in tasks:
        batches = f"{threads(cores)}, batch {task.batch_size}"
        found += [
            Runner(task, "parallel_pool, sync", threads(cores), sync(task, cores)),
            Runner(task, "parallel_pool, async", batches, asynchronous(task, cores, parallel_pool)),
        ]
        if find_spec("envpool"):
            envpool = importlib.import_module("envpool")
            found.append(
                Runner(task, "EnvPool, async", batches, asynchronous(task, cores, envpool))
            )
        if task is CART_POLE:
            found.append(Runner(task, "Gymnasium, NumPy", "1 thread", reset(task, whole_arrays)))
        if task is PONG and hasattr(ale_py, "AtariVectorEnv"):
            make_env = partial(atari_vector_env, task, cores)
            found.append(Runner(task, "AtariVectorEnv", threads(cores), reset(task, make_env)))
        fns = [partial(one_env, task)] * task.num_envs
        processes = f"{task.num_envs} processes"
        found += [
            Runner(task, SYNC, "1 thread", reset(task, partial(SyncVectorEnv, fns))),
            Runner(task, "Gymnasium, async", processes, reset(task, partial(AsyncVectorEnv, fns))),
        ]
    return found


def threads(count: int) -> str:
    """Returns "1 thread", "2 threads" and so on."""
    return "1 thread" if count == 1 else f"{count} threads"


def sync(task: Task, num_threads: int) -> Callable[[], Stepping]:
    """Returns a function that makes parallel_pool's Gymnasium vector environment."""

    def make() -> Stepping:
        options = {"num_threads": num_threads}
        env = parallel_pool.make_vec(task.task_id, task.num_envs, vector_kwargs=options)
        env.reset(seed=1)
        return Stepping(env, task.actions(task.num_envs), task.num_envs, task.num_envs)

    return make


def asynchronous(task: Task, num_threads: int, package: Any) -> Callable[[], Stepping]:
    """Returns a function that makes an asynchronous pool of parallel_pool or EnvPool."""

    def make() -> Stepping:
        env = package.make(
            task.task_id,
            env_type="gymnasium",
            num_envs=task.num_envs,
            batch_size=task.batch_size,
            num_threads=num_threads,
            seed=1,
        )
        env.async_reset()
        return Sending(env, task.actions(task.batch_size), task.num_envs, task.batch_size)

    return make


def one_env(task: Task) -> Any:
    """Returns a single Gymnasium environment."""
    return atari_env() if task is PONG else gymnasium.make(task.task_id)


def whole_arrays() -> Any:
    """Returns Gymnasium's CartPole on whole NumPy arrays."""
    return gymnasium.make_vec(
        CART_POLE.task_id, CART_POLE.num_envs, vectorization_mode="vector_entry_point"
    )


def atari_vector_env(task: Task, num_threads: int) -> Any:
    """Returns ale_py's own vector environment, whose observations are like EnvPool's."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return ale_py.AtariVectorEnv(
        "pong", task.num_envs, num_threads=num_threads, max_num_frames_per_episode=108_000
    )


def reset(task: Task, make_env: Callable[[], Any]) -> Callable[[], Stepping]:
    """Returns a function that makes vector environments and resets them."""

    def make() -> Stepping:
        with interrupts_ignored():
            env = make_env()
        env.reset(seed=1)
        return Stepping(env, task.actions(task.num_envs), task.num_envs, task.num_envs)

    return make


@contextmanager
def made(runner: Runner) -> Iterator[Stepping]:
    """Makes a runner's environments, and closes them at the end."""
    stepping = runner.make()
    try:
        yield stepping
    except BaseException:
        stepping.close(broken=True)
        raise
    stepping.close(broken=False)


def measure(
    stepping: Stepping, seconds: float, tick: Callable[[float], None] = lambda share: None
) -> float:
    """Steps for about this many seconds; returns environment steps per second.

    Args:
        tick: called about twenty times a second with the share that is done.
    """
    # the first results of an asynchronous pool are resets, so all environments step twice first
    stepping.play(2 * -(-stepping.num_envs // stepping.count))
    times, total, spent = 1, 0, 0.0
    while spent < seconds:
        start = time.perf_counter()
        stepping.play(times)
        taken = time.perf_counter() - start
        spent += taken
        total += times
        tick(min(1.0, spent / seconds))
        # reads the clock twenty times a second
        times = max(1, min(2 * times, round(times * 0.05 / max(taken, 1e-6))))
    return total * stepping.count / spent
