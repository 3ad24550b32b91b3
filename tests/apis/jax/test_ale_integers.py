"""Integers of 64 bits in programs of `AtariVectorEnv`: checked before JAX makes them 32."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from parallel_pool.compat.ale import AtariVectorEnv

WRAPS_TO_1 = 2**32 + 1


@pytest.mark.quick(1)
@pytest.mark.parametrize("make", [np.array, list], ids=["array", "list"])
def test_an_action_that_would_wrap_is_refused(make: Any) -> None:
    with closing(AtariVectorEnv("pong", 2)) as envs:
        handle, reset, step = envs.xla()
        handle, _ = reset(handle, seed=0)
        with pytest.raises(ValueError, match=f"action {WRAPS_TO_1} of row 1 is outside its space"):
            step(handle, make([0, WRAPS_TO_1]))
        _, results = step(handle, make([0, 1]))
        assert results[1].shape == (2,)
