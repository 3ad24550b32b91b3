"""Comparison of results of environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def assert_same(actual: Any, expected: Any, where: str, *, ordered: bool = True) -> None:
    """Fails unless types, dtypes, shapes and bits are the same, at any depth.

    So does the order of keys, unless `ordered` is False.
    """
    assert type(actual) is type(expected), where
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        assert not ordered or list(actual) == list(expected), f"{where}: keys are in another order"
        for key in expected:
            assert_same(actual[key], expected[key], f"{where}[{key!r}]", ordered=ordered)
    elif isinstance(expected, tuple | list):
        assert len(actual) == len(expected), where
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            assert_same(one, other, f"{where}[{i}]", ordered=ordered)
    elif isinstance(expected, np.ndarray):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), where
        if expected.dtype == object:
            assert_same(actual.tolist(), expected.tolist(), where, ordered=ordered)
        elif actual.tobytes() != expected.tobytes():
            np.testing.assert_array_equal(actual, expected, where)
            raise AssertionError(f"{where}: signs of zero or NaN differ: {actual} {expected}")
    else:
        assert actual == expected, where


def leaves(value: Any) -> Iterator[Any]:
    """Yields the arrays in a result, at any depth."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
