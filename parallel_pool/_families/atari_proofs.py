"""The tables of Atari games on which our console was compared with ale_py's.

`python -m parallel_pool prove-atari --write` writes them, the second with --players; they are never
edited by hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("atari_proofs.json")
# PettingZoo's games of several players
PLAYERS = Path(__file__).with_name("atari_players_proofs.json")

_proving: ContextVar[bool] = ContextVar("proving", default=False)


@dataclass(frozen=True)
class Proof:
    """The result of the proof of one ROM.

    Attributes:
        rom: ale_py's name of the game, or PettingZoo's, such as pong_v3.
        md5: of the ROM, in hexadecimal.
        frames: number of frames compared, up to the first difference.
        modes, difficulties: those that were played.
        ale_py: the version of ale_py; or multi_agent_ale_py and its version.
        difference: the first difference, in words; None if there was none.
        builds: the builds of our console that were compared (prove_atari/builds.py).
        sources: the hash of the C sources (prove_atari/sources.py); None: they were not at hand.
        score, longest: how far play got: the highest score with which a game ended, and the number
            of frames of the longest game.
        unbroken: the number of frames of the longest play in which the console stayed on.
    """

    rom: str
    md5: str
    frames: int
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    ale_py: str
    difference: str | None = None
    builds: tuple[str, ...] = ()
    sources: str | None = None
    score: int = 0
    longest: int = 0
    unbroken: int = 0


def reason(rom: str, program: bytes) -> str | None:
    """Returns why our console must not play this program, in words; None if it is proven exact.

    Args:
        rom: ale_py's name of the game.
        program: the ROM.
    """
    if _proving.get():
        return None
    proof = (committed() | committed(PLAYERS)).get(rom)
    if proof is None:
        return f"{rom} was never compared with ale_py: python -m parallel_pool prove-atari {rom}"
    digest = md5(program)
    if digest != proof.md5:
        return f"this ROM of {rom} (md5 {digest}) is not the one that was proven (md5 {proof.md5})"
    return proof.difference and f"{rom} differs from ale_py {proof.ale_py}: {proof.difference}"


@contextlib.contextmanager
def proving() -> Iterator[None]:
    """Within this context every ROM may be played, as its proof must."""
    token = _proving.set(True)
    try:
        yield
    finally:
        _proving.reset(token)


def md5(program: bytes) -> str:
    """Returns the MD5 digest of a program, in hexadecimal: Atari ROMs are identified by it."""
    return hashlib.md5(program, usedforsecurity=False).hexdigest()


# -------------------------------------------------------------------------------------- table --


@cache
def committed(path: Path = PATH) -> dict[str, Proof]:
    """Returns one of the package's tables, by game."""
    return read(path)


def read(path: Path) -> dict[str, Proof]:
    """Returns a table, by ROM; an empty one if the file does not exist.

    Raises:
        OSError: the file can't be read.
        ValueError: the file is not a table of proofs.
    """
    if not path.exists():
        return {}
    found = {}
    try:
        for rom, row in json.loads(path.read_text()).items():
            lists = {name: tuple(each) for name, each in row.items() if isinstance(each, list)}
            found[rom] = Proof(rom, **{**row, **lists})
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise ValueError(f"{path} is not a table of proofs ({kind}: {error})") from error
    return found


def merge(proofs: Iterable[Proof], path: Path) -> None:
    """Writes proofs into a table; they replace older ones of the same ROMs.

    If it is interrupted, the file is the old table or the new one. Processes that write the same
    table at the same time wait for each other.

    Raises:
        OSError, ValueError: the file can't be read or written, or is not a table of proofs.
    """
    with _locked(path.parent):
        table = read(path) | {proof.rom: proof for proof in proofs}
        # in the same folder, because a replacement is atomic only within a file system
        handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with open(handle, "w") as file:
                file.write(text(table))
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Excludes other processes that use the same folder; the lock ends with its process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def text(table: Mapping[str, Proof]) -> str:
    """Returns a table as JSON, with one line for each ROM, so that a diff is readable."""
    lines = []
    for rom in sorted(table):
        row = {name: value for name, value in asdict(table[rom]).items() if name != "rom"}
        lines.append(f"{json.dumps(rom)}: {json.dumps(row)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
