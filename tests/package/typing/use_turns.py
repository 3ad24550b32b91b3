"""A policy and its environments in turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_type

import parallel_pool
from parallel_pool.turns import PolicyLoop, Turn


def make(rows: range) -> Any:
    return parallel_pool.make_vec("CartPole-v1", len(rows))


with PolicyLoop(make, 8, lambda observations: observations, depth=2) as loop:
    loop.reset(seed=[1, None] * 4, options={}, only_failed=True)
    assert_type(loop.depth, int)
    assert_type(loop.gain, float | None)
    assert_type(loop.rows, slice)
    assert_type(loop.closed, bool)
    turns = loop.play(3)
    assert_type(turns, Iterator[Turn])
    for turn in turns:
        assert_type(turn.rows, slice)
        assert_type(turn.extras, Mapping[str, Any])
        turn.rewards.sum()
PolicyLoop(make, 8, lambda observations: (observations, {"values": observations}))
