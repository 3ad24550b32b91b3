"""Finds ROMs in the installed ale-py package without importing it; refuses unproven ones."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._families import atari_proofs
from parallel_pool.errors import MissingDependencyError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

INSTALL = "pip install 'parallel_pool[atari]'"

# the sizes of ROMs in bytes, as in mapper.c; dumps of cartridges with a DPC chip vary in size
SIZES = frozenset({2048, 4096, 8192, 16384, *range(10240, 10497)})

# what to do when a ROM is refused
ALTERNATIVE = "parallel_pool.make_vec('ALE/<Game>-v5') plays it through ale_py, in worker processes"


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the ROM of the definition's game, unless they have one.

    Raises:
        MissingDependencyError: ale-py is not installed, or has no such ROM.
        UnprovenError: our console is not proven to play this ROM as ALE does.
    """
    name = definition.variant
    rom = options["rom"] if "rom" in options else read_rom(name)
    if isinstance(rom, (bytearray, memoryview)):
        # a copy, so that the bytes that were checked are those that are played
        rom = bytes(rom)
    why = reason(name, rom)
    if why is not None:
        cure = f"without rom, {ALTERNATIVE}" if "rom" in options else ALTERNATIVE
        raise UnprovenError(f"{definition.id} is refused because {why}: {cure}")
    return {**options, "rom": rom}


def reason(name: str, rom: Any) -> str | None:
    """Returns why our console must not play a game, in words; None if it may.

    Args:
        name: ale-py's name of the game.
        rom: its program.
    """
    if not isinstance(rom, (bytes, bytearray, memoryview)) or memoryview(rom).nbytes not in SIZES:
        # the check of options refuses it
        return None
    return atari_proofs.reason(name, bytes(rom))


@cache
def read_rom(name: str) -> bytes:
    """Returns the ROM of a game, by ale-py's name of it.

    Raises:
        MissingDependencyError: ale-py is not installed, has no such ROM, or a damaged one.
    """
    # importing ale_py would start an emulator and register hundreds of environments
    spec = importlib.util.find_spec("ale_py")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            f"the ROM of {name} comes with ale-py, which is not installed: {INSTALL}"
        )
    folder = Path(spec.submodule_search_locations[0]) / "roms"
    try:
        rom = (folder / f"{name}.bin").read_bytes()
    except OSError as error:
        raise MissingDependencyError(
            f"the ROM of {name} can't be read from {folder} ({error.strerror}): {INSTALL}"
        ) from error
    if len(rom) not in SIZES:
        raise MissingDependencyError(
            f"the ROM of {name} in {folder} is damaged: it has {len(rom)} bytes, as no cartridge"
            " has: pip install --force-reinstall ale-py"
        )
    return rom
