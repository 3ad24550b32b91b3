"""The kit: what C needs of the installed pygame to draw CarRacing's pictures (`view_kit` in C).

These are the rounding of `smoothscale`, the corners of the car's parts, and the characters of the
default font.
"""

from __future__ import annotations

import string
import struct
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from parallel_pool._families import box2d, box2d_parts
from parallel_pool.errors import MissingDependencyError, UnprovenError

Array = npt.NDArray[Any]

# in which smoothscale counts fractions of a pixel, by backend: as powers of 2
BITS = {"GENERIC": 16}
BITS_OF_VECTORS = 14

# of C's polygon and text_font
MAX_CORNERS = 8
MAX_WIDTH, MAX_HEIGHT = 32, 64

CHARACTERS = "0123456789-"
FONT_SIZE = 42
# a pixel, in which the font counts
UNITS = 64
# how often a pair of characters is repeated, so that their advance is known to a unit
REPEATS = 640
# numbers whose texts are compared
SCORES = (*range(-1200, 1200, 31), *range(-30, 30, 7), -98765, 98765)


def pygame() -> Any:
    """Returns the installed pygame.

    Raises:
        MissingDependencyError: there is none.
    """
    try:
        import pygame
    except ImportError as error:
        raise MissingDependencyError(
            f"CarRacing-v3 needs pygame, which is not installed ({error}): {box2d.INSTALL}"
        ) from error
    return pygame


def backend() -> str:
    """Returns which of its ways to compute pygame's smoothscale uses now."""
    return str(pygame().transform.get_smoothscale_backend())


def make() -> bytes:
    """Returns the kit.

    Raises:
        UnprovenError: pygame draws text otherwise; the message continues "pygame <version>".
    """
    module = pygame()
    bits = BITS.get(backend(), BITS_OF_VECTORS)
    shapes = box2d_parts.car_shapes(box2d.package())
    return b"".join([struct.pack("<i", bits), *map(_part, shapes), Font(module).pack()])


def _part(shape: Any) -> bytes:
    """Returns a view_part."""
    corners = np.zeros((MAX_CORNERS, 2), np.float32)
    corners[: len(shape.vertices)] = shape.vertices
    return struct.pack("<i", len(shape.vertices)) + corners.tobytes()


class Font:
    """The characters of pygame's default font, and how far each pair of them is apart.

    The font counts in 64ths of a pixel, and the start of each character is rounded down. So an
    advance is found from texts that shift it by all fractions of a pixel.
    """

    def __init__(self, pygame: Any) -> None:
        """
        Args:
            pygame: the module.

        Raises:
            UnprovenError: these numbers do not give the texts that pygame draws.
        """
        pygame.font.init()
        self._font = pygame.font.Font(pygame.font.get_default_font(), FONT_SIZE)
        self._to_array = pygame.surfarray.array3d
        self.images = {each: self.draw(each) for each in CHARACTERS}
        self.advances = {
            first + second: self._advance(first, second, *self._shift(first))
            for first in CHARACTERS
            for second in CHARACTERS
        }
        for score in SCORES:
            text = f"{score:04.0f}"
            if not np.array_equal(self.compose(text), self.draw(text)):
                _refuse(f"draws {text!r} otherwise than its characters")

    def pack(self) -> bytes:
        """Returns a text_font."""
        pixels = np.zeros((len(CHARACTERS), MAX_HEIGHT, MAX_WIDTH), np.uint8)
        for i, image in enumerate(self.images.values()):
            height, width = image.shape
            if height > MAX_HEIGHT or width > MAX_WIDTH:
                _refuse(f"has characters of {width} x {height} pixels")
            pixels[i, :height, :width] = image
        widths = [image.shape[1] for image in self.images.values()]
        numbers = [len(self.images["0"]), *widths, *self.advances.values()]
        return struct.pack(f"<{len(numbers)}i", *numbers) + pixels.tobytes()

    def draw(self, text: str) -> Array:
        """Returns a text as pygame draws it: gray pixels, uint8 (height, width)."""
        surface = self._font.render(text, True, (255, 255, 255), (0, 0, 0))
        array: Array = self._to_array(surface)[..., 0].T
        return array

    def compose(self, text: str) -> Array:
        """Returns a text as C draws it."""
        pairs = pairwise(text)
        starts = np.cumsum([0, *(self.advances[a + b] for a, b in pairs)]) // UNITS
        images = [self.images[each] for each in text]
        drawn = np.zeros((len(images[0]), starts[-1] + images[-1].shape[1]), np.uint8)
        for start, image in zip(starts, images, strict=True):
            part = drawn[:, start : start + image.shape[1]]
            np.maximum(part, image, out=part)
        return drawn

    def _width(self, text: str) -> int:
        return int(self._font.size(text)[0])

    def _shift(self, first: str) -> tuple[str, int]:
        """Returns a text that shifts a following character by an odd number of units, and that."""
        for other in CHARACTERS + string.ascii_letters:
            pair = first + other
            advance = self._width(pair * REPEATS + first) - self._width(first)
            units = round(advance * UNITS / REPEATS)
            if units % 2:
                return pair, units
        _refuse(f"has a font in which {first!r} has no pair with an odd advance")

    def _advance(self, first: str, second: str, pair: str, units: int) -> int:
        """Returns the distance between the starts of two neighbors, in 64ths of a pixel.

        Args:
            first, second: the characters.
            pair, units: what `_shift` returns.
        """
        pixels = self._width(first + second) - self._width(second)
        inverse = pow(units, -1, UNITS)

        def carries(shift: int) -> bool:
            count = shift * inverse % UNITS
            start = count * units // UNITS
            text = pair * count + first + second
            return self._width(text) - self._width(second) - start > pixels

        # the least shift by which the second character gets to the next pixel
        low, high = 1, UNITS
        while low < high:
            middle = (low + high) // 2
            if carries(middle):
                high = middle
            else:
                low = middle + 1
        return pixels * UNITS + UNITS - low


def _refuse(reason: str) -> NoReturn:
    raise UnprovenError(reason)
