"""Runs programs of a few bytes in ale-py and in the console, each for one property of the hardware.

A program is written into the console's RAM; in ALE it is started through a saved state. A *sweep*
does the same thing once for each cycle of a line, and finds the cycles at which the two pictures
differ.

    python -m tests.parity.atari_microroms                  # all sweeps
    python -m tests.parity.atari_microroms unlock resp      # those whose names begin like this
"""

from __future__ import annotations

import argparse
import ctypes
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from ale_py import ALEInterface, ALEState, roms
from numpy.typing import NDArray

from tests.parity import atari_core

ROM = "pong"  # its program never runs
SHAPE = (210, 160)
RAM, ENTRY = 128, 0x80
LINES = 40  # number of lines between the set-up and the line that is tested

# registers of the television chip
VBLANK, WSYNC, NUSIZ0, NUSIZ1, COLUP0, COLUP1, COLUPF, COLUBK = 1, 2, 4, 5, 6, 7, 8, 9
CTRLPF, REFP0, REFP1, PF0, PF1, PF2 = range(0x0A, 0x10)
RESP0, RESP1, RESM0, RESM1, RESBL = range(0x10, 0x15)
GRP0, GRP1, ENAM0, ENAM1, ENABL = range(0x1B, 0x20)
HMP0, HMP1, HMM0, HMM1, HMBL, VDELP0, VDELP1, VDELBL = range(0x20, 0x28)
RESMP0, RESMP1, HMOVE, HMCLR, CXCLR = range(0x28, 0x2D)

Write = tuple[int, int]  # (register, value)


def delay(cycles: int) -> bytes:
    """Returns code that waits for this many cycles: 0, or 2 and more. It may change X."""
    if cycles == 1 or cycles < 0:
        raise ValueError(f"cycles={cycles}: choose 0 or 2 and more")
    odd = bytes([0xA6, 0x80]) if cycles % 2 else b""
    return odd + bytes([0xEA]) * ((cycles - 3 * (cycles % 2)) // 2)


def store(writes: Sequence[Write]) -> bytes:
    """Returns LDA #value, STA register for each write: five cycles and four bytes each."""
    return b"".join(bytes([0xA9, value, 0x85, register]) for register, value in writes)


def wait(lines: int) -> bytes:
    return bytes([0xA2, lines, 0x85, WSYNC, 0xCA, 0xD0, 0xFB])


def forever(code: bytes) -> bytes:
    """Appends an endless loop."""
    at = ENTRY + len(code)
    code += bytes([0x85, WSYNC, 0x4C, at, 0])
    if len(code) > RAM:
        raise ValueError(f"{len(code)} bytes do not fit into {RAM}")
    return code


def single(setup: Sequence[Write], cycle: int, write: Write, lines: int = LINES) -> bytes:
    """Returns a program that writes one register at a cycle of a line (3, or 5 and more)."""
    register, value = write
    line = bytes([0xA9, value, 0x85, WSYNC]) + delay(cycle - 3) + bytes([0x85, register])
    return forever(store([(WSYNC, 0), *setup]) + wait(lines) + line)


class Picture(NamedTuple):
    """What is compared after a program has run."""

    screen: NDArray[np.uint8]
    ram: NDArray[np.uint8]

    def same(self, other: Picture) -> bool:
        return np.array_equal(self.screen, other.screen) and np.array_equal(self.ram, other.ram)


# the state that programs start from: all objects off, at different positions, in bright colours
CLEAN = (
    bytes([0xA9, 0, 0xA2, 0x2D, 0x95, 0, 0xCA, 0xD0, 0xFB])
    + store([(VBLANK, 0), (COLUP0, 0x34), (COLUP1, 0x56), (COLUPF, 0x0E), (WSYNC, 0)])
    + delay(33)
    + bytes([0x85, RESP0, 0x85, RESM0, 0x85, RESP1, 0x85, RESM1, 0x85, RESBL])
)


class Oracle:
    """ale-py, which starts at a program in RAM."""

    def __init__(self, rom: str = ROM) -> None:
        self.ale = ALEInterface()
        self.ale.setInt("random_seed", 1)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(roms.get_rom_path(rom))
        self.power = self.state()
        self.enter(self.power, forever(CLEAN))
        self.start = self.state()

    def state(self) -> ALEState:
        """Saves the state, with the program counter at the program's entry."""
        state = bytearray(self.ale.cloneSystemState().serialize())
        # the program counter is the ninth number of the processor's part, after the system's
        system = state.index(b"System") + len(b"System") + 4
        processor = system + 4 + struct.unpack_from("<I", state, system)[0]
        struct.pack_into("<I", state, processor + 32, ENTRY)
        return ALEState(bytes(state))

    def enter(self, state: ALEState, code: bytes, action: int = 0) -> None:
        """Runs a program for a frame."""
        self.ale.restoreSystemState(state)
        for at, byte in enumerate(code):
            self.ale.setRAM(at, byte)
        self.ale.act(action)

    def run(self, code: bytes, frames: int = 1, action: int = 0) -> Picture:
        """Runs a program for some frames, with an action in the first."""
        # ALE's state lacks the current pictures of its objects, so CLEAN runs to make them again
        self.enter(self.power, forever(CLEAN))
        self.enter(self.start, code, action)
        for _ in range(frames - 1):
            self.ale.act(0)
        return Picture(self.ale.getScreen(), self.ale.getRAM())


class Ours:
    """Our console, which starts at a program in RAM."""

    def __init__(self, library: atari_core.Library, rom: str = ROM, build: str = "") -> None:
        self.console = atari_core.Console(library, rom, seed=1, build=build)
        self.size = library.c.pp_console_size()
        self.ram = library.c.pp_console_ram(self.console.state)
        self.start = self.state()
        self.run(forever(CLEAN))
        self.start = self.state()

    def state(self) -> bytes:
        return ctypes.string_at(self.console.state, self.size)

    def run(self, code: bytes, frames: int = 1, action: int = 0) -> Picture:
        """Runs a program for some frames, with an action in the first."""
        ctypes.memmove(self.console.state, self.start, self.size)
        self.console.forget()
        # the program counter comes after RAM
        ctypes.memmove(self.ram, code, len(code))
        ctypes.memmove(self.ram + RAM, struct.pack("<H", ENTRY), 2)
        for frame in range(frames):
            self.console.act(0 if frame else action, True)
        return Picture(self.console.screen(SHAPE), self.console.ram())


# what the objects look like while one register is written: the players, the left player in each
# size, missiles, ball, playfield
PLAYER = ((GRP0, 0xB5), (GRP1, 0x2D))
MISSILE = ((ENAM0, 2), (GRP1, 0x81))
BALL = ((ENABL, 2), (PF1, 0x55))
FIELD = ((PF0, 0x50), (PF1, 0x55), (PF2, 0x33))
CYCLES = (3, *range(5, 79))


class Sweep(NamedTuple):
    """One register written at each cycle of a line, after a set-up."""

    name: str
    setup: tuple[Write, ...]
    write: Write

    def programs(self) -> Iterator[tuple[int, bytes]]:
        """Yields each cycle and its program."""
        for cycle in CYCLES:
            yield cycle, single(self.setup, cycle, self.write)


def player_sweeps() -> Iterator[Sweep]:
    for size in range(8):
        setup = (*PLAYER, (NUSIZ0, size))
        yield Sweep(f"resp {size}", setup, (RESP0, 0))
        yield Sweep(f"grp {size}", setup, (GRP0, 0xFF))
        yield Sweep(f"refp {size}", setup, (REFP0, 8))
        yield Sweep(f"vdelp {size}", setup, (VDELP0, 1))
        for other in range(8):
            yield Sweep(f"nusiz {size} {other}", setup, (NUSIZ0, other))
    yield Sweep("grp1", (*PLAYER, (VDELP0, 1), (VDELP1, 1)), (GRP1, 0xFF))
    yield Sweep("colup", PLAYER, (COLUP0, 0x0E))


def missile_sweeps() -> Iterator[Sweep]:
    for size in (0, 1, 2, 3, 4, 5, 6, 7, 0x10, 0x25, 0x33):
        setup = (*MISSILE, (NUSIZ0, size))
        yield Sweep(f"resm {size:02x}", setup, (RESM0, 0))
        yield Sweep(f"enam {size:02x}", setup, (ENAM0, 0))
        yield Sweep(f"enam on {size:02x}", (*setup, (ENAM0, 0)), (ENAM0, 2))
        yield Sweep(f"lock {size:02x}", setup, (RESMP0, 2))
        yield Sweep(f"unlock {size:02x}", (*setup, (RESMP0, 2)), (RESMP0, 0))
        yield Sweep(f"resp locked {size:02x}", (*setup, (RESMP0, 2)), (RESP0, 0))
        for other in (0, 1, 3, 5, 7, 0x10, 0x20, 0x30):
            yield Sweep(f"nusiz missile {size:02x} {other:02x}", setup, (NUSIZ0, other))


def field_sweeps() -> Iterator[Sweep]:
    for size in (0, 0x10, 0x20, 0x30):
        yield Sweep(f"resbl {size:02x}", (*BALL, (CTRLPF, size)), (RESBL, 0))
        yield Sweep(f"enabl {size:02x}", (*BALL, (CTRLPF, size)), (ENABL, 0))
        yield Sweep(f"enabl on {size:02x}", (*BALL, (ENABL, 0), (CTRLPF, size)), (ENABL, 2))
        yield Sweep(f"vdelbl {size:02x}", (*BALL, (CTRLPF, size)), (VDELBL, 1))
    for control in range(8):
        for register in (PF0, PF1, PF2):
            name = f"pf {register - PF0} {control}"
            yield Sweep(name, (*FIELD, *PLAYER[:1], (CTRLPF, control)), (register, 0xFF))
        for other in (0, 1, 2, 3, 4, 6, 0x30):
            name = f"ctrlpf {control} {other:02x}"
            yield Sweep(name, (*FIELD, (ENABL, 2), (CTRLPF, control)), (CTRLPF, other))
    yield Sweep("colupf", FIELD, (COLUPF, 0x22))
    yield Sweep("colubk", FIELD, (COLUBK, 0x22))
    yield Sweep("vblank", FIELD, (VBLANK, 2))
    yield Sweep("vblank off", (*FIELD, (VBLANK, 2)), (VBLANK, 0))


def move_sweeps() -> Iterator[Sweep]:
    for motion in range(16):
        setup = (*PLAYER, (ENAM0, 2), (ENABL, 2), (HMP0, motion << 4), (HMM0, motion << 4))
        yield Sweep(f"hmove {motion}", (*setup, (HMBL, motion << 4)), (HMOVE, 0))
    yield Sweep("hmclr", (*PLAYER, (HMP0, 0x70)), (HMCLR, 0))


def moving(
    register: int, show: Sequence[Write], cycle: int, since: int, *, value: int = 0
) -> bytes:
    """Returns a program that writes a register at a cycle of a line, some cycles after HMOVE.

    Args:
        since: 3 and more, as no instruction writes two registers sooner.
    """
    line = bytes([0xA9, value, 0x85, WSYNC]) + delay(cycle - since + 76 - 3) + bytes([0x85, HMOVE])
    # an absolute address takes a cycle more
    late = bytes([0x8D, register, 0]) if since == 4 else bytes([0x85, register])
    line += delay(since - 3 - (since == 4)) + late
    return forever(store([(WSYNC, 0), *show]) + wait(LINES - 5) + line)


# HMOVE's extra clocks last for up to 21 cycles
SINCE = range(3, 26)


class MovingSweep(NamedTuple):
    """One register written at all distances from HMOVE, at some cycles of a line."""

    name: str
    setup: tuple[Write, ...]
    write: Write
    cycles: Sequence[int]

    def programs(self) -> Iterator[tuple[tuple[int, int], bytes]]:
        """Yields cycle and cycles since HMOVE, and the program."""
        register, value = self.write
        for since in SINCE:
            for cycle in self.cycles:
                yield (cycle, since), moving(register, self.setup, cycle, since, value=value)


# by object: the registers that reset it, show it and move it, and what it shows
OBJECTS = {
    "p0": (RESP0, (GRP0, 0xB5), HMP0),
    "p1": (RESP1, (GRP1, 0x2D), HMP1),
    "m0": (RESM0, (ENAM0, 2), HMM0),
    "m1": (RESM1, (ENAM1, 2), HMM1),
    "bl": (RESBL, (ENABL, 2), HMBL),
}


def reset_sweeps() -> Iterator[MovingSweep]:
    """Yields resets of each object while HMOVE moves it: all motions, at all cycles of a line."""
    for name, (reset, show, move) in OBJECTS.items():
        for motion in range(16):
            setup = (show, (move, motion << 4))
            yield MovingSweep(f"reset {name} {motion}", setup, (reset, 0), range(76))


def motion_sweeps() -> Iterator[MovingSweep]:
    """Yields changes of each object's motion, to all values, while HMOVE moves it."""
    for name, (_, show, move) in OBJECTS.items():
        for motion in range(16):
            setup = (show, (move, motion << 4))
            for other in range(16):
                write = (move, other << 4)
                yield MovingSweep(f"motion {name} {motion} {other}", setup, write, (3, 24, 50, 74))


def sweeps() -> Iterator[Sweep]:
    yield from player_sweeps()
    yield from missile_sweeps()
    yield from field_sweeps()
    yield from move_sweeps()


def twice(first: int, size: int, cycle: int, since: int = 0, write: Write = (WSYNC, 0)) -> bytes:
    """Returns a program that resets a player twice, in different lines, and writes a register."""
    register, value = write
    code = store([(WSYNC, 0), (GRP0, 0xB5), (NUSIZ0, size), (HMP0, 0x70)]) + wait(LINES - 6)
    code += bytes([0x85, WSYNC]) + delay(first - 3) + bytes([0x85, RESP0]) + wait(3)
    code += bytes([0xA9, value, 0x85, WSYNC]) + delay(cycle - 3) + bytes([0x85, RESP0])
    return forever(code + (delay(since - 3) + bytes([0x85, register]) if since else b""))


def think(register: int) -> bytes:
    """Returns a loop that draws two frames, waits 60000 cycles and writes a register."""
    pause = bytes([0xA0, 48, 0xA2, 0, 0xCA, 0xD0, 0xFD, 0x88, 0xD0, 0xF8])
    show = store([(GRP0, 0xB5), (ENABL, 2)]) + wait(0) * 3
    change = bytes([0xE6, 0xE0, 0xA5, 0xE0, 0x85, register])
    return show + pause + change + bytes([0x4C, ENTRY, 0])


def stars(lines: int) -> bytes:
    """Returns a program that shows a field of stars, and stops it with HMOVE after some lines."""
    code = store([(WSYNC, 0), (ENAM0, 2), (HMM0, 0x70)]) + wait(LINES - 10)
    code += bytes([0xA9, 0x60, 0x85, WSYNC, 0x85, HMOVE]) + delay(18) + bytes([0x85, HMM0])
    return forever(code + wait(lines) + bytes([0x85, HMOVE]))


def subtract(digits: int, value: int, carry: int, opcode: int) -> bytes:
    """Returns a program that does decimal ADC or SBC and stores result and flags in RAM."""
    code = bytes([0xA2, 0xFF, 0x9A, 0xF8, 0x38 if carry else 0x18, 0xA9, digits, opcode, value])
    return forever(code + bytes([0x85, 0xE0, 0x08, 0xD8]))


def differing(ours: Ours, oracle: Oracle, sweep: Sweep | MovingSweep) -> list[Any]:
    """Returns the cycles at which a sweep's pictures differ."""
    return [
        cycle
        for cycle, program in sweep.programs()
        if not ours.run(program).same(oracle.run(program))
    ]


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of sweeps' names (default: all)")
    options = parser.parse_args()
    ours = Ours(atari_core.Library(atari_core.build()))
    oracle, wrong = Oracle(), 0
    for sweep in (*sweeps(), *reset_sweeps(), *motion_sweeps()):
        if options.names and not sweep.name.startswith(tuple(options.names)):
            continue
        cycles = differing(ours, oracle, sweep)
        wrong += bool(cycles)
        if cycles:
            print(f"{sweep.name}: differs at cycles {cycles}", flush=True)
    print(f"{wrong} sweeps differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
