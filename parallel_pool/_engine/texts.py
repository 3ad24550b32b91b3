"""Texts: the strings that the codes of a native observation or info stand for."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi, text

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array

# what C calls printable ASCII
PRINTABLE = string.digits + string.ascii_letters + string.punctuation + " "

# texts that are remembered; composed instructions may be more
MAX_KNOWN_TEXTS = 1 << 16


class Texts:
    """Makes strings of codes, and remembers them.

    Attributes:
        most: bytes of the longest text.
        charset: the characters of all texts of an observation.
    """

    def __init__(self, write: Callable[[CData, CData], int], most: int, charset: str) -> None:
        """
        Args:
            write: `pp_field.text`: writes the text of a code, and returns its length.
            most: bytes of the longest text.
            charset: the characters of all texts of an observation.
        """
        self.most, self.charset = most, charset
        self._write = write
        self._known: dict[Any, str | None] = {}
        # most steps change no text: the codes and strings of the last call
        self._last: tuple[Array, tuple[Any, ...]] = (np.empty(0, np.int64), ())

    @staticmethod
    def read(raw: CData) -> Texts:
        """Reads those of a `pp_field`."""
        return Texts(raw.text, raw.n, text(raw.charset) if raw.charset else PRINTABLE)

    def of_rows(self, codes: Array) -> tuple[Any, ...]:
        """Returns the text of each row; of an info it may be None.

        Args:
            codes: (rows, ...), as a pool returns them.
        """
        last, texts = self._last
        if last.dtype != codes.dtype or last.shape != codes.shape:
            found = [self.of_row(code) for code in codes]
        else:
            differs = codes != last
            rows = differs if codes.ndim == 1 else differs.reshape(len(codes), -1).any(axis=1)
            changed = np.flatnonzero(rows).tolist()
            if not changed:
                return texts
            found = list(texts)
            for row in changed:
                found[row] = self.of_row(codes[row])
        # a copy: the caller may write to the codes
        self._last = codes.copy(), tuple(found)
        return self._last[1]

    def objects(self, codes: Array) -> Array:
        """Returns the text of each row as an array of objects (rows,), as infos have them."""
        made: Array = np.empty(len(codes), object)
        made[:] = self.of_rows(codes)
        return made

    def of_row(self, code: Array) -> str | None:
        """Returns the text of one row."""
        key = code.tobytes()
        if key not in self._known:
            if len(self._known) >= MAX_KNOWN_TEXTS:
                self._known.clear()
            self._known[key] = self._made(code)
        return self._known[key]

    def _made(self, code: Array) -> str | None:
        out = ffi.new("char[]", self.most + 1)
        held = np.ascontiguousarray(code)
        length = self._write(ffi.from_buffer(held), out)
        if length > self.most:
            raise ValueError(
                f"the function text of a PP_TEXT says that the text of the code {code} has"
                f" {length} bytes: write at most n={self.most}"
            )
        return ffi.buffer(out, length)[:].decode() if length >= 0 else None
