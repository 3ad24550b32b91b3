"""make_vec: vector environments by the call that makes Gymnasium's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    """Makes a vector environment as gymnasium.make_vec would.

    Args:
        id: an id, native or Gymnasium's, or the spec of either.
        num_envs: environments.
        vector_kwargs: options of the vector environment, such as autoreset_mode, num_threads and
            backend; they may also stand among kwargs.
        wrappers: of one environment each, the innermost first. Those that native environments do
            themselves are named in PoolVectorEnv.
        kwargs: options of the environments, render_mode and max_episode_steps; see PoolVectorEnv.

    Raises:
        TypeError, ValueError: an argument is wrong, or no backend makes such environments.
        gymnasium.error.UnregisteredEnv: nobody knows the id.
    """
    spec = env_specs.find(id)
    stored = env_specs.unfold(spec)
    # what a spec says holds, as in Gymnasium
    num_envs = stored.num_envs or num_envs
    vector_kwargs = (vector_kwargs or {}) if stored.vector_kwargs is None else stored.vector_kwargs
    if not isinstance(vector_kwargs, Mapping):
        raise TypeError(
            f"vector_kwargs={vector_kwargs!r} is a {type(vector_kwargs).__name__}: give a dict"
        )
    wrappers = wrappers if stored.wrappers is None else stored.wrappers
    for name in kwargs.keys() & DEFAULTS.keys():
        if name in vector_kwargs:
            raise TypeError(f"{name} stands in vector_kwargs and beside them: give it once")
        vector_kwargs = {**vector_kwargs, name: kwargs.pop(name)}
    kwargs = {**spec.kwargs, **kwargs}
    spec.kwargs = {}
    env = PoolVectorEnv(spec, num_envs, wrappers=wrappers, **vector_kwargs, **kwargs)
    env.spec = env_specs.describe(spec, num_envs, kwargs, vector_kwargs, wrappers)
    return env
