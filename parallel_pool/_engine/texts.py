"""Texts: the strings that the codes of a native observation stand for."""

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
MOST_KNOWN = 1 << 16


class Texts:
    """Makes strings of codes, and remembers them.

    Attributes:
        most: characters of the longest text.
        charset: the characters of all texts.
    """

    def __init__(self, write: Callable[[CData, CData], int], most: int, charset: str) -> None:
        """
        Args:
            write: `pp_field.text`: writes the text of a code, and returns its length.
            most: characters of the longest text.
            charset: the characters of all texts.
        """
        self.most, self.charset = most, charset
        self._write = write
        self._known: dict[Any, str] = {}
        # most steps change no text: the codes and strings of the last call
        self._last: tuple[Array, tuple[str, ...]] = (np.empty(0, np.int64), ())

    @staticmethod
    def read(raw: CData) -> Texts:
        """Reads those of a `pp_field`."""
        return Texts(raw.text, raw.n, text(raw.charset) if raw.charset else PRINTABLE)

    def of_rows(self, codes: Array) -> tuple[str, ...]:
        """Returns the text of each row.

        Args:
            codes: (rows, ...), as a pool returns them.
        """
        last, texts = self._last
        if last.dtype == codes.dtype and np.array_equal(last, codes):
            return texts
        keys: list[Any] = codes.tolist() if codes.ndim == 1 else [row.tobytes() for row in codes]
        for row in {key: row for row, key in enumerate(keys) if key not in self._known}.values():
            self._learn(keys[row], codes[row : row + 1])
        found = tuple(map(self._known.__getitem__, keys))
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        # a copy: the caller may write to the codes
        self._last = codes.copy(), found
        return found

    def _learn(self, key: Any, code: Array) -> None:
        out = ffi.new("char[]", self.most + 1)
        held = np.ascontiguousarray(code)
        length = self._write(ffi.from_buffer(held), out)
        if not 0 <= length <= self.most:
            raise ValueError(
                f"the function text of a PP_TEXT says that the text of the code {code[0]} has"
                f" {length} characters: write at most n={self.most}"
            )
        self._known[key] = ffi.buffer(out, length)[:].decode("ascii")
