"""Options that `ClusterVectorEnv` and `Rollouts` share: checks them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from parallel_pool._engine.arguments import MAX_ENVS, a_type, check_count, is_number, one_of, quote

NO_TRACE = (
    "trace() of environments on a cluster, whose pools are in other processes: trace a"
    " PoolVectorEnv with the environments of one worker instead"
)


def check_choice_of_loss(on_worker_loss: Any) -> None:
    """Refuses anything but the two choices."""
    if on_worker_loss not in ("restart", "raise"):
        raise ValueError(f"on_worker_loss={quote(on_worker_loss)}: choose 'restart' or 'raise'")


def flag(name: str, value: Any) -> bool:
    """Returns a bool; raises TypeError that names it."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={quote(value)} is {a_type(value)}: give True or False")
    return bool(value)


def check_rule(sync: Any) -> None:
    """Raises TypeError unless `sync` is a rule: it says when a worker fetches a new policy."""
    if isinstance(sync, type) or not callable(getattr(sync, "wants", None)):
        raise TypeError(
            f"sync={quote(sync)} is no rule: give Every(n), Adaptive(threshold), or None"
        )
    check_count("sync.sample", getattr(sync, "sample", None), 0)


def check_mode(mode: AutoresetMode) -> None:
    """Raises ValueError unless it is NEXT_STEP, whose resets the batches of `Rollouts` mark."""
    if mode is not AutoresetMode.NEXT_STEP:
        raise ValueError(f"autoreset_mode={mode.name}: Rollouts have NEXT_STEP only: leave it out")


def checked_resources(resources: Any) -> dict[str, float]:
    """Returns the resources of an actor besides its cores.

    Raises:
        TypeError, ValueError: they are no dict of numbers above 0, or name cores.
    """
    if resources is None:
        return {}
    if not isinstance(resources, Mapping):
        raise TypeError(f"resources={quote(resources)}: give a dict, such as {{'simulator': 1}}")
    for name, need in resources.items():
        if not isinstance(name, str):
            raise TypeError(
                f"resources={quote(resources)} has the name {quote(name)}: give names as texts"
            )
        if name in ("CPU", "num_cpus"):
            raise ValueError(
                f"resources={quote(resources)} names cores: give cpus_per_worker instead"
            )
        if not is_number(need) or not need > 0:
            raise ValueError(
                f"resources={quote(resources)}: give a number above 0 for {quote(name)}"
            )
    return dict(resources)


def environments(
    env: Any, env_fns: Any, num_envs: int | None
) -> tuple[list[Callable[[], Any]] | None, int]:
    """Returns the functions, or None for an id, and the number of environments."""
    env = one_of(env=env, env_fns=env_fns)
    if env is None:
        raise TypeError("no environments: give an id, an EnvSpec, or functions that make them")
    if isinstance(env, str | EnvSpec):
        return None, check_count("num_envs", 1 if num_envs is None else num_envs, 1, MAX_ENVS)
    if callable(env):
        count = check_count("num_envs", 1 if num_envs is None else num_envs, 1, MAX_ENVS)
        return [env] * count, count
    functions = list(env)
    check_count("the number of functions", len(functions), 1, MAX_ENVS)
    if num_envs is not None and num_envs != len(functions):
        raise ValueError(
            f"num_envs={num_envs}, but there are {len(functions)} functions: leave num_envs out"
        )
    return functions, len(functions)


def slices(count: int, parts: int) -> list[slice]:
    """Returns the rows of each part; the first ones have one more if they do not divide evenly."""
    size, more = divmod(count, parts)
    starts = [i * size + min(i, more) for i in range(parts + 1)]
    return [slice(*pair) for pair in itertools.pairwise(starts)]


def seconds(name: str, value: Any) -> float:
    """Returns a number of seconds above 0; raises TypeError or ValueError that names it."""
    if not is_number(value):
        raise TypeError(f"{name}={quote(value)} is {a_type(value)}: give seconds")
    if not 0 < value < math.inf:
        raise ValueError(f"{name}={quote(value)}: choose seconds above 0")
    return float(value)
