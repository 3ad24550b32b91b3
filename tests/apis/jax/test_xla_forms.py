"""The form of results that `xla` returns: that of what it was given, also of one pool's two."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool.compat.jax import xla


def made(kind: str) -> Any:
    if kind == "vector":
        return parallel_pool.make_vec("CartPole-v1", 3, backend="native")
    return parallel_pool.make_gymnasium("CartPole-v1", num_envs=3)


@pytest.mark.parametrize("first", ["pool", "facade"])
@pytest.mark.parametrize("kind", ["vector", "envpool"])
def test_a_pool_and_what_is_built_on_it_have_their_own_results(kind: str, first: str) -> None:
    with closing(made(kind)) as envs:
        each = [envs.pool, envs]
        for one in each if first == "pool" else each[::-1]:
            functions = xla(one)
            assert xla(one)[1:] == functions[1:]
            handle, result = functions.reset(functions.handle, np.arange(3))
            shown = result.obs if one is envs.pool else result[0]
            assert shown.shape == (3, 4) and hasattr(result, "elapsed_step") == (one is envs.pool)
            _, result = functions.step(handle, np.zeros(3, np.int32))
            assert len(result) == (len(envs.pool.columns) if one is envs.pool else 5)


def test_pools_of_one_call_have_one_form() -> None:
    with (
        closing(made("vector")) as one,
        closing(made("vector")) as other,
        pytest.raises(ValueError, match="pool 1 differs from pool 0: choose the same class"),
    ):
        xla([one.pool, other])
