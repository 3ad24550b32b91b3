"""Searches the memory of Box2D's objects, and its library for functions."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NoReturn

from parallel_pool.errors import UnprovenError

# C++'s tables of virtual functions begin with an offset and the type
TABLE_HEAD = 2
# of a table that is searched and copied
MAX_FUNCTIONS = 16
# the largest block in which Box2D's allocator puts an object
MAX_BLOCK_BYTES = 640


def refuse(reason: str) -> NoReturn:
    raise UnprovenError(reason)


def symbols(box2d: Any) -> Callable[[str], int]:
    """Returns a function that returns the address of one of the library's symbols."""
    library = ctypes.CDLL(box2d._Box2D.__file__)

    def address(symbol: str) -> int:
        try:
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
        except AttributeError:
            refuse(f"has no symbol {symbol}")

    return address


def table(
    address: Callable[[str], int], table: str, symbols: Iterable[str]
) -> tuple[int, list[int]]:
    """Returns the address of a table of virtual functions, and which of them the symbols are."""
    start = address(table) + TABLE_HEAD * 8
    functions = [ctypes.c_uint64.from_address(start + 8 * i).value for i in range(MAX_FUNCTIONS)]
    wanted = [address(symbol) for symbol in symbols]
    slots = [functions.index(each) for each in wanted if each in functions]
    if len(slots) < len(wanted) or min(slots) < 1:
        refuse(f"has another table of virtual functions, {table}")
    return start, slots


def address(thing: Any) -> int:
    """Returns the address of Box2D's object behind one of Python's."""
    return int(thing.this)


def size(thing: Any) -> int:
    """Returns the bytes that were allocated for an object that Python made."""
    libc = ctypes.CDLL(None)
    measure = getattr(libc, "malloc_usable_size", None)
    if measure is None:
        refuse("runs on a C library without malloc_usable_size")
    measure.argtypes, measure.restype = [ctypes.c_void_p], ctypes.c_size_t
    return int(measure(address(thing)))


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def pointer(thing: Any) -> bytes:
    return struct.pack("<Q", address(thing))


def find(memories: Iterable[bytes], values: Iterable[bytes], what: str) -> int:
    """Returns the only offset at which each memory holds its value, aligned to 4 bytes.

    Several objects are searched, because parts of one may be uninitialized, and hold anything.
    """
    pairs = zip(memories, values, strict=True)
    common = set.intersection(*({*_places(memory, value)} for memory, value in pairs))
    if len(common) != 1:
        refuse(f"has {len(common)} places that may hold {what}")
    return common.pop()


def _places(memory: bytes, value: bytes) -> Iterator[int]:
    """Yields the offsets, aligned to 4 bytes, at which memory holds a value."""
    at = memory.find(value)
    while at >= 0:
        if at % 4 == 0:
            yield at
        at = memory.find(value, at + 1)


def blocks(things: Iterable[Any]) -> list[bytes]:
    """Returns the memory of objects of one kind, which Box2D's allocator puts side by side."""
    places = sorted(map(address, things))
    size = min(after - before for before, after in pairwise(places))
    if not 0 < size <= MAX_BLOCK_BYTES:
        refuse(f"has an allocator that puts neighbors {size} bytes apart")
    return [ctypes.string_at(address(each), size) for each in things]
