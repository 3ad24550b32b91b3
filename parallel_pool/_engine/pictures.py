"""mosaic: lays the pictures of several environments side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parallel_pool._engine.buffers import Array

# pixels between two pictures
GAP = 2


def mosaic(pictures: Sequence[Array] | Array, *, columns: int | None = None) -> Array:
    """Lays pictures side by side, row by row, with two black pixels between them.

    Args:
        pictures: RGB, uint8 (height, width, 3), all of one size: what `render` returns.
        columns: pictures in a row; None for a mosaic about as wide as high.

    Returns:
        One picture, uint8 (height, width, 3).

    Raises:
        TypeError: a picture has another dtype or number of axes.
        ValueError: there are no pictures, they differ in size, one is empty, or columns < 1.

    Example:
        >>> pictures = np.zeros((6, 40, 60, 3), np.uint8)
        >>> parallel_pool.mosaic(pictures, columns=3).shape
        (82, 184, 3)
    """
    arrays = [np.asarray(picture) for picture in pictures]
    if not arrays:
        raise ValueError("no pictures: give 1 or more")
    shape = arrays[0].shape
    for picture in arrays:
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise TypeError(
                f"a picture has dtype {picture.dtype} and shape {picture.shape}: give uint8"
                " (height, width, 3)"
            )
        if not picture.size:
            raise ValueError(f"a picture has shape {picture.shape}: give 1 or more pixels")
        if picture.shape != shape:
            raise ValueError(f"pictures of shapes {shape} and {picture.shape}: give one size")
    height, width, _ = shape
    if columns is None:
        columns = min(len(arrays), max(1, round(math.sqrt(len(arrays) * height / width))))
    if columns < 1:
        raise ValueError(f"columns={columns}: choose 1 or more")
    rows = math.ceil(len(arrays) / columns)
    whole = np.zeros((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), np.uint8)
    for i, picture in enumerate(arrays):
        top, left = i // columns * (height + GAP), i % columns * (width + GAP)
        whole[top : top + height, left : left + width] = picture
    return whole
