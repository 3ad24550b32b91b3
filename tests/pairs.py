"""Gymnasium's environments and ours, made by the same call, to be compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv


@contextmanager
def pair(id: str, num_envs: int, **kwargs: Any) -> Iterator[tuple[VectorEnv, VectorEnv]]:
    """Makes both by Gymnasium's make_vec, and closes them; nobody warns meanwhile."""
    with warnings.catch_warnings():
        # some ids are out of date, and states and actions outside the space are wanted
        warnings.simplefilter("ignore")
        theirs = gymnasium.make_vec(id, num_envs, vectorization_mode="sync", **kwargs)
        try:
            ours = gymnasium.make_vec(id, num_envs, vectorization_mode="parallel_pool", **kwargs)
            try:
                names = [type(env).__name__ for env in (theirs, ours)]
                assert names == ["SyncVectorEnv", "PoolVectorEnv"]
                yield theirs, ours
            finally:
                ours.close()
        finally:
            theirs.close()
