"""The players of the scenes on worker processes: ours, the plain loop, and other vectorisers.

Those of Stable-Baselines3, Tianshou and PufferLib play in a process of their own (player_proxy.py),
so that neither their packages nor their start methods affect the others.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from parallel_pool._bench import tree
from parallel_pool._bench.contender import Task, contender
from parallel_pool._bench.player_proxy import in_own_process
from parallel_pool._bench.python_players import (
    as_many_as_threads,
    environments,
    plain_loop,
    started_since,
)
from parallel_pool._bench.rivals import Stepping, one_each
from parallel_pool._bench.rounds import Player

TIANSHOU, PUFFERLIB = "tianshou-2.0.1", "pufferlib-3.0.0"


# -------------------------------------------------------------------------------------- ours --


@contender(
    "parallel_pool ProcessPool",
    "ours",
    package="parallel_pool",
    needs="parallel_pool._workers.process_pool:ProcessPool",
    workers=as_many_as_threads,
)
def process_pool(task: Task) -> Player:
    """ProcessPool, asynchronous: sends actions to the environments that finished first."""
    from parallel_pool._workers.process_pool import ProcessPool

    before = tree.descendants(os.getpid())
    pool = ProcessPool(environments(task), num_workers=task.num_threads, batch_size=task.batch_size)
    pool.send_reset(seed=1)
    actions = task.actions(np.int64)
    return SendingPool(pool, actions, task.num_envs, task.batch_size, started_since(before))


class SendingPool:
    """Receives the environments that finished first and sends them actions.

    Nothing is in flight between two plays.
    """

    def __init__(
        self,
        pool: Any,
        actions: Sequence[Any],
        num_envs: int,
        batch_size: int,
        children: Sequence[int] = (),
    ) -> None:
        self.pool = pool
        self.children = children
        self._rows = itertools.cycle(actions)
        self._batch_size = batch_size
        self._env_id = [column.name for column in pool.columns].index("env_id")
        # env_ids of the batches that were received and not sent again
        self._held = deque(pool.recv()[self._env_id] for _ in range(num_envs // batch_size))

    def play(self, batches: int) -> int:
        recv, send, held, rows = self.pool.recv, self.pool.send, self._held, self._rows
        ahead = min(batches, len(held))
        for _ in range(ahead):
            send(next(rows), held.popleft())
        for row in itertools.islice(rows, batches - ahead):
            send(row, recv()[self._env_id])
        held.extend(recv()[self._env_id] for _ in range(ahead))
        return batches * self._batch_size

    def close(self) -> None:
        self.pool.close()


# ------------------------------------------------------------------------------------- rivals --


class AtOnce:
    """Plays several parts at the same time, each in a process of its own."""

    def __init__(self, parts: Sequence[Callable[[], Player]]) -> None:
        context = multiprocessing.get_context("fork")
        self._connections, self._processes = [], []
        for make in parts:
            ours, theirs = context.Pipe()
            process = context.Process(target=play_part, args=(make, theirs), daemon=True)
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)
        self.children = [connection.recv() for connection in self._connections]

    def play(self, batches: int) -> int:
        for connection in self._connections:
            connection.send(batches)
        return sum(connection.recv() for connection in self._connections)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()


def play_part(make: Callable[[], Player], connection: Connection) -> None:
    """Plays in this process: each message is a number of batches, each reply the steps done."""
    player = make()
    connection.send(os.getpid())
    while True:
        connection.send(player.play(connection.recv()))


@in_own_process("plain Python loops, all cores at once", "gymnasium", package="gymnasium", parts=1)
def plain_loops(task: Task) -> Player:
    """As many plain loops as workers: the limit of processes on this machine at this time.

    The loops divide the environments among them and wait for each other only at the end of a play.
    """
    part = replace(task, num_envs=task.num_envs // task.num_threads)
    whole = replace(part, batch_size=part.num_envs)
    return AtOnce([functools.partial(plain_loop.make, whole)] * task.num_threads)


@in_own_process(
    "Tianshou ShmemVectorEnv", "tianshou", package="tianshou", folder=TIANSHOU, workers=one_each
)
def shmem_vector_env(task: Task) -> Player:
    """ShmemVectorEnv: fork, shared memory for observations, a process per environment."""
    from tianshou.env import ShmemVectorEnv

    wait_num = task.batch_size if task.is_async else None
    env = ShmemVectorEnv(environments(task), wait_num=wait_num)
    children = [worker.process.pid for worker in env.workers]
    env.seed(1)
    env.reset()
    return SteppingShmem(env, task, children)


class SteppingShmem(Stepping):
    """Steps the environments that answered last and resets those that ended, as Tianshou's own
    collector does. A reset counts as a step, as it does for pools with automatic resets.

    In asynchronous mode environments stay in flight between two plays, but their processes are
    stopped while others play.
    """

    def __init__(self, env: Any, task: Task, children: Sequence[int]) -> None:
        # an answer may have more rows than a batch
        whole = replace(task, batch_size=task.num_envs)
        super().__init__(env, whole.actions(np.int64), task.num_envs, children)
        self._ready = np.arange(task.num_envs)

    def play(self, batches: int) -> int:
        env, ready, steps = self.env, self._ready, 0
        for row in itertools.islice(self._rows, batches):
            _, _, terminated, truncated, infos = env.step(row[: len(ready)], ready)
            ready = np.array([info["env_id"] for info in infos])
            ended = ready[terminated | truncated]
            if len(ended):
                env.reset(ended)
            steps += len(ready) + len(ended)
        self._ready = ready
        return steps


class SteppingPuffer(Stepping):
    """Sends actions to the environments received last, as PufferLib's own training loop does."""

    def play(self, batches: int) -> int:
        recv, send = self.env.recv, self.env.send
        for row in itertools.islice(self._rows, batches):
            send(row)
            recv()
        return batches * self._num_envs


in_pufferlib = functools.partial(
    in_own_process, family="pufferlib", package="pufferlib", folder=PUFFERLIB
)


def puffer(task: Task, num_workers: int) -> Player:
    """PufferLib's `vector.make` with its Multiprocessing backend."""
    from pufferlib import vector
    from pufferlib.emulation import GymnasiumPufferEnv

    def wrapped(make: Callable[[], Any]) -> Callable[..., Any]:
        return lambda buf=None, seed=0: GymnasiumPufferEnv(make(), buf=buf, seed=seed)

    env = vector.make(
        [wrapped(make) for make in environments(task)],
        env_args=[[]] * task.num_envs,
        env_kwargs=[{}] * task.num_envs,
        backend=vector.Multiprocessing,
        num_envs=task.num_envs,
        num_workers=num_workers,
        batch_size=task.batch_size,
        # allows more workers than the cores that PufferLib counts: a virtual machine may hide some
        overwork=True,
    )
    env.async_reset(1)
    env.recv()
    children = [process.pid for process in env.processes]
    return SteppingPuffer(env, task.actions(np.int32), task.batch_size, children)


@in_pufferlib("PufferLib Multiprocessing, 1 worker", workers=lambda task: 1, parts=1)
def puffer_1(task: Task) -> Player:
    """One worker and the caller: two processes that spin, on two cores."""
    return puffer(task, 1)


@in_pufferlib("PufferLib Multiprocessing", workers=as_many_as_threads, parts=1)
def puffer_2(task: Task) -> Player:
    """As many workers as ours has."""
    return puffer(task, task.num_threads)


@in_pufferlib("PufferLib Multiprocessing, async", workers=as_many_as_threads, parts=2)
def puffer_halves(task: Task) -> Player:
    """As many workers as ours has, received one at a time, as PufferLib's own training does."""
    return puffer(task, task.num_threads)


@in_pufferlib("plain Python loop, Gymnasium 0.29", parts=1)
def puffer_loop(task: Task) -> Player:
    """The plain loop on the Gymnasium and NumPy that PufferLib needs."""
    return plain_loop.make(task)
