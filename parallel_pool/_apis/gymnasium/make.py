"""Makes vector environments of all backends: make_vec, and what PoolVectorEnv calls."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from parallel_pool._apis.common import env_specs
from parallel_pool._apis.common.vector_options import DEFAULTS
from parallel_pool._apis.gymnasium import backends
from parallel_pool._apis.gymnasium.local_backends import make_local
from parallel_pool._apis.gymnasium.vector_env import ChoosesBackend
from parallel_pool._apis.gymnasium.vector_env import PoolVectorEnv as PoolVectorEnv
from parallel_pool._engine.arguments import a_type, one_of, quote

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._apis.cluster.vector_env import ClusterVectorEnv
    from parallel_pool._apis.gymnasium.backends import Choice
    from parallel_pool._apis.gymnasium.native_vector_env import NativeVectorEnv
    from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv


@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int = ...,
    *,
    backend: Literal["native", "compiled"],
    vector_kwargs: dict[str, Any] | None = ...,
    wrappers: Sequence[Callable[..., Any]] | None = ...,
    **kwargs: Any,
) -> NativeVectorEnv: ...


@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int = ...,
    *,
    backend: Literal["process"],
    vector_kwargs: dict[str, Any] | None = ...,
    wrappers: Sequence[Callable[..., Any]] | None = ...,
    **kwargs: Any,
) -> ProcessVectorEnv: ...


@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int = ...,
    *,
    backend: Literal["cluster"],
    vector_kwargs: dict[str, Any] | None = ...,
    wrappers: Sequence[Callable[..., Any]] | None = ...,
    **kwargs: Any,
) -> ClusterVectorEnv: ...


@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int = ...,
    *,
    backend: Literal["auto"] = ...,
    vector_kwargs: dict[str, Any] | None = ...,
    wrappers: Sequence[Callable[..., Any]] | None = ...,
    **kwargs: Any,
) -> NativeVectorEnv | ProcessVectorEnv: ...


def make_vec(
    id: str | EnvSpec,
    num_envs: int = 1,
    *,
    vector_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Callable[..., Any]] | None = None,
    **kwargs: Any,
) -> PoolVectorEnv:
    """Makes a vector environment with the arguments of gymnasium.make_vec.

    Args:
        id: an id, native or Gymnasium's, or an EnvSpec.
        num_envs: environments.
        vector_kwargs: options of the vector environment, such as autoreset_mode, num_threads and
            backend ("compiled" to translate a class in Python, "cluster" for a Ray cluster); they
            may also be given among kwargs.
        wrappers: functions that wrap one environment, the innermost first. `PoolVectorEnv` lists
            those that native environments replace.
        kwargs: options of the environments, render_mode and max_episode_steps; see PoolVectorEnv.

    Returns:
        A vector environment of the backend, native or in worker processes unless another was asked
        for; its `backend_reason` says why.

    Raises:
        TypeError, ValueError: an argument is wrong, or no backend can make such environments.
        gymnasium.error.UnregisteredEnv: there is no such id.
        MissingDependencyError: the environment needs a package that is not installed; with
            backend="compiled", there is no compiler.
        SourceError: with backend="compiled", the class can't be translated: the message names file,
            line, reason and cure.

    Example:
        >>> envs = parallel_pool.make_vec("CartPole-v1", 4)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, terminations, truncations, infos = envs.step([0, 1, 0, 1])
        >>> envs.backend, observations.shape, rewards.dtype
        ('native', (4, 4), dtype('float64'))
        >>> envs.close()
    """
    spec = env_specs.find(id)
    stored = env_specs.pop_vector_arguments(spec)
    # as in Gymnasium, a spec's kwargs win over arguments
    num_envs = stored.num_envs or num_envs
    vector_kwargs = (vector_kwargs or {}) if stored.vector_kwargs is None else stored.vector_kwargs
    if not isinstance(vector_kwargs, Mapping):
        raise TypeError(
            f"vector_kwargs={quote(vector_kwargs)} is {a_type(vector_kwargs)}: give a dict"
        )
    wrappers = wrappers if stored.wrappers is None else stored.wrappers
    for name in kwargs.keys() & DEFAULTS.keys():
        if name in vector_kwargs:
            raise TypeError(f"{name} is given twice, also in vector_kwargs: give it once")
        vector_kwargs = {**vector_kwargs, name: kwargs.pop(name)}
    kwargs = {**spec.kwargs, **kwargs}
    spec.kwargs = {}
    env = PoolVectorEnv(spec, num_envs, wrappers=wrappers, **vector_kwargs, **kwargs)
    env.spec = env_specs.vector_spec(spec, num_envs, kwargs, vector_kwargs, wrappers)
    return env


def make_vector_env(
    env: Any = None,
    num_envs: int | None = None,
    *rest: Any,
    env_fns: Any = None,
    wrappers: Any = None,
    **given: Any,
) -> NativeVectorEnv | ProcessVectorEnv | ClusterVectorEnv:
    """Makes what `PoolVectorEnv(...)` returns; for arguments and errors see there."""
    if rest:
        raise TypeError(
            f"PoolVectorEnv takes env and num_envs by position, and {quote(rest[0])} follows: give"
            " it by name"
        )
    choice = backends.chosen(one_of(env=env, env_fns=env_fns), wrappers, given)
    if choice.backend == backends.CLUSTER:
        return _make_cluster(choice, num_envs, wrappers, given)
    return make_local(choice, num_envs, wrappers=wrappers, **given)


ChoosesBackend.factory = staticmethod(make_vector_env)


def _make_cluster(
    choice: Choice, num_envs: int | None, wrappers: Any, given: Mapping[str, Any]
) -> ClusterVectorEnv:
    """Makes the environments of a choice on the machines of a cluster.

    Args:
        choice: whose backend is "cluster".
        num_envs, wrappers, given: as for `make_local`.

    Returns:
        The `ClusterVectorEnv`, with its `spec` if there is one.

    Raises:
        TypeError, ValueError: an argument is wrong.
        MissingDependencyError: Ray is not installed.
    """
    # imported only when needed, as Ray is
    from parallel_pool._apis.cluster.vector_env import ClusterVectorEnv

    of_spec = {} if choice.spec is None else choice.spec.kwargs
    everything = {**of_spec, **given, **(choice.vector_kwargs or {})}
    everything.pop("backend", None)
    wrappers = wrappers if choice.wrappers is None else choice.wrappers
    if choice.spec is None:
        made = ClusterVectorEnv(choice.env_fns, num_envs, wrappers=wrappers, **everything)
    else:
        spec = copy.deepcopy(choice.spec)
        spec.kwargs = {}
        count = choice.num_envs or num_envs
        made = ClusterVectorEnv(spec, count, wrappers=wrappers, **everything)
        of_vector = backends.parameter_names(ClusterVectorEnv) | DEFAULTS.keys()
        options = {name: value for name, value in everything.items() if name not in of_vector}
        vector_arguments = {name: value for name, value in everything.items() if name in of_vector}
        vector_arguments["backend"] = backends.CLUSTER
        made.spec = env_specs.vector_spec(
            choice.spec, made.num_envs, options, vector_arguments, wrappers
        )
    return made
