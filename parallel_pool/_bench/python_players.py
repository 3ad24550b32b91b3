"""The players on worker processes: ours, the plain loop, AsyncVectorEnv and SubprocVecEnv.

Stable-Baselines3's plays in a process of its own (player_proxy.py), so that neither its packages
nor its start method affect the others.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parallel_pool._bench import python_envs, tree
from parallel_pool._bench.contender import Task, contender
from parallel_pool._bench.player_proxy import in_own_process
from parallel_pool._bench.rivals import Looping, Stepping, one_each
from parallel_pool._bench.rounds import Player


def as_many_as_threads(task: Task) -> int:
    """Returns the number of worker processes of ours: the task's number of threads."""
    return task.num_threads


def environments(task: Task) -> list[Callable[[], Any]]:
    """Returns functions that make a task's environments."""
    return python_envs.factories(task.task_id, task.num_envs)


# -------------------------------------------------------------------------------------- ours --


@contender(
    "parallel_pool PoolVectorEnv",
    "ours",
    package="parallel_pool",
    needs="parallel_pool._apis.gymnasium.process_vector_env:ProcessVectorEnv",
    workers=as_many_as_threads,
)
def pool_vector_env(task: Task) -> Player:
    """PoolVectorEnv, used as AsyncVectorEnv is."""
    import parallel_pool

    before = tree.descendants(os.getpid())
    env = parallel_pool.PoolVectorEnv(environments(task), num_workers=task.num_threads)
    env.reset(seed=1)
    return Stepping(env, task.actions(np.int64), task.num_envs, started_since(before))


def started_since(before: Sequence[int]) -> list[int]:
    """Returns the descendants that were not there before, whichever process started them."""
    return sorted(set(tree.descendants(os.getpid())) - set(before))


# ------------------------------------------------------------------------------------- rivals --


@contender("plain Python loop", "gymnasium", package="gymnasium", parts=1)
def plain_loop(task: Task) -> Player:
    """A for-loop over the environments: the limit of one process."""
    envs = [make() for make in environments(task)]
    return Looping(envs, [row.tolist() for row in task.actions(np.int64)])


@contender("AsyncVectorEnv", "gymnasium", package="gymnasium", workers=one_each, parts=1)
def async_vector_env(task: Task) -> Player:
    """AsyncVectorEnv with its defaults: fork, shared memory, a process per environment."""
    from parallel_pool._bench.interrupts import interrupts_ignored

    with interrupts_ignored():
        return async_started(task)


def async_started(task: Task) -> Player:
    """AsyncVectorEnv, started as users' programs start it, without ignoring interrupts."""
    import gymnasium

    env = gymnasium.vector.AsyncVectorEnv(environments(task))
    env.reset(seed=1)
    children = [process.pid for process in env.processes if process.pid]
    return Stepping(env, task.actions(np.int64), task.num_envs, children)


@in_own_process("SB3 SubprocVecEnv", "sb3", package="stable-baselines3", workers=one_each, parts=1)
def subproc_vec_env(task: Task) -> Player:
    """SubprocVecEnv with its defaults: forkserver, pipes, a process per environment."""
    # imports torch once, not in each worker: 64 workers would take minutes to start
    multiprocessing.set_forkserver_preload(["stable_baselines3.common.vec_env.subproc_vec_env"])
    return subproc_started(task)


def subproc_started(task: Task) -> Player:
    """SubprocVecEnv without the preload, started as users' programs start it."""
    from stable_baselines3.common.vec_env import SubprocVecEnv

    env = SubprocVecEnv(environments(task))
    env.seed(1)
    env.reset()
    children = [process.pid for process in env.processes if process.pid]
    return Stepping(env, task.actions(np.int64), task.num_envs, children)


# For contenders whose player starts in another way here: the start that users' programs use.
START = {async_vector_env.name: async_started, subproc_vec_env.name: subproc_started}
