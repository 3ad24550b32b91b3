"""Makes Stable-Baselines3 refuse pools that are a `gymnasium.Env`, which it takes for one.

Every algorithm, `evaluate_policy` and `make_vec_env` put what is no VecEnv into a DummyVecEnv, so
its constructor is the one place where a pool, wrapped or not, can be seen.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

MODULE = "stable_baselines3.common.vec_env.dummy_vec_env"

# how our constructor is told from Stable-Baselines3's: it remembers it here
ORIGINAL = "_parallel_pool_original"


def install(pools: type[Any]) -> None:
    """Teaches DummyVecEnv to refuse instances of this class; its module is imported."""
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
    """Returns a function that makes the same environment, and refuses pools."""

    @functools.wraps(make)
    def checked() -> Any:
        env = make()
        pool: Any = getattr(env, "unwrapped", None)
        if isinstance(pool, pools):
            raise TypeError(
                f"a pool returns batches, here of {len(pool)} environments, and Stable-Baselines3"
                f" would take it for one environment: use"
                f" parallel_pool.PoolVecEnv({pool.spec.id!r}, {len(pool)})"
            )
        return env

    return checked
