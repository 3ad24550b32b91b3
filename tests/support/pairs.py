"""Pairs of a Gymnasium vector environment and ours, made by the same call and compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv


@contextmanager
def pair(id: str, num_envs: int, **kwargs: Any) -> Iterator[tuple[VectorEnv, VectorEnv]]:
    """Makes both with Gymnasium's make_vec, without warnings, and closes them."""
    with warnings.catch_warnings():
        # some ids are deprecated, and some states and actions are outside the space on purpose
        warnings.simplefilter("ignore")
        theirs = gymnasium.make_vec(id, num_envs, vectorization_mode="sync", **kwargs)
        try:
            ours = gymnasium.make_vec(id, num_envs, vectorization_mode="parallel_pool", **kwargs)
            try:
                names = [type(env).__name__ for env in (theirs, ours)]
                assert names == ["SyncVectorEnv", "NativeVectorEnv"]
                yield theirs, ours
            finally:
                ours.close()
        finally:
            theirs.close()
