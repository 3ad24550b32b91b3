"""make_vec: native environments by the call that makes Gymnasium's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool.compat import env_specs
from parallel_pool.compat.gymnasium import PoolVectorEnv

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
    """Makes native environments as gymnasium.make_vec would.

    Args:
        id: a native id, one of Gymnasium's that is native, or the spec of either.
        num_envs: environments.
        vector_kwargs: options of the vector environment, such as autoreset_mode and num_threads;
            they may also stand among kwargs.
        wrappers: must be none: they need Python environments.
        kwargs: options of the environments, render_mode and max_episode_steps; see PoolVectorEnv.

    Raises:
        TypeError, ValueError: an argument is wrong, or the environment is not native.
        gymnasium.error.UnregisteredEnv: nobody knows the id.
    """
    spec = env_specs.find(id)
    stored = env_specs.unfold(spec)
    # what a spec says holds, as in Gymnasium
    num_envs = stored.num_envs or num_envs
    vector_kwargs = (vector_kwargs or {}) if stored.vector_kwargs is None else stored.vector_kwargs
    env_specs.refuse_wrappers(wrappers if stored.wrappers is None else stored.wrappers)
    kwargs = {**spec.kwargs, **kwargs}
    spec.kwargs = {}
    # there is nothing to check: actions and options are checked always
    options = {name: value for name, value in kwargs.items() if name != "disable_env_checker"}
    env = PoolVectorEnv(spec, num_envs, **vector_kwargs, **options)
    env.spec = env_specs.describe(spec, num_envs, kwargs, vector_kwargs)
    return env
