"""csrc/base/random.h gives NumPy's numbers and ends in NumPy's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.c_library import compile_c

SOURCE = """
#include "base/random.h"
void seed(pp_rng *rng, const uint32_t *words, int32_t n) { pp_rng_seed(rng, words, n); }
uint64_t next64(pp_rng *rng) { return pp_rng_next64(rng); }
uint32_t next32(pp_rng *rng) { return pp_rng_next32(rng); }
double next_double(pp_rng *rng) { return pp_rng_double(rng); }
double uniform(pp_rng *rng, double a, double b) { return pp_rng_uniform(rng, a, b); }
int64_t integers(pp_rng *rng, int64_t a, int64_t b) { return pp_rng_integers(rng, a, b); }
"""
PROTOTYPES = """
void seed(pp_rng *rng, const uint32_t *words, int32_t n);
uint64_t next64(pp_rng *rng);
uint32_t next32(pp_rng *rng);
double next_double(pp_rng *rng);
double uniform(pp_rng *rng, double a, double b);
int64_t integers(pp_rng *rng, int64_t a, int64_t b);
"""
SEEDS = [
    0,
    1,
    7,
    2**31,
    2**32 - 1,
    2**32,
    2**64 + 5,
    2**127 + 9,
    2**128 - 1,
    2**128,
    3**200,
    7**999,
]
INT64 = np.iinfo(np.int64)

Start = Callable[[int], tuple[Any, np.random.Generator]]


def words_of(seed: int) -> list[int]:
    """The 32-bit digits of a seed, lowest first; 0 has one digit."""
    digits = []
    while seed or not digits:
        digits.append(seed & 0xFFFFFFFF)
        seed >>= 32
    return digits


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return compile_c(tmp_path_factory.mktemp("random"), SOURCE, PROTOTYPES)


@pytest.fixture
def start(native: tuple[Any, Any]) -> Start:
    """Makes our generator and NumPy's from one seed."""
    ffi, lib = native

    def make(seed: int) -> tuple[Any, np.random.Generator]:
        rng = ffi.new("pp_rng *")
        words = words_of(seed)
        lib.seed(rng, ffi.new("uint32_t[]", words), len(words))
        return rng, np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))

    return make


def assert_same_state(ours: Any, theirs: np.random.Generator) -> None:
    expected = theirs.bit_generator.state
    assert (ours.state_high << 64 | ours.state_low) == expected["state"]["state"]
    assert (ours.inc_high << 64 | ours.inc_low) == expected["state"]["inc"]
    assert ours.has_uint32 == expected["has_uint32"]
    if ours.has_uint32:
        assert ours.uinteger == expected["uinteger"]


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_give_numpys_state(start: Start, seed: int) -> None:
    assert_same_state(*start(seed))


def test_random_seeds_give_numpys_state(start: Start) -> None:
    for seed in np.random.default_rng(0).integers(0, 2**63, 500):
        assert_same_state(*start(int(seed)))


def test_raw_bits_are_numpys(native: tuple[Any, Any], start: Start) -> None:
    _, lib = native
    ours, theirs = start(5)
    assert [lib.next64(ours) for _ in range(500)] == theirs.bit_generator.random_raw(500).tolist()
    assert_same_state(ours, theirs)


def test_the_other_half_of_a_32_bit_draw_is_kept(native: tuple[Any, Any], start: Start) -> None:
    """32-bit draws take the low half first; a 64-bit draw between them leaves the other half."""
    _, lib = native
    ours, theirs = start(11)
    for round in range(500):
        # the whole 32-bit range at once is a plain 32-bit draw
        assert lib.next32(ours) == theirs.integers(0, 2**32, dtype=np.uint32)
        if round % 3 == 0:
            assert lib.next_double(ours) == theirs.random()
        assert_same_state(ours, theirs)


@pytest.mark.parametrize("bounds", [(0, 1), (-0.05, 0.05), (3, 3), (-1e300, 1e299), (-3.7, 1e-9)])
def test_uniform_numbers_are_numpys(
    native: tuple[Any, Any], start: Start, bounds: tuple[float, float]
) -> None:
    _, lib = native
    ours, theirs = start(3)
    assert [lib.uniform(ours, *bounds) for _ in range(1000)] == theirs.uniform(
        *bounds, 1000
    ).tolist()
    assert_same_state(ours, theirs)


@pytest.mark.parametrize(
    "bounds",
    [
        (0, 1),
        (0, 2),
        (-5, 6),
        (0, 1000),
        (0, 3 * 2**30),  # about a quarter of the draws are rejected
        (0, 2**32 - 1),
        (0, 2**32),
        (-7, 2**32 - 6),
        (0, 2**32 + 1),
        (0, 3 * 2**61),
        (INT64.min, INT64.max),
        (INT64.min, -1),
        (INT64.max - 1, INT64.max),
    ],
)
def test_integers_are_numpys(
    native: tuple[Any, Any], start: Start, bounds: tuple[int, int]
) -> None:
    _, lib = native
    ours, theirs = start(9)
    for _ in range(400):
        assert lib.integers(ours, *bounds) == theirs.integers(*bounds)
    assert_same_state(ours, theirs)


def test_mixed_draws_are_numpys(native: tuple[Any, Any], start: Start) -> None:
    _, lib = native
    ours, theirs = start(2**70)
    for round in range(300):
        assert lib.integers(ours, 0, 1 + round) == theirs.integers(0, 1 + round)
        assert lib.uniform(ours, -round, round) == theirs.uniform(-round, round)
        assert lib.integers(ours, -(2**40), 2**40) == theirs.integers(-(2**40), 2**40)
    assert_same_state(ours, theirs)
