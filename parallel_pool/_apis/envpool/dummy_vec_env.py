"""Makes Stable-Baselines3's DummyVecEnv refuse EnvPool pools.

Such a pool is a `gymnasium.Env` by type, so Stable-Baselines3 would treat its batches as one
environment. Every algorithm, `evaluate_policy` and `make_vec_env` wrap an environment that is not a
VecEnv in a DummyVecEnv, so its constructor sees every pool, wrapped or not.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

MODULE = "stable_baselines3.common.vec_env.dummy_vec_env"

# attribute of our constructor that holds Stable-Baselines3's, and marks ours as installed
ORIGINAL = "_parallel_pool_original"


def install(pools: type[Any]) -> None:
    """Makes DummyVecEnv refuse instances of a class; its module must be imported already."""
    dummy_vec_env: Any = sys.modules[MODULE].DummyVecEnv
    original = dummy_vec_env.__init__
    if hasattr(original, ORIGINAL):
        return

    @functools.wraps(original)
    def init(self: Any, env_fns: Iterable[Callable[[], Any]], *args: Any, **kwargs: Any) -> None:
        original(self, [_checked(make, pools) for make in env_fns], *args, **kwargs)

    setattr(init, ORIGINAL, original)
    dummy_vec_env.__init__ = init


def _checked(make: Callable[[], Any], pools: type[Any]) -> Callable[[], Any]:
    """Returns a function that makes the same environment, and raises TypeError if it is a pool."""

    @functools.wraps(make)
    def checked() -> Any:
        env = make()
        pool: Any = getattr(env, "unwrapped", None)
        if isinstance(pool, pools):
            raise TypeError(
                f"a pool returns batches, here of {len(pool)} environments, and Stable-Baselines3"
                f" would treat it as one environment: use"
                f" parallel_pool.PoolVecEnv({pool.spec.id!r}, {len(pool)})"
            )
        return env

    return checked
