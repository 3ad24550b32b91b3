"""The players on threads, ours and rivals: how each makes a task's environments and steps them.

To add a rival, write a function from a `Task` to a `Player` and decorate it. All players run in
this process (AsyncVectorEnv adds its workers as child processes), and pools sleep between their
turns. The players of Python environments are in python_rivals.py; some run in processes of their
own.
"""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.rounds import Player

# Number of rows of actions; they are drawn beforehand, and all players repeat them.
ROWS = 128


@dataclass(frozen=True)
class Task:
    """The environments to step, and the setting.

    Attributes:
        env_id: the name in parallel_pool and EnvPool.
        batch_size: rows of one result; synchronous if it equals num_envs.
        num_threads: number of threads that step.
        num_actions: of a Discrete action space; 0 for a Box.
        max_episode_steps: the time limit, in agent steps.
        frame_skip: frames of one agent step; 1 without frames.
        action_size: size of a one-dimensional Box; 0 for a Discrete space.
        action_bound: the Box has values from -action_bound to action_bound.
    """

    env_id: str
    num_envs: int
    batch_size: int
    num_threads: int
    num_actions: int
    max_episode_steps: int
    frame_skip: int = 1
    action_size: int = 0
    action_bound: float = 1.0

    @property
    def is_async(self) -> bool:
        """Whether a result holds only the environments that finished first."""
        return self.batch_size < self.num_envs

    @property
    def game(self) -> str:
        """The game's name: "Pong" of "Pong-v5"."""
        return self.env_id.rpartition("-")[0]

    @property
    def is_atari(self) -> bool:
        """Whether it is an Atari game."""
        return self.frame_skip > 1

    @property
    def is_mujoco(self) -> bool:
        """Whether it is a MuJoCo task."""
        from parallel_pool._engine import registry

        return registry.find(self.env_id).family == "mujoco"

    def all_actions(self) -> np.ndarray[Any, Any]:
        """Returns rows of num_envs uniform actions, the same for all players."""
        random, rows = np.random.default_rng(0), (ROWS, self.num_envs)
        if self.num_actions:
            return random.integers(self.num_actions, size=rows)
        # rounded to float32, as samples of a Box are, even for players that take float64
        bound = self.action_bound
        return random.uniform(-bound, bound, (*rows, self.action_size)).astype(np.float32)

    def actions(
        self, integer: type[np.integer[Any]], real: type[np.floating[Any]] = np.float32
    ) -> list[np.ndarray[Any, Any]]:
        """Returns rows of batch_size actions in the integer or floating type of an API."""
        dtype = integer if self.num_actions else real
        return [np.ascontiguousarray(row[: self.batch_size], dtype) for row in self.all_actions()]

    def settings(self) -> list[Task]:
        """Returns the settings among which a rival's best is chosen."""
        batches = sorted({max(1, self.num_envs // part) for part in (1, 2, 4)}, reverse=True)
        return [
            replace(self, num_threads=threads, batch_size=batch)
            for threads in (1, 2, 3)
            for batch in batches
        ]


@dataclass(frozen=True)
class Contender:
    """A library and one way to use it, to be measured.

    Attributes:
        name: the name in tables.
        family: "ours", or the family's name in --vs.
        make: makes the environments of a task, reset and ready to step.
        package: the package that must be installed.
        tunable: whether threads and batch size can be chosen.
        num_envs: fixed number of environments; 0 for the task's.
        num_threads: fixed number of threads; 0 for the task's.
        workers: returns the number of worker processes for a task; None if threads or the caller
            step the environments.
        parts: the batch size is always num_envs / parts; 0 for the task's batch size.
        needs: "module:name" that must be importable.
        folder: a separate folder that holds the package; the Makefile fills it.
    """

    name: str
    family: str
    make: Callable[[Task], Player]
    package: str
    tunable: bool
    num_envs: int = 0
    num_threads: int = 0
    workers: Callable[[Task], int] | None = None
    parts: int = 0
    needs: str = ""
    folder: str = ""

    def task(self, task: Task) -> Task:
        """Returns a scene's task with the fixed numbers of this contender."""
        if self.num_envs:
            task = replace(task, num_envs=self.num_envs)
        if self.num_threads:
            task = replace(task, num_threads=self.num_threads)
        return replace(task, batch_size=task.num_envs // self.parts) if self.parts else task

    @property
    def place(self) -> Path:
        """The path of the folder, if there is one."""
        return Path(sys.prefix) / self.folder


CONTENDERS: dict[str, Contender] = {}


def contender(
    name: str, family: str, *, package: str, tunable: bool = False, **facts: Any
) -> Callable[[Callable[[Task], Player]], Contender]:
    """Decorates a function that makes a player; the facts are attributes of `Contender`."""

    def register(make: Callable[[Task], Player]) -> Contender:
        CONTENDERS[name] = Contender(name, family, make, package, tunable, **facts)
        return CONTENDERS[name]

    return register


class Stepping:
    """Steps all environments at once: each call of `step` takes one row of actions."""

    def __init__(
        self, env: Any, actions: Sequence[Any], num_envs: int, children: Sequence[int] = ()
    ) -> None:
        self.env = env
        self.children = children
        self._rows: Iterator[Any] = itertools.cycle(actions)
        self._num_envs = num_envs

    def play(self, batches: int) -> int:
        step = self.env.step
        for row in itertools.islice(self._rows, batches):
            step(row)
        return batches * self._num_envs

    def close(self) -> None:
        self.env.close()
        # EnvPool ends its threads when the last reference is gone
        del self.env


class SendingEnvPool(Stepping):
    """Receives the environments that finished first and sends them actions, as EnvPool's users do.

    Nothing is in flight between two plays. Steps that an asynchronous pool did while others play
    would count as its own fast work, and would slow the others down.
    """

    def __init__(self, env: Any, actions: Sequence[Any], num_envs: int, batch_size: int) -> None:
        super().__init__(env, actions, batch_size)
        # env_ids of the batches that were received and not sent again
        self._held = deque(env.recv()[4]["env_id"] for _ in range(num_envs // batch_size))

    def play(self, batches: int) -> int:
        recv, send, held, rows = self.env.recv, self.env.send, self._held, self._rows
        ahead = min(batches, len(held))
        for _ in range(ahead):
            send(next(rows), held.popleft())
        for row in itertools.islice(rows, batches - ahead):
            info = recv()[4]
            send(row, info["env_id"])
        held.extend(recv()[4]["env_id"] for _ in range(ahead))
        return batches * self._num_envs


class SendingAle(Stepping):
    """Sends to the environments received last, then receives the first to finish.

    This is how AtariVectorEnv's users step it.
    """

    def play(self, batches: int) -> int:
        recv, send = self.env.recv, self.env.send
        for row in itertools.islice(self._rows, batches):
            send(row)
            recv()
        return batches * self._num_envs


class Looping:
    """Steps single environments in a loop, and resets each when its episode ends.

    A reset counts as a step, as it does for pools with automatic resets.
    """

    children: Sequence[int] = ()

    def __init__(self, envs: Sequence[Any], actions: Sequence[Sequence[Any]]) -> None:
        self.envs = envs
        self._rows = itertools.cycle(actions)
        self._ended = [True] * len(envs)

    def play(self, batches: int) -> int:
        envs, ended = self.envs, self._ended
        for row in itertools.islice(self._rows, batches):
            for i, action in enumerate(row):
                if ended[i]:
                    envs[i].reset()
                    ended[i] = False
                else:
                    _, _, terminated, truncated, _ = envs[i].step(action)
                    ended[i] = terminated or truncated
        return batches * len(envs)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def _start(env: Any, task: Task, real: type[np.floating[Any]] = np.float32) -> Player:
    """Resets a pool with EnvPool's API and returns its player."""
    actions = task.actions(np.int32, real)
    if task.is_async:
        env.async_reset()
        return SendingEnvPool(env, actions, task.num_envs, task.batch_size)
    env.reset()
    return Stepping(env, actions, task.batch_size)


def _pool_options(task: Task) -> dict[str, Any]:
    options = {
        "num_envs": task.num_envs,
        "batch_size": task.batch_size,
        "num_threads": task.num_threads,
        "max_episode_steps": task.max_episode_steps,
        "seed": 1,
    }
    return options | ({"frame_skip": task.frame_skip} if task.is_atari else {})


# ------------------------------------------------------------------------------------- ours --


@contender("parallel_pool.make", "ours", package="parallel_pool")
def envpool_api(task: Task) -> Player:
    """`parallel_pool.make`, as EnvPool's programs use it."""
    import parallel_pool

    env = parallel_pool.make(task.env_id, env_type="gymnasium", **_pool_options(task))
    return _start(env, task)


@contender("parallel_pool.make_vec", "ours", package="parallel_pool")
def gymnasium_api(task: Task) -> Player:
    """`parallel_pool.make_vec`, as Gymnasium's programs use it."""
    import parallel_pool

    env = parallel_pool.make_vec(
        task.env_id,
        task.num_envs,
        max_episode_steps=task.max_episode_steps,
        vector_kwargs={"num_threads": task.num_threads},
    )
    env.reset(seed=1)
    return Stepping(env, task.actions(np.int64), task.num_envs)


@contender("parallel_pool.make, 16 envs", "ours", package="parallel_pool", num_envs=16)
def envpool_api_16(task: Task) -> Player:
    """`parallel_pool.make` with 16 environments, to compare with many."""
    return envpool_api.make(task)


@contender("parallel_pool.make, 1 thread", "ours", package="parallel_pool", num_threads=1)
def envpool_api_1_thread(task: Task) -> Player:
    """`parallel_pool.make` with one thread, to show what more threads gain."""
    return envpool_api.make(task)


# ----------------------------------------------------------------------------------- rivals --


@contender("EnvPool", "envpool", package="envpool", tunable=True)
def envpool(task: Task) -> Player:
    """EnvPool, through its own `make`."""
    import envpool

    env = envpool.make(task.env_id, env_type="gymnasium", **_pool_options(task))
    return _start(env, task, np.float64)


@contender("ale-py AtariVectorEnv", "ale", package="ale-py", tunable=True)
def ale(task: Task) -> Player:
    """ale-py's own vector environment, which uses C++ threads as EnvPool does."""
    import ale_py
    from ale_py.vector_env import AtariVectorEnv

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    env = AtariVectorEnv(
        rom_name(task.game),
        task.num_envs,
        batch_size=task.batch_size,
        num_threads=task.num_threads,
        max_num_frames_per_episode=task.max_episode_steps * task.frame_skip,
        frameskip=task.frame_skip,
        reward_clipping=False,
    )
    # in asynchronous mode this returns the first batch, and the others stay in flight
    env.reset(seed=1)
    loop = SendingAle if task.is_async else Stepping
    return loop(env, task.actions(np.int64), task.batch_size)


@contender("Gymnasium NumPy-vectorised", "gymnasium", package="gymnasium")
def gymnasium_numpy(task: Task) -> Player:
    """Gymnasium's CartPole on whole NumPy arrays: one thread, no batch size."""
    import gymnasium

    env = gymnasium.make_vec(
        task.env_id,
        task.num_envs,
        vectorization_mode="vector_entry_point",
        max_episode_steps=task.max_episode_steps,
    )
    env.reset(seed=1)
    return Stepping(env, task.actions(np.int64), task.num_envs)


@contender("Gymnasium sync", "gymnasium", package="gymnasium")
def gymnasium_sync(task: Task) -> Player:
    """SyncVectorEnv: a loop in Python, one thread."""
    import gymnasium

    env = gymnasium.vector.SyncVectorEnv([lambda: single(task)] * task.num_envs)
    env.reset(seed=1)
    return Stepping(env, task.actions(np.int64), task.num_envs)


def one_each(task: Task) -> int:
    """Returns the number of environments: each has a worker process."""
    return task.num_envs


@contender("Gymnasium async", "gymnasium", package="gymnasium", workers=one_each)
def gymnasium_async(task: Task) -> Player:
    """AsyncVectorEnv: a process for every environment."""
    import gymnasium

    from parallel_pool._demo.speeds import interrupts_ignored

    with interrupts_ignored():
        env = gymnasium.vector.AsyncVectorEnv([lambda: single(task)] * task.num_envs)
    env.reset(seed=1)
    children = [process.pid for process in env.processes if process.pid]
    return Stepping(env, task.actions(np.int64), task.num_envs, children)


@contender("gymnasium.make", "gymnasium", package="gymnasium")
def gymnasium_loop(task: Task) -> Player:
    """`gymnasium.make` itself: one environment, or a for-loop over several."""
    envs = [single(task) for _ in range(task.num_envs)]
    rows = task.actions(np.int64)
    # Python integers, as a loop would use; arrays if an action is an array
    return Looping(envs, [row.tolist() if task.num_actions else list(row) for row in rows])


def single(task: Task) -> Any:
    """Returns one Gymnasium environment; Atari games get wrappers for what EnvPool does itself."""
    import gymnasium

    if not task.is_atari:
        with quiet(task):
            return gymnasium.make(task.env_id, max_episode_steps=task.max_episode_steps)
    from parallel_pool._demo.speeds import atari_env

    return atari_env(
        task.game, frame_skip=task.frame_skip, max_episode_steps=task.max_episode_steps
    )


def quiet(task: Task) -> AbstractContextManager[Any]:
    """Keeps MuJoCo's warnings about old model files off the terminal and out of MUJOCO_LOG.TXT."""
    if not task.is_mujoco:
        return nullcontext()
    from parallel_pool._families.mujoco import capture_warnings

    return capture_warnings()


def rom_name(game: str) -> str:
    """Returns ale-py's name of a game."""
    from parallel_pool._engine import registry

    return registry.find(f"{game}-v5").variant
