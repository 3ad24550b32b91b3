"""Atari frames: csrc/envs/atari/picture equals OpenCV, NumPy and ALE, bit for bit.

The tests call the shipped functions, and choose the instruction set. If the machine lacks it, they
use the best one that the machine has.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms
from numpy.typing import NDArray

from tests.support.c_library import CSRC, Hidden, link_shipped
from tests.support.sampling import sampled, thinned

pytestmark = pytest.mark.proven("csrc/envs/atari")

ATARI = CSRC / "envs" / "atari"
SOURCES = (
    *(CSRC / "base" / f"{name}.c" for name in ("isa", "resize", "resize_plan")),
    *(ATARI / "picture" / f"{name}.c" for name in ("palette", "screen")),
)
ISAS = {"generic": 0, "avx2": 1, "avx512": 2}
WIDTH = 160

Image = NDArray[np.uint8]


class ScreenOptions(ctypes.Structure):
    """pp_screen_options of screen.h."""

    _fields_ = [
        ("palette", ctypes.c_void_p),
        ("rows", ctypes.c_int),
        ("height", ctypes.c_int),
        ("width", ctypes.c_int),
        ("gray", ctypes.c_bool),
        ("area", ctypes.c_bool),
        ("isa", ctypes.c_int),
    ]


class ScreenPast(ctypes.Structure):
    """pp_screen_past of screen.h."""

    _fields_ = [("frame", ctypes.c_void_p), ("changed", ctypes.c_void_p)]


_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "pp_resize_create": (_POINTER, _INT, _INT, _INT, _INT, ctypes.c_bool, _INT),
    "pp_resize_apply": (None, *[_POINTER] * 5),
    "pp_resize_destroy": (None, _POINTER),
    "pp_screen_create": (_POINTER, ctypes.POINTER(ScreenOptions)),
    "pp_screen_frame": (None, *[_POINTER] * 5),
    "pp_screen_destroy": (None, _POINTER),
}
PALETTES = ("pp_palette_ntsc", "pp_palette_pal")


class Library:
    """The shipped functions that make pictures, and the palettes' addresses."""

    def __init__(self) -> None:
        hidden = Hidden(link_shipped("atari_screen", SOURCES, (*FUNCTIONS, *PALETTES)))
        self.c = hidden.functions(FUNCTIONS)
        self.palettes = {name: hidden.address(name) for name in PALETTES}


@pytest.fixture(scope="module")
def library() -> Library:
    return Library()


class Guarded:
    """Memory that ends at a protected page: reading one byte too far crashes the test run."""

    def __init__(self, data: Image) -> None:
        pages = -(-data.nbytes // mmap.PAGESIZE)
        self._map = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        end = start + pages * mmap.PAGESIZE
        self.address = end - data.nbytes
        ctypes.memmove(self.address, data.ctypes.data, data.nbytes)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        assert libc.mprotect(end, mmap.PAGESIZE, mmap.PROT_READ & 0) == 0


class Output:
    """An array between two stretches of bytes that must not change."""

    FENCE = 4096

    def __init__(self, shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape))
        self._all = np.full(size + 2 * self.FENCE, 0xA5, np.uint8)
        self.address = self._all.ctypes.data + self.FENCE
        self._shape = shape

    def take(self) -> Image:
        fences = np.concatenate([self._all[: self.FENCE], self._all[-self.FENCE :]])
        assert (fences == 0xA5).all()
        return self._all[self.FENCE : -self.FENCE].reshape(self._shape)


def stretches(image: Image) -> Image:
    """Returns, for each row, the first row of its stretch of equal rows."""
    fresh = np.r_[True, (image[1:] != image[:-1]).any(axis=1)]
    return np.maximum.accumulate(np.where(fresh, np.arange(len(image)), 0)).astype(np.uint8)


def resize(
    lib: Library, image: Image, height: int, width: int, area: bool, isa: int
) -> list[Image]:
    """Returns the picture resized without and with the list of its repeated rows."""
    plan = lib.c.pp_resize_create(*image.shape, height, width, area, isa)
    assert plan is not None
    source, results = Guarded(image), []
    for run in (None, stretches(image).ctypes):
        out = Output((height, width))
        lib.c.pp_resize_apply(plan, source.address, run and run.data, None, out.address)
        results.append(out.take())
    lib.c.pp_resize_destroy(plan)
    return results


def noise(rng: np.random.Generator, rows: int) -> Image:
    return rng.integers(0, 256, (rows, WIDTH), dtype=np.uint8)


def stripes(rng: np.random.Generator, rows: int) -> Image:
    """Returns repeated rows, as most of a game's picture has."""
    heights = rng.integers(1, 12, rows)
    return np.ascontiguousarray(np.repeat(noise(rng, rows), heights, axis=0)[:rows])


def extremes(rng: np.random.Generator, rows: int) -> Image:
    """Returns only 0 and 255, which give the largest sums and many exact halves."""
    return (rng.integers(0, 2, (rows, WIDTH)) * 255).astype(np.uint8)


PICTURES: dict[str, Callable[[np.random.Generator, int], Image]] = {
    "noise": noise,
    "stripes": stripes,
    "extremes": extremes,
}
SIZES = [
    # shrinking by fractions; the first is the default
    *((84, 84), (42, 42), (64, 64), (64, 96), (96, 96), (128, 128), (209, 159), (84, 158)),
    # too few columns for a vector, or too many source columns under one
    *((7, 5), (31, 15), (84, 17), (84, 33), (84, 39), (2, 159)),
    # whole factors, in one axis or in both
    *((210, 160), (105, 80), (70, 40), (70, 80), (42, 32), (35, 32), (210, 80), (105, 160)),
    *((1, 1), (1, 160), (210, 1), (84, 160), (210, 84), (125, 80), (250, 160), (50, 20)),
    # enlarging one axis or both
    *((300, 200), (84, 250), (300, 84), (211, 161), (211, 160), (210, 161), (420, 320), (2000, 9)),
]


@pytest.mark.parametrize("picture", thinned(PICTURES, 3))
@pytest.mark.parametrize("rows", sampled([210, 214, 220, 230, 250, 256], {210}))
@pytest.mark.parametrize("part", thinned(range(3), 3))
def test_resize_equals_opencv(library: Library, rows: int, picture: str, part: int) -> None:
    """A third of the sizes."""
    rng = np.random.default_rng([rows, len(picture)])
    extra = [(int(h), int(w)) for h, w in rng.integers(1, 280, (4, 2))]
    for height, width in (SIZES + extra)[part::3]:
        image = PICTURES[picture](rng, rows)
        for area, method in ((True, cv2.INTER_AREA), (False, cv2.INTER_LINEAR)):
            expected = cv2.resize(image, (width, height), interpolation=method)
            for isa, number in ISAS.items():
                for got in resize(library, image, height, width, area, number):
                    np.testing.assert_array_equal(got, expected, f"{height}x{width} {area=} {isa}")


@pytest.mark.slow
def test_resize_equals_opencv_on_three_channels(library: Library) -> None:
    """EnvPool resizes red, green and blue together; we resize planes."""
    rng = np.random.default_rng(3)
    image = rng.integers(0, 256, (210, WIDTH, 3), dtype=np.uint8)
    for height, width in SIZES:
        for area, method in ((True, cv2.INTER_AREA), (False, cv2.INTER_LINEAR)):
            expected = cv2.resize(image, (width, height), interpolation=method)
            for channel in range(3):
                plane = np.ascontiguousarray(image[:, :, channel])
                for got in resize(library, plane, height, width, area, ISAS["avx512"]):
                    np.testing.assert_array_equal(got, expected[:, :, channel])


@pytest.mark.parametrize(
    "sizes",
    [
        (0, 160, 84, 84),
        (210, 257, 84, 84),
        (210, 160, 84, 2049),
        (210, 160, 0, 84),
        (210, 160, 84, -1),
        (257, 160, 84, 84),
    ],
)
def test_resize_refuses_a_size(library: Library, sizes: tuple[int, int, int, int]) -> None:
    assert library.c.pp_resize_create(*sizes, True, 0) is None


class Game:
    """Pairs of consecutive screens of a real game, with ALE's own gray and RGB of each."""

    def __init__(self, name: str, pairs: int) -> None:
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", 5)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(roms.get_rom_path(name))
        self.pal = self.ale.getScreenDims()[0] == 250
        self.pairs = pairs

    def __iter__(self) -> Iterator[list[tuple[Image, Image, Image]]]:
        rng = np.random.default_rng(9)
        actions = self.ale.getMinimalActionSet()
        for _ in range(self.pairs):
            for _ in range(int(rng.integers(1, 40))):
                if self.ale.game_over():
                    self.ale.reset_game()
                self.ale.act(actions[rng.integers(len(actions))])
            pair = []
            for _ in range(2):
                self.ale.act(actions[rng.integers(len(actions))])
                gray, rgb = self.ale.getScreenGrayscale(), self.ale.getScreenRGB()
                pair.append((self.ale.getScreen().copy(), gray, rgb))
            yield pair


def frame(
    lib: Library,
    options: dict[str, Any],
    pal: bool,
    last: Image,
    before: Image | None,
    past: tuple[Image, Image] | None = None,
) -> Image:
    """Makes a frame. past: an earlier frame, and which rows have changed since."""
    palette = lib.palettes["pp_palette_pal" if pal else "pp_palette_ntsc"]
    screen = lib.c.pp_screen_create(ScreenOptions(palette=palette, **options))
    assert screen is not None
    planes = 1 if options["gray"] else 3
    out = Output((planes, options["height"], options["width"]))
    rows = options["rows"]
    guarded = [
        None if s is None else Guarded(np.ascontiguousarray(s[:rows])) for s in (last, before)
    ]
    earlier = past and ctypes.byref(ScreenPast(*(each.ctypes.data for each in past)))
    screens = (None if g is None else g.address for g in guarded)
    lib.c.pp_screen_frame(screen, *screens, earlier, out.address)
    lib.c.pp_screen_destroy(screen)
    return out.take()


# three of these are PAL, and Air Raid shows odd indices
GAMES = [
    *("pong", "breakout", "space_invaders", "qbert", "carnival"),
    *("king_kong", "adventure", "air_raid"),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", sampled(GAMES, {"pong", "air_raid"}))
def test_frames_of_games(library: Library, name: str, isa: str) -> None:
    """Palette, pooling and resizing give ALE's colours, for EnvPool's 210 rows and for all rows."""
    game = Game(name, pairs=8)
    full = game.ale.getScreenDims()[0]
    for (before, gray_before, rgb_before), (last, gray_last, rgb_last) in game:
        for rows in {210, full}:
            for gray, area, (height, width) in (
                (True, True, (84, 84)),
                (False, True, (84, 84)),
                (True, False, (96, 96)),
                (False, True, (105, 80)),
            ):
                options = {
                    "rows": rows,
                    "height": height,
                    "width": width,
                    "gray": gray,
                    "area": area,
                    "isa": ISAS[isa],
                }
                method = cv2.INTER_AREA if area else cv2.INTER_LINEAR
                a, b = (gray_before, gray_last) if gray else (rgb_before, rgb_last)
                for other, picture in ((before, np.maximum(a, b)), (None, b)):
                    expected = cv2.resize(picture[:rows], (width, height), interpolation=method)
                    expected = expected.reshape(height, width, -1).transpose(2, 0, 1)
                    got = frame(library, options, game.pal, last, other)
                    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_vector_variants_equal_plain_c(library: Library, isa: str) -> None:
    """For every palette index, odd ones included, in noise that no game shows."""
    rng = np.random.default_rng(4)
    for rows in (1, 16, 210, 256):
        for gray in (True, False):
            for kind in (noise, stripes):
                last = kind(rng, rows)
                before = np.where(rng.random((rows, 1)) < 0.5, last, kind(rng, rows))
                results = [
                    frame(
                        library,
                        {
                            "rows": rows,
                            "height": 50,
                            "width": 84,
                            "gray": gray,
                            "area": True,
                            "isa": which,
                        },
                        False,
                        last,
                        before,
                    )
                    for which in (ISAS[isa], ISAS["generic"])
                ]
                np.testing.assert_array_equal(*results)


def random_change(
    rng: np.random.Generator, last: Image, before: Image
) -> tuple[Image, Image, Image]:
    """Changes some rows of either screen; returns both, and which rows are no longer what they were

    in both, or were not the same in both.
    """
    changed = (last != before).any(axis=1)
    screens = []
    for screen in (last, before):
        new = np.roll(noise(rng, len(screen)), 1, axis=0)
        moves = rng.random(len(screen)) < rng.choice((0, 0.02, 0.3, 1))
        screens.append(np.where(moves[:, None], new, screen))
        changed |= moves
    return screens[0], screens[1], changed.astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("turns", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("isa", ISAS)
def test_rows_that_have_not_changed_are_those_of_the_past(
    library: Library, isa: str, turns: int
) -> None:
    """Only they are copied: where the past frame is wrong, so is the new one, and nowhere else."""
    rng = np.random.default_rng(11)
    kept = 0
    # three times, each size meets each kind of past frame
    for turn, (height, width) in enumerate(SIZES * turns):
        for gray, area in ((True, True), (False, True), (True, False)):
            options = {"rows": 210, "height": height, "width": width}
            options |= {"gray": gray, "area": area, "isa": ISAS[isa]}
            last = stripes(rng, 210)
            before = np.where(rng.random((210, 1)) < 0.1, noise(rng, 210), last)
            first = frame(library, options, False, last, before)
            last, before, changed = random_change(rng, last, before)
            other = before if turn % 3 else None
            whole = frame(library, options, False, last, other)
            quick = frame(library, options, False, last, other, (first, changed))
            np.testing.assert_array_equal(quick, whole)
            wrong = frame(library, options, False, last, other, (first ^ 255, changed))
            rows = (wrong != whole).all(axis=2)
            np.testing.assert_array_equal(wrong[rows], whole[rows] ^ 255)
            np.testing.assert_array_equal(wrong[~rows], whole[~rows])
            kept += np.count_nonzero(rows)
    assert kept > 1000


def test_screen_refuses_sizes(library: Library) -> None:
    good = {"rows": 210, "height": 84, "width": 84, "gray": True, "area": True, "isa": 0}
    palette = library.palettes["pp_palette_ntsc"]
    for bad in ({"rows": 0}, {"rows": 257}, {"height": 0}, {"width": 4000}):
        options = ScreenOptions(palette=palette, **{**good, **bad})
        assert library.c.pp_screen_create(options) is None
