"""make_vec: makes vector environments with the signature of gymnasium.make_vec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool.arguments import a_type, shown
from parallel_pool.compat import env_specs
from parallel_pool.compat.gymnasium.vector_env import PoolVectorEnv
from parallel_pool.compat.vector_options import DEFAULTS

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec


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
            backend ("cluster" for a Ray cluster); they may also be given among kwargs.
        wrappers: functions that wrap one environment, the innermost first. `PoolVectorEnv` lists
            those that native environments replace.
        kwargs: options of the environments, render_mode and max_episode_steps; see PoolVectorEnv.

    Returns:
        A vector environment, native or in worker processes; its `backend_reason` says why.

    Raises:
        TypeError, ValueError: an argument is wrong, or no backend can make such environments.
        gymnasium.error.UnregisteredEnv: there is no such id.
        MissingDependencyError: the environment needs a package that is not installed.
    """
    spec = env_specs.find(id)
    stored = env_specs.unfold(spec)
    # as in Gymnasium, a spec's kwargs win over arguments
    num_envs = stored.num_envs or num_envs
    vector_kwargs = (vector_kwargs or {}) if stored.vector_kwargs is None else stored.vector_kwargs
    if not isinstance(vector_kwargs, Mapping):
        raise TypeError(
            f"vector_kwargs={shown(vector_kwargs)} is {a_type(vector_kwargs)}: give a dict"
        )
    wrappers = wrappers if stored.wrappers is None else stored.wrappers
    for name in kwargs.keys() & DEFAULTS.keys():
        if name in vector_kwargs:
            raise TypeError(f"{name} is given twice, also in vector_kwargs: give it once")
        vector_kwargs = {**vector_kwargs, name: kwargs.pop(name)}
    kwargs = {**spec.kwargs, **kwargs}
    spec.kwargs = {}
    env = PoolVectorEnv(spec, num_envs, wrappers=wrappers, **vector_kwargs, **kwargs)
    env.spec = env_specs.describe(spec, num_envs, kwargs, vector_kwargs, wrappers)
    return env
