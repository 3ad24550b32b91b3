"""Worker: what runs in one actor, a vector environment with some of the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from parallel_pool._apis.cluster import numbers
from parallel_pool._apis.gymnasium.local_backends import make_local
from parallel_pool._engine import registry
from parallel_pool._engine.cores import limit_cores
from parallel_pool._engine.env_errors import env_error_of
from parallel_pool._engine.registry import Origin
from parallel_pool._workers.data.messages import Failure
from parallel_pool._workers.start import affinity

NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True)
class Task:
    """What a worker makes.

    Attributes:
        env: an id, an EnvSpec, or functions that make environments.
        num_envs: rows; None for as many as there are functions.
        wrappers: of each environment.
        options: of the vector environment and of the environments.
        cores: that the worker may keep busy.
        rank: number of the worker on its node, for the choice of a NUMA node.
        first: number of its first environment, for messages.
        origins: of the native environments that the program has loaded.
    """

    env: Any
    num_envs: int | None
    wrappers: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    cores: int = 1
    rank: int = 0
    first: int = 0
    origins: Sequence[Origin] = field(default_factory=registry.origins)


@dataclass(frozen=True)
class Description:
    """What a worker reports of its environments once it has made them."""

    observation_space: Any
    action_space: Any
    metadata: dict[str, Any]
    render_mode: str | None
    backend: str
    backend_reason: str
    pid: int
    node: str


@dataclass(frozen=True)
class Raised:
    """An exception in a worker.

    Attributes:
        failure: the exception.
        env_ids: rows whose environments failed, counted from the worker's first; None if the
            exception says nothing of environments.
    """

    failure: Failure
    env_ids: tuple[int, ...] | None


class Worker:
    """The vector environment of one actor. Every call returns a result or a `Raised`.

    So an exception that the caller gets from Ray itself says that the actor was lost.

    Attributes:
        envs: the vector environment; None before `open`.
    """

    def __init__(self) -> None:
        self.envs: Any = None
        # the last observations, for resets that leave all rows out
        self._last: Any = None
        self._first = 0

    def do(self, method: str, *arguments: Any) -> Any:
        """Returns the result of a method, or what it raised."""
        try:
            return getattr(self, method)(*arguments)
        except BaseException as error:
            failed = env_error_of(error)
            env_ids = None if failed is None else failed.env_ids
            numbers.shift_error(error, self._first)
            return Raised(Failure.of(error, cloudpickle.dumps), env_ids)

    def node(self) -> str:
        """Returns the id of the node that it runs on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def open(self, task: Task) -> Description:
        """Makes the environments."""
        self._first = task.first
        numbers.shift_warnings(task.first)
        limit_cores(task.cores)
        use_numa_node(task.rank)
        registry.remember(task.origins)
        envs = make_local(task.env, task.num_envs, wrappers=task.wrappers, **task.options)
        self.envs = envs
        return Description(
            envs.single_observation_space,
            envs.single_action_space,
            dict(envs.metadata),
            envs.render_mode,
            envs.backend,
            envs.backend_reason,
            os.getpid(),
            self.node(),
        )

    def reset(self, seed: Sequence[int | None] | None, options: dict[str, Any] | None) -> Any:
        """Resets environments; with a mask that names none it repeats the last observations."""
        mask = (options or {}).get("reset_mask")
        if mask is not None and not mask.any():
            return self._last, {}
        observations, infos = self.envs.reset(seed=seed, options=options)
        self._last = observations
        return observations, infos

    def step(self, actions: Any) -> Any:
        result = self.envs.step(actions)
        self._last = result[0]
        return result

    def call(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        return self.envs.call(name, *arguments, **keywords)

    def set_attr(self, name: str, values: Sequence[Any]) -> None:
        self.envs.set_attr(name, list(values))

    def get_state(self, env_ids: Sequence[int]) -> list[bytes]:
        return list(self.envs.pool.get_state(env_ids))

    def set_state(self, states: Sequence[bytes], env_ids: Sequence[int]) -> list[bool]:
        """Restores snapshots; returns which environments must be reset before a step."""
        if self._last is None:
            # only then may the environments be stepped
            self._last, _ = self.envs.reset()
        pool = self.envs.pool
        pool.set_state(states, env_ids)
        if self.envs.backend == "native":
            self._last = self.envs._present_observations()
        # other pools than those of threads refuse such a step themselves
        needs_reset = getattr(pool, "needs_reset", lambda env_id: False)
        return [needs_reset(env_id) for env_id in env_ids]


def use_numa_node(rank: int, nodes: Path = NODES) -> None:
    """Restricts this process to the cores of one NUMA node, if the machine has several.

    Workers of one machine take one node after another.
    """
    allowed = affinity.allowed_cores()
    found = [
        own
        for path in sorted(nodes.glob("node[0-9]*/cpulist"), key=_number)
        if (own := _numbers(path.read_text()) & allowed)
    ]
    if len(found) > 1:
        affinity.restrict(found[rank % len(found)])


def _number(path: Path) -> int:
    return int(path.parent.name.removeprefix("node"))


def _numbers(text: str) -> set[int]:
    """Returns the numbers of a list in the kernel's format, such as "0-3,8"."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found
