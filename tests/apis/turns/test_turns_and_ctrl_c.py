"""Ctrl-C at every place where Python looks for it, in the code that passes turns on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

import parallel_pool
from parallel_pool._apis.turns import chunk, policy_loop
from parallel_pool.turns import PolicyLoop, Turn
from tests.support.same import assert_same

FILES = {chunk.__file__, policy_loop.__file__}
N, STEPS = 5, 3


@contextmanager
def interrupted(count: int) -> Iterator[list[int]]:
    """Raises KeyboardInterrupt at one of the calls of these files, of which there are `count`
    before it: Python looks for signals where a function begins, and after a call of C."""
    seen: list[int] = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        caller = frame.f_back if event == "call" else frame
        is_ours = caller is not None and caller.f_code.co_filename in FILES
        if is_ours and event in ("call", "c_return"):
            seen.append(1)
            if len(seen) == count + 1:
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def balance(observations: Any) -> Any:
    return (observations[:, 2] > 0).astype(np.int64)


def make(rows: range) -> Any:
    return parallel_pool.make_vec("CartPole-v1", len(rows), backend="native")


def played(count: int) -> tuple[list[Turn], bool]:
    """Returns the turns of some steps, and whether Ctrl-C came."""
    found: list[Turn] = []
    with PolicyLoop(make, N, balance, depth=2) as loop:
        loop.reset(seed=3)
        turns = loop.play(STEPS)
        is_cut = False
        try:
            with interrupted(count):
                for turn in turns:
                    found.append(turn)
        except KeyboardInterrupt:
            is_cut = True
        while len(found) < 2 * STEPS:
            found += loop.play(1)
    return found, is_cut


def test_ctrl_c_loses_no_turn() -> None:
    def of_chunk(turns: list[Turn], first: int) -> list[Turn]:
        return [turn for turn in turns if turn.rows.start == first][:STEPS]

    expected, _ = played(10**9)
    count, is_cut = 0, True
    while is_cut:
        found, is_cut = played(count)
        for first in (0, 2):
            assert_same(of_chunk(found, first), of_chunk(expected, first), f"after {count} calls")
        count += 1
    assert count > 50
