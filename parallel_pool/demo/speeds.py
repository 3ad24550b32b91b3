"""Who steps in the demo, and how fast: ours and Gymnasium's own vector environments."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ale_py
import cv2  # noqa: F401  AtariPreprocessing needs it, and says so too late
import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

import parallel_pool
from parallel_pool._native import ffi, lib

FRAME_SKIP = 4
# rows of actions drawn beforehand and played over and over
ROWS = 64


@dataclass(frozen=True)
class Task:
    """An environment, and how many of them we step."""

    title: str
    env_id: str
    num_envs: int
    batch_size: int
    num_actions: int
    frame_skip: int = 1

    def actions(self, count: int) -> Iterator[Any]:
        """Returns rows of `count` uniform actions, the same for everybody, without end."""
        drawn = np.random.default_rng(0).integers(self.num_actions, size=(ROWS, count))
        return itertools.cycle(list(drawn))


CART_POLE = Task("CartPole-v1", "CartPole-v1", 1024, 256, 2)
PONG = Task("Pong-v5", "Pong-v5", 64, 16, 6, FRAME_SKIP)
TASKS = (CART_POLE, PONG)


class Stepping:
    """Steps everything at once."""

    def __init__(self, env: Any, actions: Iterator[Any], num_envs: int, count: int) -> None:
        self.env, self.actions, self.num_envs, self.count = env, actions, num_envs, count

    def play(self, times: int) -> None:
        """Steps so many times, `count` environment steps each."""
        for row in itertools.islice(self.actions, times):
            self.env.step(row)

    def close(self, *, broken: bool) -> None:
        """Closes the environments; broken ones are not waited for."""
        if isinstance(self.env, AsyncVectorEnv):
            self.env.close(terminate=broken)
        else:
            self.env.close()


class Sending(Stepping):
    """Takes whoever finished first, and sends them on."""

    def play(self, times: int) -> None:
        for row in itertools.islice(self.actions, times):
            info = self.env.recv()[4]
            self.env.send(row, info["env_id"])


@dataclass(frozen=True)
class Runner:
    """Somebody who steps a task.

    Attributes:
        name: of the API.
        num_envs: how many environments it steps.
        runs_on: threads or processes.
        make: makes the environments, reset.
    """

    task: Task
    name: str
    num_envs: int
    runs_on: str
    make: Callable[[], Stepping]

    @property
    def is_ours(self) -> bool:
        """Says whether this is parallel_pool."""
        return self.name.startswith("parallel_pool")


@dataclass(frozen=True)
class Speed:
    """What was measured."""

    runner: Runner
    steps_per_second: float


def runners() -> list[Runner]:
    """Returns everybody in the order of the table, ours first."""
    cores: int = lib.pp_usable_cores(ffi.NULL)
    found: list[Runner] = []
    for task in TASKS:
        found += [
            Runner(task, "parallel_pool, sync", task.num_envs, threads(cores), sync(task, cores)),
            Runner(
                task,
                "parallel_pool, async",
                task.num_envs,
                f"{threads(cores)}, batch {task.batch_size}",
                asynchronous(task, cores),
            ),
        ]
        found += gymnasium_cart_pole() if task is CART_POLE else gymnasium_pong()
    return found


def threads(count: int) -> str:
    """Counts threads in words."""
    return "1 thread" if count == 1 else f"{count} threads"


def sync(task: Task, num_threads: int) -> Callable[[], Stepping]:
    """parallel_pool as a Gymnasium vector environment."""

    def make() -> Stepping:
        options = {"num_threads": num_threads}
        env = parallel_pool.make_vec(task.env_id, task.num_envs, vector_kwargs=options)
        env.reset(seed=1)
        return Stepping(env, task.actions(task.num_envs), task.num_envs, task.num_envs)

    return make


def asynchronous(task: Task, num_threads: int) -> Callable[[], Stepping]:
    """parallel_pool as EnvPool's programs use it: the first to finish go on."""

    def make() -> Stepping:
        env = parallel_pool.make(
            task.env_id,
            env_type="gymnasium",
            num_envs=task.num_envs,
            batch_size=task.batch_size,
            num_threads=num_threads,
            seed=1,
        )
        env.async_reset()
        return Sending(env, task.actions(task.batch_size), task.num_envs, task.batch_size)

    return make


def gymnasium_cart_pole() -> list[Runner]:
    """Gymnasium's three ways to step many CartPoles, one of them written over whole arrays."""
    task = CART_POLE

    def one() -> Any:
        return gymnasium.make("CartPole-v1")

    def whole_arrays() -> Any:
        return gymnasium.make_vec(
            "CartPole-v1", task.num_envs, vectorization_mode="vector_entry_point"
        )

    # a process for each of 1024 would not fit into a small machine
    few = 16
    return [
        Runner(
            task,
            "Gymnasium, NumPy",
            task.num_envs,
            "1 thread",
            reset(task, task.num_envs, whole_arrays),
        ),
        Runner(
            task,
            "Gymnasium, sync",
            task.num_envs,
            "1 thread",
            reset(task, task.num_envs, lambda: SyncVectorEnv([one] * task.num_envs)),
        ),
        Runner(
            task,
            "Gymnasium, async",
            few,
            f"{few} processes",
            reset(task, few, lambda: AsyncVectorEnv([one] * few)),
        ),
    ]


def gymnasium_pong() -> list[Runner]:
    """Gymnasium's two ways to step Pong; few environments, because making each takes long."""
    few = 8
    return [
        Runner(
            PONG,
            "Gymnasium, sync",
            few,
            "1 thread",
            reset(PONG, few, lambda: SyncVectorEnv([atari_env] * few)),
        ),
        Runner(
            PONG,
            "Gymnasium, async",
            few,
            f"{few} processes",
            reset(PONG, few, lambda: AsyncVectorEnv([atari_env] * few)),
        ),
    ]


def atari_env(
    game: str = "Pong", *, frame_skip: int = FRAME_SKIP, max_episode_steps: int = 27000
) -> Any:
    """Returns one Atari environment of Gymnasium's, wrapped to show what EnvPool's show."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    env = gymnasium.make(
        f"ALE/{game}-v5",
        frameskip=1,
        repeat_action_probability=0.0,
        max_num_frames_per_episode=max_episode_steps * frame_skip,
    )
    env = AtariPreprocessing(env, noop_max=30, frame_skip=frame_skip, screen_size=84)
    return FrameStackObservation(env, 4)


def reset(task: Task, num_envs: int, make_env: Callable[[], Any]) -> Callable[[], Stepping]:
    """Returns a function that makes vector environments and resets them."""

    def make() -> Stepping:
        with deaf_children():
            env = make_env()
        env.reset(seed=1)
        return Stepping(env, task.actions(num_envs), num_envs, num_envs)

    return make


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes started in here ignore Ctrl-C: their parent ends them."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


@contextmanager
def made(runner: Runner) -> Iterator[Stepping]:
    """Makes a runner's environments, and closes them."""
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
    """Steps for about so many seconds; returns environment steps per second.

    Args:
        tick: called now and then with the share that is done.
    """
    # the first results of an asynchronous pool are resets: everybody steps twice before it counts
    stepping.play(2 * -(-stepping.num_envs // stepping.count))
    times, total, spent = 1, 0, 0.0
    while spent < seconds:
        start = time.perf_counter()
        stepping.play(times)
        taken = time.perf_counter() - start
        spent += taken
        total += times
        tick(min(1.0, spent / seconds))
        # looks at the clock twenty times a second
        times = max(1, min(2 * times, round(times * 0.05 / max(taken, 1e-6))))
    return total * stepping.count / spent


def pictures(stepping: Stepping, env_ids: Sequence[int]) -> Any:
    """Returns what environments of a synchronous pool show, uint8 (count, height, width, 3)."""
    return stepping.env.pool.render(env_ids)
