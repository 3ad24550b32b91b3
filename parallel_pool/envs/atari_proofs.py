"""The table of Atari ROMs on which our console was played side by side with ale_py.

`python -m parallel_pool prove-atari --write` writes it; nobody types it.
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

_proving: ContextVar[bool] = ContextVar("proving", default=False)


@dataclass(frozen=True)
class Proof:
    """What came of playing one ROM.

    Attributes:
        rom: ale_py's name of the game.
        md5: of the ROM.
        frames: compared, until the first difference if there is one.
        modes, difficulties: those that were played.
        ale_py: its version.
        difference: the first one, in words; None if there was none.
    """

    rom: str
    md5: str
    frames: int
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    ale_py: str
    difference: str | None = None


def reason(rom: str, program: bytes) -> str | None:
    """Says why our console should not play this program; None if it is proven to be exact.

    Args:
        rom: ale_py's name of the game.
        program: the ROM.
    """
    if _proving.get():
        return None
    proof = committed().get(rom)
    if proof is None:
        return f"{rom} was never compared with ale_py: python -m parallel_pool prove-atari {rom}"
    digest = md5(program)
    if digest != proof.md5:
        return f"this ROM of {rom} (md5 {digest}) is not the one that was proven (md5 {proof.md5})"
    return proof.difference and f"{rom} differs from ale_py {proof.ale_py}: {proof.difference}"


@contextlib.contextmanager
def proving() -> Iterator[None]:
    """In here every ROM may be played, so that there can be a first proof of it."""
    token = _proving.set(True)
    try:
        yield
    finally:
        _proving.reset(token)


def md5(program: bytes) -> str:
    """Returns the name by which Atari's ROMs are known, in hexadecimal."""
    return hashlib.md5(program, usedforsecurity=False).hexdigest()


# -------------------------------------------------------------------------------------- table --


@cache
def committed() -> Mapping[str, Proof]:
    """Returns the table that came with the package, by ROM."""
    return read(PATH)


def read(path: Path) -> dict[str, Proof]:
    """Returns a table by ROM, an empty one if there is no file yet.

    Raises:
        OSError: the file can't be read.
        ValueError: it is no such table.
    """
    if not path.exists():
        return {}
    found = {}
    try:
        for rom, row in json.loads(path.read_text()).items():
            played = {name: tuple(row[name]) for name in ("modes", "difficulties")}
            found[rom] = Proof(rom, **{**row, **played})
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise ValueError(f"{path} is no table of proofs ({kind}: {error})") from error
    return found


def merge(proofs: Iterable[Proof], path: Path) -> None:
    """Puts proofs into a table, in the place of older ones of the same ROMs.

    Whatever interrupts it, the file is the old table or the new one. Processes that do so at the
    same time wait for each other.

    Raises:
        OSError, ValueError: the file can't be read or written, or is no such table.
    """
    with _alone(path.parent):
        table = read(path) | {proof.rom: proof for proof in proofs}
        # a file beside it, for only within a file system does one take another's place at once
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
def _alone(folder: Path) -> Iterator[None]:
    """No other process is in here for the same folder; the lock ends with its process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def text(table: Mapping[str, Proof]) -> str:
    """Writes a table as JSON, a line for each ROM, which is how differences are read."""
    lines = []
    for rom in sorted(table):
        row = {name: value for name, value in asdict(table[rom]).items() if name != "rom"}
        lines.append(f"{json.dumps(rom)}: {json.dumps(row)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
