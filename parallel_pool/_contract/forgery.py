"""Forgery: snapshots of states that no environment had, with checksums that fit.

Anybody can make such bytes, because the checksum has no key. They must give an error or a state
that does no harm.
"""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool

# csrc/native/snapshot.c: bytes of the checksum and of the head, after which come the returns of all
# players; a plain state of so many bytes is packed
SUM_BYTES, HEAD_BYTES, PACKED_FROM = 8, 144, 4096
# csrc/base/pack.h: the head of a part (literal words, repeated words, distance), most words of one
PART, MAX_WORDS = struct.Struct("<HHI"), 2**16 - 1
# after so many forgeries comes one of another length
EVERY = 64

# What is often out of range: limits of integers, sizes, and floats that are no numbers. A value is
# cut to the bytes that it replaces.
INTEGERS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 31, 32, 41, 42, 63, 64, 99, 100, 127, 128),
    *(255, 256, 623, 624, 625, 999, 1000, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1),
    *(2**32 + 1, 2**40, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1),
)
FLOATS = (float("nan"), float("inf"), float("-inf"), -1.0, 1e-310, 1e18, -1e18)
LARGE_DOUBLES = (1e308, -1e308)


@dataclass(frozen=True)
class Forgery:
    """A forged snapshot.

    Attributes:
        snapshot: for `set_state`.
        what: what was changed.
    """

    snapshot: bytes
    what: str


# --------------------------------------------------------------------------------- checksums --


def sealed(snapshot: bytes | bytearray) -> bytes:
    """Returns a snapshot with a checksum that fits."""
    copy = bytearray(snapshot)
    lib.pp_snapshot_seal(ffi.from_buffer(copy), len(copy))
    return bytes(copy)


# ----------------------------------------------------------------------------------- packing --


# those of an environment are needed again for each of its snapshots that is forged
@functools.lru_cache(maxsize=8)
def unpacked(packed: bytes) -> bytes:
    """Returns the bytes of a packed state."""
    out, at = bytearray(), 0
    while True:
        literals, repeated, distance = PART.unpack_from(packed, at)
        at += PART.size
        out += packed[at : at + 8 * literals]
        at += 8 * literals
        if repeated:
            # a distance smaller than what is repeated repeats its own words
            pattern = out[len(out) - 8 * distance :]
            out += (pattern * -(-repeated // distance))[: 8 * repeated]
        if not repeated and literals < MAX_WORDS:
            return bytes(out + packed[at:])


def literal(state: bytes) -> bytes:
    """Returns a state in the packed format without repetitions: each word can be changed."""
    out, words, at = bytearray(), len(state) // 8, 0
    while True:
        count = min(words - at, MAX_WORDS)
        out += PART.pack(count, 0, 0) + state[8 * at : 8 * (at + count)]
        at += count
        if count < MAX_WORDS:
            return bytes(out + state[8 * at :])


# ----------------------------------------------------------------------------------- forging --


@dataclass(frozen=True)
class _Original:
    """A snapshot whose bytes can be changed.

    Attributes:
        snapshot: with a state in which nothing is packed.
        own: where the environment's own part begins.
        size: bytes of the state that may be changed.
        parts: the environment's own parts of other snapshots of the same size.
        live: ranges of bytes in which they differ, in the state: values, and parts of arrays.
    """

    snapshot: bytes
    own: int
    size: int
    is_packed: bool
    parts: Sequence[bytes] = ()
    live: Sequence[range] = ()

    @staticmethod
    def of(pool: Pool, snapshot: bytes, size: int | None) -> _Original:
        own, raw = HEAD_BYTES + 8 * pool.spec.num_players, pool.definition.raw
        if raw.load:
            return _Original(snapshot, own, len(snapshot) - own, False)
        is_packed = pool.state_size >= PACKED_FROM
        if is_packed:
            snapshot = snapshot[:own] + literal(unpacked(snapshot[own:]))
        return _Original(snapshot, own, size or pool.state_size, is_packed)

    def among(self, others: Sequence[_Original]) -> _Original:
        """Returns the same, with what others of the same environment show."""
        alike = [each for each in others if len(each.snapshot) == len(self.snapshot)]
        parts = [np.frombuffer(each.snapshot[self.own :], np.uint8) for each in alike]
        mine = np.frombuffer(self.snapshot[self.own :], np.uint8)
        differs = np.zeros(len(mine), bool)
        for part in parts:
            differs |= part != mine
        live = np.flatnonzero(differs[self.place(np.arange(self.size)) - self.own])
        return replace(self, parts=[part.tobytes() for part in parts], live=_ranges(live))

    def place(self, offset: Any) -> Any:
        """Returns where a byte of the state is in the snapshot, or where those of an array are."""
        parts = PART.size * (1 + offset // 8 // MAX_WORDS) if self.is_packed else 0
        return self.own + parts + offset


def _ranges(places: Any) -> list[range]:
    """Returns the ranges of which ascending places consist."""
    is_new = np.diff(places, prepend=-2, append=places[-1:] + 2) > 1
    starts, ends = places[is_new[:-1]], places[is_new[1:]] + 1
    return list(map(range, starts.tolist(), ends.tolist()))


def forgeries(
    pool: Pool,
    snapshot: bytes,
    count: int,
    seed: int,
    *,
    others: Sequence[bytes] = (),
    state_bytes: int | None = None,
) -> Iterator[Forgery]:
    """Makes forged snapshots of one that a pool made; the same ones for the same seed.

    Args:
        pool: without options that are drawn at each reset.
        count: how many have changed values.
        others: snapshots of the environment at other times. The first forgeries have their states:
            the end of an episode goes on, or what was never reset. Half of the changes of values
            are where they differ, in a single value as often as in an array.
        state_bytes: bytes of the state that are changed; None: all.
    """
    choose = random.Random(seed)
    seen = [_Original.of(pool, each, state_bytes) for each in (snapshot, *others)]
    original = seen[0].among(seen[1:])
    for each in seen[1:]:
        other = original.snapshot[: original.own] + each.snapshot[each.own :]
        yield Forgery(sealed(other), "the state is of another time")
    for number in range(1, count + 1):
        row = bytearray(original.snapshot)
        text = _change(choose, row, original)
        yield Forgery(sealed(row), text)
        if number % EVERY and number < count:
            continue
        # another length, for load callbacks
        length = choose.randint(-9, 9)
        other = original.snapshot[:length] if length < 0 else original.snapshot + bytes(length)
        if len(other) > HEAD_BYTES:
            yield Forgery(sealed(other), f"{length:+d} bytes at its end")


def _change(choose: random.Random, row: bytearray, original: _Original) -> str:
    """Changes one to three values of a snapshot; returns a text that says which."""
    texts = []
    if original.parts and choose.random() < 0.2:
        row[original.own :] = choose.choice(original.parts)
        texts.append("the state is of another time")
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        width = choose.choice((1, 2, 4, 8))
        is_own = original.size >= width and choose.random() < 0.8
        room = original.size if is_own else original.own - SUM_BYTES
        offset = choose.randrange(room // width) * width
        if is_own and original.live and choose.random() < 0.5:
            # of the ranges, not of all bytes: nearly all may belong to a picture
            live = choose.choice(choose.choice(original.live))
            offset = min(live, room - width) // width * width
        at = original.place(offset) if is_own else SUM_BYTES + offset
        before = int.from_bytes(row[at : at + width], "little")
        value = _value(choose, width, before)
        row[at : at + width] = value.to_bytes(width, "little")
        part = "state" if is_own else "engine's part"
        texts.append(f"{width} bytes from byte {offset} of the {part} on are {value:#x}")
    return ", ".join(texts)


def _value(choose: random.Random, width: int, before: int) -> int:
    """Returns what a value of so many bytes becomes."""
    kind = choose.random()
    if kind < 0.2:
        value = before + choose.choice((-2, -1, 1, 2))
    elif kind < 0.4:
        value = choose.getrandbits(8 * width)
    elif kind < 0.6 and width >= 4:
        kinds = "<f" if width == 4 else "<d"
        number = choose.choice(FLOATS + LARGE_DOUBLES * (width == 8))
        value = int.from_bytes(struct.pack(kinds, number), "little")
    else:
        value = choose.choice(INTEGERS)
    return int(value % 2 ** (8 * width))
