"""Small programs, each for one property of the hardware, give equal pictures in ale-py and ours."""

from __future__ import annotations

import random

import pytest

from tests.parity import atari_core, atari_microroms
from tests.parity.atari_microroms import (
    COLUBK,
    GRP0,
    HMOVE,
    NUSIZ0,
    OBJECTS,
    REFP0,
    VBLANK,
    WSYNC,
    Oracle,
    Ours,
    delay,
    differing,
    forever,
    store,
    wait,
)
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/atari")

ADC, SBC = 0x69, 0xE9


@pytest.fixture(scope="module")
def ours() -> Ours:
    return Ours(atari_core.Library(atari_core.build()))


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


def same(ours: Ours, oracle: Oracle, code: bytes, frames: int = 1) -> bool:
    return ours.run(code, frames).same(oracle.run(code, frames))


# every ninth sweep; these include each kind
@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "sweep", list(atari_microroms.sweeps())[::9], ids=lambda sweep: sweep.name.replace(" ", "-")
)
def test_sweep(ours: Ours, oracle: Oracle, sweep: atari_microroms.Sweep) -> None:
    assert differing(ours, oracle, sweep) == []


RESETS = {sweep.name: sweep for sweep in atari_microroms.reset_sweeps()}


# RESxx during HMOVE's extra clocks, and just before or after them: all objects, cycles and motions
@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(RESETS, 16), ids=lambda name: name.replace(" ", "-"))
def test_reset_while_moving(ours: Ours, oracle: Oracle, name: str) -> None:
    assert differing(ours, oracle, RESETS[name]) == []


# HMxx during these clocks; most such changes have no effect
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    thinned((f"motion {name} {motion}" for name in OBJECTS for motion in range(16)), 39),
    ids=lambda name: name.replace(" ", "-"),
)
def test_motion_changes_while_moving(ours: Ours, oracle: Oracle, name: str) -> None:
    sweeps = [each for each in atari_microroms.motion_sweeps() if each.name.startswith(f"{name} ")]
    assert len(sweeps) == 16
    for sweep in sweeps:
        assert differing(ours, oracle, sweep) == [], sweep.name


# copies that begin in one line and end in the next
@pytest.mark.quick(21)
@pytest.mark.parametrize("first", [66, 69, 72, 73])
@pytest.mark.parametrize("size", range(8))
def test_reset_at_edge(ours: Ours, oracle: Oracle, first: int, size: int) -> None:
    for cycle in (3, 20, 22, 24, 27, 73, 74, 75, 76):
        assert same(ours, oracle, atari_microroms.twice(first, size, cycle)), cycle


# writes of NUSIZ and HMOVE bring back the copy that RESP0 hides, even without a change
@pytest.mark.parametrize("size", [0, 3, 5, 7])
@pytest.mark.parametrize("first", [40, 72])
@pytest.mark.parametrize("register", [NUSIZ0, HMOVE, REFP0])
def test_hiding_ends(ours: Ours, oracle: Oracle, size: int, first: int, register: int) -> None:
    for cycle in (30, 75):
        for since in (3, 5, 7, 9):
            code = atari_microroms.twice(first, size, cycle, since, (register, size))
            assert same(ours, oracle, code), (cycle, since)


@pytest.mark.parametrize("lines", range(1, 6))
def test_stars_end(ours: Ours, oracle: Oracle, lines: int) -> None:
    assert same(ours, oracle, atari_microroms.stars(lines))


def test_decimal_arithmetic(ours: Ours, oracle: Oracle) -> None:
    draw = random.Random(1)
    for _ in range(300):
        numbers = draw.randrange(256), draw.randrange(256), draw.randrange(2)
        code = atari_microroms.subtract(*numbers, draw.choice((ADC, SBC)))
        assert same(ours, oracle, code), numbers


# INC, ASL and DCP of chip registers; pulls from a stack at their addresses
@pytest.mark.parametrize(
    "code",
    [
        bytes([0xE6, 0x0E, 0xA5, 0x0E]),
        bytes([0x07, 0x07]),
        bytes([0xA9, 0x2E, 0xC7, 0x2E]),
        bytes([0xEE, 0x0E, 0x00, 0xA9, 3]),
        *(bytes([0xA2, stack, 0x9A, 0x68]) for stack in (0xFF, 0x00, 0x07, 0x0E, 0x7D)),
        bytes([0xA2, 0x0D, 0x9A, 0x28]),
    ],
    ids=lambda code: code.hex(),
)
def test_bus(ours: Ours, oracle: Oracle, code: bytes) -> None:
    keep = bytes([0x85, 0xE0, 0x86, 0xE1, 0xA2, 0xF8, 0x9A, 0x08])
    assert same(ours, oracle, forever(code + keep))


# a paddle's capacitor that starts to charge in this frame or in the one before
@pytest.mark.slow
@pytest.mark.parametrize("line", [20, 180, 188, 189, 240])
@pytest.mark.parametrize("later", [90, 103, 110, 200])
def test_paddle(ours: Ours, oracle: Oracle, line: int, later: int) -> None:
    code = wait(line) + store([(VBLANK, 0x80), (WSYNC, 0), (VBLANK, 0)]) + wait(later)
    read = b"".join(bytes([0xA5, 8 + i, 0x85, 0xE0 + i]) for i in range(6))
    assert same(ours, oracle, forever(code + read), frames=2)


# joysticks do not charge capacitors
@pytest.mark.quick(1)
@pytest.mark.parametrize("rom", ["enduro", "breakout", "surround"])
def test_other_controllers(rom: str) -> None:
    library = atari_core.Library(atari_core.build())
    code = store([(VBLANK, 0x80), (WSYNC, 0), (VBLANK, 0)]) + wait(220)
    code += b"".join(bytes([0xA5, 8 + i, 0x85, 0xE0 + i]) for i in range(6))
    assert same(Ours(library, rom), Oracle(rom), forever(code))


# ALE has no latches for triggers, whether VBLANK requests them or not
@pytest.mark.slow
@pytest.mark.parametrize("latches", [0, 0x40])
def test_trigger(latches: int) -> None:
    library, rom = atari_core.Library(atari_core.build()), "enduro"
    joystick, theirs = Ours(library, rom), Oracle(rom)
    begin = store([(VBLANK, latches)])
    code = begin + bytes([0x85, WSYNC, 0xA5, 0x0C, 0x85, 0xE0, 0x4C, 0x80 + len(begin), 0])
    for frames in (1, 2):
        one, other = (each.run(code, frames, action=1) for each in (joystick, theirs))
        assert one.same(other)
        assert other.ram[0x60] >> 7 == frames - 1


# a program that runs longer than ALE allows for a frame; its next write shows in the next frame
@pytest.mark.parametrize("register", [COLUBK, GRP0, HMOVE, WSYNC])
def test_open_frame(ours: Ours, oracle: Oracle, register: int) -> None:
    # the first two frames fill the screens, which still hold older ones
    for frames in range(3, 9):
        assert same(ours, oracle, atari_microroms.think(register), frames), frames


# a frame that is too long ends at the first write past its last line; for WSYNC, before it waits
@pytest.mark.parametrize("register", [WSYNC, 0x09, 0x19, 0x2A])
@pytest.mark.parametrize("pause", [0, 6])
def test_long_frame(ours: Ours, oracle: Oracle, register: int, pause: int) -> None:
    count = bytes([0xE6, 0xE0, 0xD0, 0x02, 0xE6, 0xE1]) + delay(pause)
    code = count + bytes([0x85, register, 0x4C, 0x80, 0])
    for frames in (1, 2, 3):
        assert same(ours, oracle, code, frames)


def test_comparison_can_fail(ours: Ours, oracle: Oracle) -> None:
    one, other = (forever(store([(0x09, color)])) for color in (0x22, 0x24))
    assert not ours.run(one).same(oracle.run(other))
    assert not ours.run(one).same(oracle.run(forever(store([(0x09, 0x22)]) + delay(2))))
