"""Collector: a worker that acts by itself, with its own copy of the policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.cluster.options import check_mode
from parallel_pool._apis.cluster.policies import acted, check_policy
from parallel_pool._apis.cluster.stack import Stack
from parallel_pool._apis.cluster.worker import Description, Task, Worker
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

NEVER = -1


@dataclass(frozen=True)
class CollectorTask(Task):
    """What a collector makes.

    Attributes:
        policy_fn: makes the policy.
        steps: of a batch.
        seeds: of the environments' first episodes; None for fresh entropy.
    """

    policy_fn: Callable[[], Any] = field(kw_only=True)
    steps: int = field(kw_only=True)
    seeds: Sequence[int] | None = field(kw_only=True, default=None)


@dataclass(frozen=True)
class Collected:
    """What a collector returns; arrays (steps, n, ...), as in `Batch`."""

    observations: Any
    actions: Any
    log_probs: Array
    extras: dict[str, Array]
    rewards: Array
    terminations: Array
    truncations: Array
    resets: Array
    last_observations: Any
    returns: list[float]
    lengths: list[int]
    version: int
    fetched: bool
    is_first: bool


class Collector(Worker):
    """Steps its environments with the actions of its policy."""

    def open(self, task: Task) -> Description:
        """Makes the environments and the policy, and begins the first episodes."""
        assert isinstance(task, CollectorTask)
        description = super().open(task)
        self._policy = task.policy_fn()
        check_policy("what policy_fn returned", self._policy, ("act", "load"))
        check_mode(self.envs.autoreset_mode)
        # which policy it has, by the learner's count
        self._version = NEVER
        self._begin(None if task.seeds is None else list(task.seeds))
        _check_memory(task.steps, self._observations)
        self._steps = task.steps
        # of what the policy returns besides actions, and where the steps of a batch with these go
        self._names: frozenset[str] = frozenset()
        self._stack = Stack(task.steps)
        return description

    def _begin(self, seed: Sequence[int] | None) -> None:
        """Begins new episodes in all environments."""
        self._observations, _ = self.envs.reset(seed=seed)
        count = self.envs.num_envs
        self._ended = np.zeros(count, np.bool_)
        self._returns, self._lengths = np.zeros(count), np.zeros(count, np.int64)
        self._is_first = True
        # whether an exception has ended a batch halfway
        self._is_cut = False

    def collect(self, version: int, states: Sequence[Any]) -> Collected:
        """Plays the steps of a batch, whose arrays are overwritten by the next.

        Args:
            version: of the policy to fetch.
            states: a list of one reference to its state; empty to go on with the policy it has. In
                a list, so that Ray passes the reference on and not what it refers to.
        """
        if states:
            import ray

            self._policy.load(ray.get(states[0]))
            self._version = version
        if self._is_cut:
            # some environments may have stepped since the last observations
            self._begin(None)
        self._is_cut = True
        returns: list[float] = []
        lengths: list[int] = []
        for step in range(self._steps):
            before, was_reset = self._observations, self._ended
            actions, log_probs, more = acted(self._policy.act(before), len(was_reset))
            self._note_names(step, more)
            self._observations, rewards, terminated, truncated, _ = self.envs.step(actions)
            self._ended = ended = terminated | truncated
            self._returns += rewards
            self._lengths += ~was_reset
            returns += self._returns[ended].tolist()
            lengths += self._lengths[ended].tolist()
            self._returns[ended], self._lengths[ended] = 0, 0
            row = (before, actions, log_probs, more, rewards, terminated, truncated, was_reset)
            self._stack.put(step, row)
        observations, actions, log_probs, extras, rewards, terminated, truncated, resets = (
            self._stack.arrays()
        )
        is_first, self._is_first = self._is_first, False
        self._is_cut = False
        return Collected(
            observations=observations,
            actions=actions,
            log_probs=log_probs,
            extras=extras,
            rewards=rewards,
            terminations=terminated,
            truncations=truncated,
            resets=resets,
            last_observations=self._observations,
            returns=returns,
            lengths=lengths,
            version=self._version,
            fetched=bool(states),
            is_first=is_first,
        )

    def _note_names(self, step: int, more: Mapping[str, Any]) -> None:
        """Refuses names of extras that are others than at the step before in this batch."""
        names = frozenset(more)
        if names == self._names:
            return
        if step:
            raise ValueError(
                f"act() of the policy returned the extras {list(more)}, and {list(self._names)} at"
                " the step before: return the same names at each step of a batch"
            )
        self._names, self._stack = names, Stack(self._steps)


def _check_memory(steps: int, observations: Any) -> None:
    """Refuses batches whose observations alone do not fit into the machine.

    Args:
        steps: of a batch.
        observations: of one step.
    """
    sizes: list[int] = []
    map_leaves(lambda array: sizes.append(np.asarray(array).nbytes), observations)
    needed = steps * sum(sizes)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise ValueError(
            f"steps={steps}: the observations of one worker's batch have {needed / 2**30:.3g} GiB,"
            f" and its machine {memory / 2**30:.3g}: choose fewer steps"
        )
