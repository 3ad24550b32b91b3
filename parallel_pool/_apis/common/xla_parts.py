"""xla_parts: what compiled programs need to know of environments; the module of each class says."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool

# returns what the user sees of a batch: arrays by column, None if not asked for before
Convert = Callable[[Any], Any]


@singledispatch
def xla_parts(envs: object) -> tuple[Pool, Convert, Convert]:
    """Returns the pool of environments, and how programs show steps and resets.

    The module of each class that programs can step registers a function for it.

    Raises:
        TypeError: programs can't step environments of this class.
        ValueError: these environments do in Python what a program can't.
    """
    raise TypeError(
        f"{type(envs).__name__}: give a Pool, a native PoolVectorEnv, or a pool of"
        " parallel_pool.make"
    )
