"""Rollouts: workers that act by themselves, and send whole batches of steps."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from parallel_pool._apis.cluster import policies, runtime
from parallel_pool._apis.cluster.batch_memory import BatchMemory
from parallel_pool._apis.cluster.collector import NEVER, Collected, Collector, CollectorTask
from parallel_pool._apis.cluster.frames import Frames
from parallel_pool._apis.cluster.group import Limits, Lost, WorkerGroup, raise_outcome
from parallel_pool._apis.cluster.options import (
    NO_TRACE,
    check_choice_of_loss,
    check_mode,
    check_rule,
    checked_resources,
    environments,
    flag,
    seconds,
    slices,
)
from parallel_pool._apis.cluster.session import Session
from parallel_pool._apis.cluster.sync import Adaptive, Rule, divergence
from parallel_pool._apis.common.vector_options import VectorOptions
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import check_count, quote
from parallel_pool._engine.trees import map_leaves
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool._workers.data import messages
from parallel_pool.errors import ClosedError, ForkedError, StateError

if TYPE_CHECKING:
    from typing import Self

    from parallel_pool._engine.buffers import Array, Observations


@public("cluster")
class Policy(Protocol):
    """What acts: any object with these methods, of torch, JAX or NumPy.

    Example:
        >>> class Constant:
        ...     weights = np.zeros(1)
        ...     def act(self, observations):
        ...         return np.zeros(len(observations), np.int64), np.zeros(len(observations)), {}
        ...     def log_prob(self, observations, actions): return np.zeros(len(actions))
        ...     def state(self): return {"weights": self.weights}
        ...     def load(self, state): self.weights = state["weights"]
    """

    def act(self, observations: Any) -> tuple[Any, Array, dict[str, Array]]:
        """Returns actions (n, ...) of the space's dtype, their log probabilities, float (n,), and
        any further arrays (n, ...), such as values, for observations (n, ...)."""
        ...

    def log_prob(self, observations: Any, actions: Any) -> Array:
        """Returns log probabilities, float (m,), of actions (m, ...); called on the learner, for
        `Adaptive` only."""
        ...

    def state(self) -> Mapping[str, Array]:
        """Returns all weights by name: arrays (...) of any shape and dtype."""
        ...

    def load(self, state: Mapping[str, Array]) -> None:
        """Takes the weights.

        Args:
            state: arrays (...) of any dtype, as `state` returned them. They are read-only: workers
                of one machine share their memory.
        """
        ...


@public("cluster")
@dataclass
class Batch:
    """The steps of one worker's environments; arrays (steps, n, ...) that are the caller's own.

    Attributes:
        observations: (steps, n, *shape) of the space's dtype, before each step; an array, or a tree
            of such.
        actions: (steps, n, *action shape), of the dtype that the policy returned.
        log_probs: (steps, n), of the policy's dtype: of the actions, by the policy that drew them.
        extras: what else the policy returned, (steps, n, ...) of its dtype.
        rewards: float64 (steps, n).
        terminations: bool (steps, n).
        truncations: bool (steps, n).
        resets: bool (steps, n): steps that reset their environment and ignored the action
            (NEXT_STEP): leave them out of a loss.
        last_observations: (n, *shape) of the space's dtype, after the last step.
        returns: of the episodes that ended, in the order in which they did.
        lengths: of the episodes that ended, in the order in which they did.
        worker: its index.
        rows: which environments these are, a slice.
        version: of the policy that acted.
        age: how many versions that was behind when the batch came.
        is_first: whether the environments begin new episodes: at the start, after a loss, or after
            an exception of an environment or of the policy.

    Example:
        >>> from parallel_pool.cluster import Rollouts
        >>> rollouts = Rollouts("CartPole-v1", make_policy, num_envs=4, steps=8, num_workers=1)
        >>> version = rollouts.publish(make_policy())
        >>> batch = next(rollouts)
        >>> rollouts.close()
        >>> batch.observations.shape, batch.rewards.shape, batch.last_observations.shape
        ((8, 4, 4), (8, 4), (4, 4))
    """

    observations: Observations
    actions: Array | Any
    log_probs: Array
    extras: dict[str, Array]
    rewards: Array
    terminations: Array
    truncations: Array
    resets: Array
    last_observations: Observations
    returns: list[float]
    lengths: list[int]
    worker: int
    rows: slice
    version: int
    age: int
    is_first: bool


@public("cluster")
@dataclass
class Stats:
    """What has happened so far.

    Attributes:
        batches: returned.
        lost_batches: of workers that were lost.
        restarts: workers that were replaced.
        fetches: how often a worker took a newer policy.
        bytes_fetched: of these policies' arrays. Workers of one node share one transfer, so the
            network carries at most so many.
        max_age: the largest age of a batch.

    Example:
        >>> from parallel_pool.cluster import Rollouts
        >>> with Rollouts("CartPole-v1", make_policy, num_envs=4, num_workers=1) as rollouts:
        ...     version = rollouts.publish(make_policy())
        ...     batch = next(rollouts)
        >>> rollouts.stats.batches, rollouts.stats.lost_batches, rollouts.stats.restarts
        (1, 0, 0)
    """

    batches: int = 0
    lost_batches: int = 0
    restarts: int = 0
    fetches: int = 0
    bytes_fetched: int = 0
    max_age: int = 0


@public("cluster")
class Rollouts(Uncopied):
    """Workers of a Ray cluster that act by themselves, and send whole batches of steps.

    An iterator: each batch has `steps` steps of the environments of one worker, which is asked for
    the next ones when the following batch is taken. So each worker has one request in flight, and
    memory holds one batch of each worker at most.

    A worker fetches the newest policy, with its next request, when the rule `sync` says so; nothing
    is sent otherwise.

    Attributes:
        num_envs: as given or chosen.
        num_workers: as given or chosen.
        steps: as given or chosen.
        sync: the rule.
        version: of the newest policy; 0 for the first.
        stats: what has happened so far.

    Example:
        >>> from parallel_pool.cluster import Rollouts
        >>> policy = make_policy()
        >>> with Rollouts("CartPole-v1", make_policy, num_envs=4, num_workers=1) as rollouts:
        ...     version = rollouts.publish(policy)
        ...     for _, batch in zip(range(3), rollouts):
        ...         version = rollouts.publish(policy)  # after it has learned from the batch
        >>> batch.rewards.shape, rollouts.stats.batches
        ((32, 4), 3)
    """

    _holds = "actors of a Ray cluster"
    _group: WorkerGroup | None = None

    def __init__(
        self,
        env: Any,
        policy_fn: Callable[[], Policy],
        num_envs: int | None = None,
        *,
        steps: int = 32,
        sync: Rule | None = None,
        ordered: bool = False,
        overlap: bool = False,
        seed: int | None = None,
        wrappers: Any = None,
        num_workers: int | None = None,
        cpus_per_worker: float | None = None,
        on_worker_loss: str = "restart",
        max_restarts: int = messages.MAX_RESTARTS,
        timeout: float = 300.0,
        start_timeout: float = 120.0,
        resources: Mapping[str, float] | None = None,
        worker_backend: str = "auto",
        **options: Any,
    ) -> None:
        """Starts the workers; they begin to play when the first policy is published.

        Args:
            env: as for `ClusterVectorEnv`.
            num_envs: as for `ClusterVectorEnv`.
            wrappers: as for `ClusterVectorEnv`.
            num_workers: as for `ClusterVectorEnv`.
            cpus_per_worker: as for `ClusterVectorEnv`.
            max_restarts: as for `ClusterVectorEnv`.
            resources: as for `ClusterVectorEnv`.
            worker_backend: as for `ClusterVectorEnv`.
            options: as for `ClusterVectorEnv`.
            policy_fn: makes a policy in a worker; cloudpickle sends it there.
            steps: of a batch.
            sync: when a worker fetches a newer policy: `Every(n)` or `Adaptive(...)`, the default.
            ordered: batches come from the workers in turn, so that a run can be repeated; else
                from the one that is done first.
            overlap: a worker is asked for its next batch before this one is returned, and so with a
                policy that has not learned from it; else when the following batch is taken.
            seed: environment i starts with seed + i, however many workers there are; None for
                fresh entropy, with which the environments of a worker that replaces another start,
                too.
            on_worker_loss: "restart": the batch is lost, and another worker takes its place; or
                "raise": WorkerError.
            timeout: seconds that a batch may take.
            start_timeout: seconds in which an actor must find a node and make its environments.

        Raises:
            Exception: as of `ClusterVectorEnv`.
        """
        check_choice_of_loss(on_worker_loss)
        functions, count = environments(env, None, num_envs)
        limits = Limits(
            seconds("timeout", timeout),
            seconds("start_timeout", start_timeout),
            check_count("max_restarts", max_restarts, 0),
        )
        self.steps = check_count("steps", steps, 1, MAX_STEPS)
        self.sync: Rule = Adaptive() if sync is None else sync
        check_rule(self.sync)
        self._ordered, self._overlap = flag("ordered", ordered), flag("overlap", overlap)
        needed = checked_resources(resources)
        if "autoreset_mode" in options:
            check_mode(VectorOptions(autoreset_mode=options["autoreset_mode"]).mode())
        if not callable(policy_fn):
            raise TypeError(f"policy_fn={quote(policy_fn)}: give a function that makes a policy")
        first_seeds = None if seed is None else [seeds.check(seed) + i for i in range(count)]
        if num_workers is not None:
            check_count("num_workers", num_workers, 1, count)
        session = Session(range(count))
        nodes = runtime.cores_of_nodes(session.nodes())
        workers, cores = runtime.share_out(nodes, num_workers, cpus_per_worker)
        self.num_envs, self.num_workers = count, min(workers, count)
        self.version = NEVER
        self.stats = Stats()
        self._rows = slices(count, self.num_workers)
        self._raises, self._pid = on_worker_loss == "raise", os.getpid()
        tasks = [
            CollectorTask(
                env if functions is None else functions[own],
                own.stop - own.start if functions is None else None,
                wrappers,
                {**options, "backend": worker_backend},
                max(1, int(cores)),
                first=own.start,
                policy_fn=policy_fn,
                steps=self.steps,
                seeds=None if first_seeds is None else first_seeds[own],
            )
            for own in self._rows
        ]
        self._group = WorkerGroup(session, tasks, self._rows, cores, limits, needed, Collector)
        # the newest policy: the object, its weights, and Ray's reference to them
        self._policy: Any = None
        self._state: dict[str, Array] = {}
        self._reference: Any = None
        # by worker: the version that it has; None for a new one
        self._has: list[int | None] = [None] * self.num_workers
        # by worker: states, actions and log probabilities of its last batch
        self._samples: list[Any] = [None] * self.num_workers
        self._draw = np.random.default_rng(0 if seed is None else seed)
        self._next_worker: int = 0
        self._memory = BatchMemory()
        # by worker: what came from it and was not taken yet, in the order in which it came
        self._done: dict[int, Any] = {}

    @property
    def workers(self) -> list[dict[str, Any]]:
        """Of each worker: "rows", a slice; "node", Ray's id, and "pid": None while it starts."""
        return self._open().listed()

    # ------------------------------------------------------------------------------ policies --

    def publish(self, policy: Policy) -> int:
        """Makes a policy the newest; returns its version. Nothing is sent to workers by this.

        A policy with the weights of the one before is the same version.

        Args:
            policy: its weights are copied; the object itself is asked for log probabilities later.

        Raises:
            TypeError: it is no policy, or its `state` returned no arrays.
        """
        self._open()
        methods = ("state", "log_prob") if self.sync.sample else ("state",)
        policies.check_policy("policy", policy, methods)
        state = policies.weights(policy)
        if self._reference is None or not _equal(state, self._state):
            # first, as it may raise: without it there is no new version
            reference = self._open().session.put(state)
            self._state, self._reference, self.version = state, reference, self.version + 1
        self._policy = policy
        return self.version

    # ------------------------------------------------------------------------------- batches --

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        """Returns the next batch; waits for it.

        Raises:
            parallel_pool.errors.StateError: no policy was published; or they are closed, or belong
                to another process.
            parallel_pool.errors.WorkerError: a worker was lost, and on_worker_loss="raise", or it
                can't be started again.
            Exception: raised by an environment or a policy. The steps of that batch are lost, and
                its environments begin new episodes with the next one.
        """
        group = self._open()
        if self._reference is None:
            raise StateError("there is no policy yet: call publish(policy) first")
        busy = {*group.in_flight(), *self._done}
        for index in range(self.num_workers):
            if index not in busy:
                self._ask(index)
        while True:
            index = self._first_done(group)
            collected = self._accepted(index, self._done.pop(index))
            if collected is not None:
                self._next_worker = (index + 1) % self.num_workers
                age = self.version - collected.version
                if self._overlap:
                    # Before the copy, which takes as long as some steps. After an exception the
                    # next call asks again, and raises it: this batch is complete.
                    with contextlib.suppress(Exception):
                        self._ask(index)
                return self._copied(index, collected, age)

    def wait(self) -> None:
        """Waits until no worker is busy; the next batches are then returned at once."""
        group = self._open()
        while group.in_flight():
            self._done |= dict(group.wait(group.in_flight()))

    def _first_done(self, group: WorkerGroup) -> int:
        """Waits for the worker whose batch is next, and returns it."""
        while True:
            if self._ordered:
                if self._next_worker in self._done:
                    return self._next_worker
            elif self._done:
                first: int = next(iter(self._done))
                return first
            self._done |= dict(group.wait(group.in_flight()))

    def _ask(self, index: int) -> None:
        """Asks a worker for a batch; with the newest policy if the rule says so."""
        has = self._has[index]
        fetches = has is None
        if has is not None and has < self.version:
            fetches = self.sync.wants(self.version - has, lambda: self._divergence(index))
        states = [self._reference] if fetches else []
        group = self._open()
        group.submit(index, "collect", self.version, states)
        self.stats.restarts = group.restarts

    def _divergence(self, index: int) -> float:
        observations, actions, behaviour = self._samples[index]
        newest = policies.log_probs(self._policy, observations, actions, len(behaviour))
        return divergence(newest, behaviour)

    def _accepted(self, index: int, outcome: Any) -> Collected | None:
        """Returns a worker's batch; None if it was lost, and the worker asked again."""
        group, own = self._open(), self._rows[index]
        env_ids = tuple(range(own.start, own.stop))
        if isinstance(outcome, Lost):
            if self._has[index] is not None:
                # its first episodes were played: the next worker must not repeat them
                group.change_task(index, seeds=None)
            self._has[index] = None
            self.stats.lost_batches += 1
            if self._raises or outcome.is_final:
                raise_outcome(outcome, index, env_ids)
            group.restart(index)
            self._ask(index)
            return None
        raise_outcome(outcome, index, env_ids)
        collected: Collected = outcome
        self._has[index] = collected.version
        stats = self.stats
        stats.batches += 1
        stats.max_age = max(stats.max_age, self.version - collected.version)
        if collected.fetched:
            stats.fetches += 1
            stats.bytes_fetched += sum(array.nbytes for array in self._state.values())
        if self.sync.sample:
            self._samples[index] = self._sampled(collected)
        return collected

    def _copied(self, index: int, collected: Collected, age: int) -> Batch:
        """Returns a batch whose arrays are the caller's own."""
        values = {name: value for name, value in vars(collected).items() if name != "fetched"}
        values |= self._memory.copy({name: values[name] for name in ARRAYS})
        return Batch(**values, worker=index, rows=self._rows[index], age=age)

    def _sampled(self, batch: Collected) -> tuple[Any, Any, Array]:
        """Returns some states of a batch, with their actions and log probabilities."""
        real = np.flatnonzero(~batch.resets.reshape(-1))
        chosen = self._draw.choice(real, min(self.sync.sample, len(real)), replace=False)

        def flat(array: Array | Frames) -> Array:
            if isinstance(array, Frames):
                return array.rows(chosen)
            found: Array = array.reshape(-1, *array.shape[2:])[chosen]
            return found

        return (
            map_leaves(flat, batch.observations),
            map_leaves(flat, batch.actions),
            flat(batch.log_probs),
        )

    # --------------------------------------------------------------------------------- state --

    def _open(self) -> WorkerGroup:
        if self._group is None:
            raise ClosedError("the rollouts are closed: make new ones")
        if os.getpid() != self._pid:
            raise ForkedError(
                f"rollouts in a forked process: their workers belong to process {self._pid}: make"
                " new ones here"
            )
        self._group.session.check()
        return self._group

    def trace(self, path: Any = None, **options: Any) -> NoReturn:
        """Raises NotImplementedError: what to trace is in other processes."""
        raise NotImplementedError(NO_TRACE)

    def close(self) -> None:
        """Ends the workers."""
        if self._group is not None and os.getpid() == self._pid:
            self._group.close()
            self._group = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


# steps of a batch: a mistake, such as the steps of a whole training, is refused at once
MAX_STEPS = 10**6

# fields of a batch that are arrays, and copied out of Ray's memory, which is read-only
ARRAYS = (
    *("observations", "actions", "log_probs", "extras", "rewards", "terminations", "truncations"),
    *("resets", "last_observations"),
)


def _equal(one: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    """Returns whether two policies have the same weights, bit by bit."""
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )
