"""Dtypes of `make_gymnax`'s results: those of `jax_enable_x64` where they are used."""

from __future__ import annotations

from contextlib import closing

import jax
import numpy as np
import pytest

from parallel_pool.compat.jax import make_gymnax


@pytest.mark.quick(1)
@pytest.mark.parametrize("made_wide", [False, True])
def test_dtypes_are_those_of_where_it_is_used(made_wide: bool) -> None:
    with jax.enable_x64(made_wide):
        env, params = make_gymnax("CliffWalking-v1", num_envs=1, infos=True)
    key = jax.random.key(0)
    with closing(env):
        for is_wide in (True, False, True):
            with jax.enable_x64(is_wide):
                first, state = env.reset(key, params)
                observation, _, _, _, infos = env.step(key, state, 0, params)
                expected = (np.int64, np.float64) if is_wide else (np.int32, np.float32)
                assert (first.dtype, infos["prob"].dtype) == expected
                assert observation.dtype == first.dtype and int(first) == 36
