"""The players on threads, ours and rivals: how each makes a task's environments and steps them.

To add a rival, write a function from a `Task` to a `Player` and decorate it. All players run in
this process (AsyncVectorEnv adds its workers as child processes), and pools sleep between their
turns. The players of Python environments are in python_players.py; some run in processes of their
own.
"""

from __future__ import annotations

import importlib
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from parallel_pool._bench.contender import Task, contender
from parallel_pool._bench.rounds import Player


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

    env = parallel_pool.make(task.task_id, env_type="gymnasium", **_pool_options(task))
    return _start(env, task)


@contender("parallel_pool.make_vec", "ours", package="parallel_pool")
def gymnasium_api(task: Task) -> Player:
    """`parallel_pool.make_vec`, as Gymnasium's programs use it."""
    import parallel_pool

    env = parallel_pool.make_vec(
        task.task_id,
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
    # by its name: it has no types, and is not installed where we check types
    env = importlib.import_module("envpool").make(
        task.task_id, env_type="gymnasium", **_pool_options(task)
    )
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
        task.task_id,
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

    from parallel_pool._bench.interrupts import interrupts_ignored

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
        # minigrid registers its ids when it is imported
        module = "minigrid:" if task.task_id.startswith(("MiniGrid-", "BabyAI-")) else ""
        with quiet(task):
            return gymnasium.make(module + task.task_id, max_episode_steps=task.max_episode_steps)
    from parallel_pool._bench.atari_env import atari_env

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
