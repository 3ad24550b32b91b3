"""mosaic() puts pictures into rows and columns, and refuses what it can't put there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine.pictures import GAP, mosaic


def pictures(count: int, height: int = 4, width: int = 6) -> Any:
    """Returns pictures of one colour each: the picture's index + 1."""
    ones = np.ones((count, height, width, 3), np.uint8)
    return ones * np.arange(1, count + 1, dtype=np.uint8)[:, None, None, None]


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 7])
def test_pictures_fill_rows_from_left_to_right(columns: int) -> None:
    shown = pictures(5)
    whole = mosaic(list(shown), columns=columns)
    rows = -(-5 // columns)
    assert whole.shape == (rows * (4 + GAP) - GAP, columns * (6 + GAP) - GAP, 3)
    for i in range(5):
        top, left = i // columns * (4 + GAP), i % columns * (6 + GAP)
        whole[top : top + 4, left : left + 6] -= shown[i]
    # the rest is black
    assert not whole.any()


def test_a_mosaic_is_about_as_wide_as_high() -> None:
    assert mosaic(pictures(1)).shape == (4, 6, 3)
    assert mosaic(pictures(16, 210, 160)).shape[:2] == (4 * 212 - 2, 5 * 162 - 2)
    # at most one column per picture
    assert mosaic(pictures(2, 100, 1)).shape[:2] == (100, 1 + GAP + 1)


def test_wrong_pictures_are_refused() -> None:
    with pytest.raises(ValueError, match="no pictures"):
        mosaic([])
    with pytest.raises(TypeError, match=r"dtype float64 and shape \(2, 2, 3\)"):
        mosaic(np.zeros((1, 2, 2, 3)))
    with pytest.raises(TypeError, match=r"shape \(2, 2\)"):
        mosaic(np.zeros((1, 2, 2), np.uint8))
    with pytest.raises(ValueError, match=r"shape \(4, 0, 3\): give 1 or more pixels"):
        mosaic(np.zeros((2, 4, 0, 3), np.uint8))
    with pytest.raises(ValueError, match="one size"):
        mosaic([pictures(1)[0], pictures(1, 5)[0]])
    with pytest.raises(ValueError, match="columns=0"):
        mosaic(pictures(1), columns=0)


def test_rendered_pictures_of_a_pool_are_accepted() -> None:
    with parallel_pool.Pool("Pong-v5", 3, seed=0) as pool:
        pool.reset()
        pool.step([0, 1, 2])
        drawn = pool.render()
    assert parallel_pool.mosaic(drawn, columns=3).shape == (210, 3 * 162 - 2, 3)
