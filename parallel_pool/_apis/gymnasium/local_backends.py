"""Makes the vector environments of this machine: native, or in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.common import env_specs
from parallel_pool._apis.common.vector_options import DEFAULTS
from parallel_pool._apis.gymnasium.backends import (
    CLUSTER,
    PROCESS,
    Choice,
    chosen,
    env_fns_of,
    process_class,
    process_options,
)
from parallel_pool._engine.arguments import MAX_ENVS, check_count, check_memory, one_of, quote

if TYPE_CHECKING:
    from parallel_pool._apis.gymnasium.native_vector_env import NativeVectorEnv
    from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv

# least memory of an environment from gymnasium.make: "FrozenLake-v1" takes 20 KB
PYTHON_ENV_BYTES = 16 * 1024


def make_local(
    env: Any,
    num_envs: int | None = None,
    *,
    env_fns: Any = None,
    wrappers: Any = None,
    **given: Any,
) -> NativeVectorEnv | ProcessVectorEnv:
    """Makes native environments, or Python environments in worker processes.

    Args:
        env: as for `choose`, or a choice.
        num_envs, env_fns, wrappers, given: as for `PoolVectorEnv`.

    Raises:
        ValueError: the backend is "cluster"; and what `PoolVectorEnv` raises.
    """
    choice = chosen(one_of(env=env, env_fns=env_fns), wrappers, given)
    if choice.backend == CLUSTER:
        raise ValueError(f"{choice.reason}, and it is not of this machine: choose another")
    if choice.backend == PROCESS:
        return _make_processes(choice, num_envs, wrappers, given)
    # imported only when needed: it imports the thread pool
    from parallel_pool._apis.gymnasium.native_vector_env import NativeVectorEnv

    return NativeVectorEnv(choice, num_envs, wrappers=wrappers, **given)


def _make_processes(
    choice: Choice, num_envs: int | None, wrappers: Any, given: Mapping[str, Any]
) -> ProcessVectorEnv:
    """Makes the environments of a choice in worker processes.

    Args:
        choice: whose backend is "process".
        num_envs: environments; None for one per function, or for 1.
        wrappers: as for `choose`.
        given: options of the environments and of the vector environment in one dict.

    Returns:
        The `ProcessVectorEnv`, with its `backend` and `backend_reason`, and `spec` if there is one.

    Raises:
        TypeError: an option is unknown.
        ValueError: there is no Python environment to make.
    """
    kind = process_class()
    taken = process_options()
    of_spec = {} if choice.spec is None else choice.spec.kwargs
    everything = {**of_spec, **given, **(choice.vector_kwargs or {})}
    vector = {name: value for name, value in everything.items() if name in taken}
    options = {name: value for name, value in everything.items() if name not in taken}
    _drop_native_options(choice, options)
    if choice.spec is None:
        env = kind(_check_num_envs(choice.env_fns, num_envs, options), **vector)
    else:
        count = choice.num_envs or (1 if num_envs is None else num_envs)
        count = check_count("num_envs", count, 1, MAX_ENVS)
        check_memory(count, PYTHON_ENV_BYTES, "Python environments")
        wrappers = wrappers if choice.wrappers is None else choice.wrappers
        env = kind(env_fns_of(choice, options, wrappers, count), **vector)
        vector_arguments = {
            name: everything[name] for name in everything if name in taken | {"backend"}
        }
        env.spec = env_specs.vector_spec(choice.spec, count, options, vector_arguments, wrappers)
    env.backend, env.backend_reason = PROCESS, choice.reason
    return env


def _drop_native_options(choice: Choice, options: dict[str, Any]) -> None:
    """Removes options of native environments; raises TypeError for one that is not the default."""
    for name in DEFAULTS.keys() & options.keys():
        value = options.pop(name)
        if name != "backend" and value != DEFAULTS[name]:
            raise TypeError(
                f"{name}={quote(value)} is for native environments, but {choice.reason}: leave it"
                " out"
            )


def _check_num_envs(
    env_fns: tuple[Callable[[], Any], ...], num_envs: int | None, options: Mapping[str, Any]
) -> tuple[Callable[[], Any], ...]:
    """Returns the functions; refuses options, and another number of environments."""
    if options:
        raise TypeError(
            f"{', '.join(options)}: functions that make environments take no options: leave them"
            " out, or give the environments' id; the vector environment's own options are"
            f" {', '.join(sorted(process_options()))}"
        )
    if num_envs is not None and num_envs != len(env_fns):
        raise ValueError(
            f"num_envs={num_envs}, but there are {len(env_fns)} functions: leave num_envs out"
        )
    return env_fns
