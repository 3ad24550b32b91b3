"""Atari's Python side: finds a game's ROM in the installed ale-py package, without importing it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool.specs import Definition

INSTALL = "pip install parallel_pool[atari]"

# names of games that do not follow from the id
FILES = {"TicTacToe3D": "tic_tac_toe_3d"}


def complete(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the ROM of the definition's game, unless they have one.

    Raises:
        MissingDependencyError: ale-py is not installed, or has no such ROM.
    """
    if "rom" in options:
        return dict(options)
    return {**options, "rom": read_rom(rom_name(definition.id))}


def rom_name(env_id: str) -> str:
    """Returns ale-py's name of a task's game: "SpaceInvaders-v5" plays space_invaders."""
    game = env_id.rpartition("-")[0]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", game)
    return FILES.get(game, words.lower())


@cache
def read_rom(name: str) -> bytes:
    """Returns the ROM of a game, by ale-py's name of it.

    Raises:
        MissingDependencyError: ale-py is not installed, or has no such ROM.
    """
    # importing ale_py would start an emulator and register hundreds of environments
    spec = importlib.util.find_spec("ale_py")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            f"the ROM of {name} comes with ale-py, which is not installed: {INSTALL}"
        )
    folder = Path(spec.submodule_search_locations[0]) / "roms"
    try:
        return (folder / f"{name}.bin").read_bytes()
    except OSError as error:
        raise MissingDependencyError(
            f"the ROM of {name} can't be read from {folder} ({error.strerror}): {INSTALL}"
        ) from error
