"""Carries proofs over a change of the C sources that changes no machine code.

A proof is about what the console does, and its row holds the hash of the sources (sources.py). A
new name or another way to write the same makes another hash, although the program is the same. So
`prove-atari --carry REVISION` compiles all Atari sources of a git revision and of the working tree,
for every instruction set, with the flags of the engine. If the objects are equal byte by byte but
for the names of symbols (objects.py), what was proven of the old sources holds for the new ones:
they are one program. Proofs of the old sources then get the hash of the new ones; a proof that was
older stays old.

The objects of files that only prepare cartridges may differ if the cartridges are equal
(prepared.py).

A change of the files that no proof covers, such as those of the APIs, is refused, too, as they hold
inlined code of the console: commit it before or after.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from parallel_pool._families import atari_proofs
from parallel_pool._families.atari_proofs import Proof
from parallel_pool._prove_atari import prepared, sources
from parallel_pool._prove_atari.objects import Differs, Names, Object, compare

# the files of C whose objects are compared: those with the hashed ones, and all that include them
COMPILED = ("envs/atari/**/*.c", "base/mt19937.c")


class CannotCarry(Exception):
    """The proofs can't be carried; the message says why."""


@dataclass(frozen=True)
class Compiler:
    """Compiles files of C, each text once.

    Attributes:
        command: the compiler and its flags, without those that name a folder of sources.
        cache: the folder of the objects.
    """

    command: Sequence[str]
    cache: Path

    @staticmethod
    def of_checkout(csrc: Path) -> Compiler:
        """Returns the compiler of the engine, with its flags."""
        script = csrc.parent / "build_ffi.py"
        words = shlex.split(_output([sys.executable, str(script), "--compiler"]))
        command = [word for word in words if not word.startswith(f"-I{csrc}")]
        return Compiler(command, csrc.parent / "build" / "carry")

    def compile(self, csrc: Path, path: Path) -> Path:
        """Returns the object file of a source, with the headers of a tree."""
        command = [*self.command, f"-I{csrc / 'include'}", f"-I{csrc}"]
        # without lines, the object depends on nothing else
        text = _output([*command, "-w", "-E", "-P", str(path)])
        key = hashlib.sha256("\0".join([*self.command, text]).encode()).hexdigest()
        target = self.cache / f"{key}.o"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            partial_file = target.with_suffix(f".{os.getpid()}.partial")
            _output([*command, "-w", "-g0", "-c", str(path), "-o", str(partial_file)])
            partial_file.replace(target)
        return target

    def link(self, objects: Sequence[Path], name: str) -> Path:
        """Returns a program of objects."""
        program = self.cache / name
        _output([*self.command, *map(str, objects), "-o", str(program)])
        return program


def _output(command: Sequence[str]) -> str:
    """Returns what a command prints; CannotCarry if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotCarry(f"{shlex.join(command)}\n{done.stderr.strip()}")
    return done.stdout


# ----------------------------------------------------------------------------------- comparison --


def compare_trees(
    old: Path,
    new: Path,
    compiler: Compiler,
    jobs: int = 1,
    compiled: Callable[[str], None] = lambda name: None,
) -> None:
    """Raises CannotCarry, with file and function, unless two trees of sources are one program.

    Args:
        old, new: folders like csrc.
        compiled: called with the name of each file of the new tree once it is compiled.
    """
    before, after = (_compile_all(root, compiler, jobs, compiled) for root in (old, new))
    names = Names()
    for name, other in _pairs(before, after):
        try:
            compare(before[name], after[other], names)
        except Differs as error:
            raise CannotCarry(f"{other}: {error}") from error
    try:
        names.check()
    except Differs as error:
        raise CannotCarry(str(error)) from error


def _compile_all(
    csrc: Path, compiler: Compiler, jobs: int, compiled: Callable[[str], None]
) -> dict[str, Object]:
    """Returns the objects of a tree, by the paths of their files in it."""
    paths = sorted(_files(csrc, COMPILED) - _files(csrc, prepared.FILES))
    # the largest take minutes: first
    paths.sort(key=lambda path: "machine" not in path.name)

    def one(path: Path) -> tuple[str, Object]:
        made = compiler.compile(csrc, path)
        compiled(str(path.relative_to(csrc)))
        return path.relative_to(csrc).as_posix(), Object(made.read_bytes())

    with ThreadPoolExecutor(jobs) as pool:
        return dict(sorted(pool.map(one, paths)))


def _files(csrc: Path, patterns: Iterable[str]) -> set[Path]:
    return {path for pattern in patterns for path in csrc.glob(pattern)}


def _pairs(before: Mapping[str, Object], after: Mapping[str, Object]) -> Iterable[tuple[str, str]]:
    """Yields each old file with its new one; a file that was renamed is found by its object."""
    missing = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    for name in before:
        if name in after:
            yield name, name
    for name in missing:
        found = [each for each in added if _is_equal(before[name], after[each])]
        # rules of two games may be the same
        found = [each for each in found if Path(each).name == Path(name).name] or found
        if len(found) != 1:
            raise CannotCarry(f"{name}: no new file, or more than one, has its machine code")
        added.remove(found[0])
        yield name, found[0]
    if added:
        raise CannotCarry(f"{added[0]}: no old file has its machine code")


def _is_equal(old: Object, new: Object) -> bool:
    try:
        compare(old, new, Names())
    except Differs:
        return False
    return True


def compare_cartridges(old: Path, new: Path, compiler: Compiler) -> int:
    """Raises CannotCarry, with the ROM, unless two trees make the same cartridges of all ROMs.

    Returns:
        the number of cartridges.
    """
    roms = prepared.write(compiler.cache / "roms", prepared.roms())
    try:
        before, after = (prepared.lines_of(_program(csrc, compiler), roms) for csrc in (old, new))
        prepared.compare(before, after)
    except (prepared.CartridgesDiffer, subprocess.CalledProcessError) as error:
        raise CannotCarry(str(error)) from error
    return len(after)


def _program(csrc: Path, compiler: Compiler) -> Path:
    """Returns the program that prints a tree's cartridges."""
    paths = sorted(_files(csrc, prepared.LINKED))
    objects = [compiler.compile(csrc, path) for path in (csrc.parent / prepared.PROGRAM, *paths)]
    return compiler.link(objects, f"cartridges-{hashlib.sha256(bytes(csrc)).hexdigest()[:8]}")


# --------------------------------------------------------------------------------------- proofs --


def carried(
    table: Mapping[str, Proof], old: Callable[[str], str | None], new: Callable[[str], str | None]
) -> list[Proof]:
    """Returns the proofs that were of the old sources, with the hash of the new ones.

    Args:
        old, new: return the hash of a game's sources, before and after the change.
    """
    return [
        replace(proof, sources=new(proof.rom))
        for proof in table.values()
        if proof.sources is not None and proof.sources == old(proof.rom)
    ]


def run(revision: str, jobs: int) -> int:
    """Carries all proofs from a git revision to the working tree; returns the exit status."""
    try:
        old = checkout(revision)
        compiler = Compiler.of_checkout(sources.CSRC)
        compare_trees(old / "csrc", sources.CSRC, compiler, jobs, _show)
        count = compare_cartridges(old / "csrc", sources.CSRC, compiler)
        print(f"{count} cartridges are equal")
        digest = partial(digest_of(old), root=old / "csrc")
        for path in (atari_proofs.PATH, atari_proofs.PLAYERS):
            table = atari_proofs.read(path)
            proofs = carried(table, digest, sources.digest)
            atari_proofs.merge(proofs, path)
            print(f"{path.name}: {len(proofs)} of {len(table)} proofs carried")
    except (CannotCarry, OSError, ValueError) as error:
        print(f"--carry {revision}: nothing is carried: {error}", file=sys.stderr)
        return 1
    return 0


def _show(name: str) -> None:
    print(f"compiled {name}", flush=True)


def checkout(revision: str) -> Path:
    """Returns a folder with the sources of a git revision, and with the code that hashes them."""
    root = sources.CSRC.parent
    git = ["git", "-C", str(root)]
    commit = _output([*git, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]).strip()
    folder = root / "build" / "carry" / commit
    if not (folder / "csrc").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = [*git, "archive", commit, "csrc", "parallel_pool/_prove_atari"]
        _output(["sh", "-c", f"{shlex.join(archive)} | tar -x -C {shlex.quote(str(folder))}"])
    return folder


def digest_of(folder: Path) -> Callable[..., str | None]:
    """Returns the function of a checkout that hashes its sources, as it was then."""
    path = folder / "parallel_pool" / "_prove_atari" / "sources.py"
    spec = importlib.util.spec_from_file_location("parallel_pool_old_sources", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise CannotCarry(f"{path} does not run with this package: {error}") from error
    digest: Callable[..., str | None] = module.digest
    return digest
