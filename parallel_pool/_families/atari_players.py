"""Atari games of several players: finds their ROMs, and refuses those that are not proven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._families import atari
from parallel_pool.errors import UnprovenError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# ale-py's names of the ROMs of games that are called otherwise
ROMS = {
    "basketball_pong": "pong",
    "combat_plane": "combat",
    "combat_tank": "combat",
    "entombed_competitive": "entombed",
    "entombed_cooperative": "entombed",
    "foozpong": "pong",
    "quadrapong": "pong",
    "volleyball_pong": "pong",
}


# whose results the games equal
EMULATOR = "multi_agent_ale_py 0.1.12"

# what to do when a game is refused
ALTERNATIVE = (
    "PoolParallelEnv over functions that make PettingZoo's own game plays it, in worker processes"
)


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the ROM of the definition's game, unless they have one.

    Raises:
        MissingDependencyError: ale-py is not installed, or has no such ROM.
        UnprovenError: our console is not proven to play this game as multi_agent_ale_py does.
    """
    rom = options["rom"] if "rom" in options else atari.read_rom(rom_of(definition.variant))
    if isinstance(rom, (bytearray, memoryview)):
        # a copy, so that the bytes that were checked are those that are played
        rom = bytes(rom)
    why = atari.reason(definition.id.rpartition("/")[2], rom)
    if why is not None:
        raise UnprovenError(f"{definition.id} is refused because {why}: {ALTERNATIVE}")
    return {**options, "rom": rom}


def rom_of(game: str) -> str:
    """Returns ale-py's name of a game's ROM."""
    return ROMS.get(game, game)
