"""prove-atari --carry: which changes of C sources leave the machine code as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from parallel_pool import __main__ as cli
from parallel_pool._families import atari_proofs
from parallel_pool._families.atari_proofs import Proof
from parallel_pool._prove_atari import carry, prepared, sources
from parallel_pool._prove_atari.carry import CannotCarry, Compiler, compare_trees
from parallel_pool._prove_atari.objects import Object

CHIP = """
#include "chip.h"
#include <math.h>
static const int table[4] = {3, 1, 4, 1};
static int calls;
const char *pp_chip_name(void) { return "TIA"; }
int pp_chip_read(int at) { calls++; return table[at & 3] + SHIFT; }
int pp_chip_peek(int at) { return table[at & 1]; }
double pp_chip_wave(double at) { return sin(at); }
"""
CONSOLE = """
#include "chip.h"
int pp_console_frame(int at) { /* reads */ return pp_chip_read(at) * 2; }
"""
HEADER = """
enum { SHIFT = 8 };
int pp_chip_read(int at);
int pp_chip_peek(int at);
"""


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal trees of sources; the second may be changed."""
    old, new = tmp_path / "old" / "csrc", tmp_path / "new" / "csrc"
    folder = old / "envs" / "atari"
    folder.mkdir(parents=True)
    for name, text in (("chip.c", CHIP), ("console.c", CONSOLE), ("chip.h", HEADER)):
        (folder / name).write_text(text)
    shutil.copytree(old, new)
    return old, new


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """The engine's compiler and flags, with a cache for these tests."""
    made = Compiler.of_checkout(sources.CSRC)
    return Compiler(made.command, tmp_path_factory.mktemp("objects"))


def edit(root: Path, old: str, new: str) -> None:
    """Replaces a text in all files."""
    texts = {path: path.read_text() for path in root.rglob("*") if path.is_file()}
    assert any(old in text for text in texts.values())
    for path, text in texts.items():
        path.write_text(text.replace(old, new))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/* reads */", "// a remark\n\n"),
        ("calls++", "++calls"),
        ("+ SHIFT", "+ 0x08"),
        ("table", "numbers"),
        ("pp_chip_read", "pp_tia_read"),
        ("int at", "int address, at = address"),
    ],
)
def test_the_same_machine_code_is_carried(
    trees: tuple[Path, Path], compiler: Compiler, old: str, new: str
) -> None:
    if "address" in new:
        old, new = "int at) { calls++; return table[at", "int to) { calls++; return table[to"
    edit(trees[1], old, new)
    compare_trees(*trees, compiler)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("SHIFT = 8", "SHIFT = 9", "chip.c: pp_chip_read differs"),
        ("{3, 1, 4, 1}", "{3, 1, 4, 2}", "chip.c: table differs"),
        ('"TIA"', '"TIB"', "chip.c: .rodata"),
        ("sin(", "cos(", "pp_chip_wave uses cos in place of sin"),
        ("return pp_chip_read", "return pp_chip_peek", "pp_console_frame uses pp_chip_peek in pla"),
        ("static int calls", "static short calls", "chip.c: "),
        ("static int calls", "int calls", "chip.c: "),
        ("at) * 2", "at) * 6", "console.c: pp_console_frame "),
        ("int pp_chip_peek(int at) {", "int more(void) { return 1; }\nint pp_chip_peek(int at) {"
         , "chip.c: "),
    ],
)  # fmt: skip
def test_other_machine_code_is_refused(
    trees: tuple[Path, Path], compiler: Compiler, old: str, new: str, words: str
) -> None:
    edit(trees[1], old, new)
    with pytest.raises(CannotCarry) as caught:
        compare_trees(*trees, compiler)
    assert words in str(caught.value)


@pytest.mark.slow
def test_a_file_may_get_another_name(trees: tuple[Path, Path], compiler: Compiler) -> None:
    folder = trees[1] / "envs" / "atari"
    (folder / "console").mkdir()
    (folder / "console.c").rename(folder / "console" / "frame.c")
    (folder / "chip.h").rename(folder / "tia.h")
    edit(folder, "chip.h", "tia.h")
    edit(folder / "console", "tia.h", "../tia.h")
    compare_trees(*trees, compiler)
    (folder / "more.c").write_text("int pp_more(void) { return 3; }")
    with pytest.raises(CannotCarry, match=r"more\.c: no old file has its machine code"):
        compare_trees(*trees, compiler)
    (folder / "more.c").unlink()
    (folder / "console" / "frame.c").unlink()
    with pytest.raises(CannotCarry, match=r"console\.c: no new file, or more than one, has"):
        compare_trees(*trees, compiler)


@pytest.mark.slow
def test_two_functions_that_swap_their_names_are_refused(
    trees: tuple[Path, Path], compiler: Compiler
) -> None:
    """Only where they are defined, so that a call reaches the other one."""
    path = trees[1] / "envs" / "atari" / "chip.c"
    text = path.read_text().replace("chip_read", "chip_x").replace("chip_peek", "chip_read")
    path.write_text(text.replace("chip_x", "chip_peek"))
    with pytest.raises(CannotCarry, match="pp_console_frame uses pp_chip_read in place of"):
        compare_trees(*trees, compiler)


@pytest.mark.slow
def test_a_file_that_does_not_compile_is_an_error(
    trees: tuple[Path, Path], compiler: Compiler
) -> None:
    edit(trees[1], "calls++", "calls+")
    with pytest.raises(CannotCarry, match=r"(?s)chip\.c.*error: expected expression"):
        compare_trees(*trees, compiler)


def rule_trees(folder: Path) -> tuple[Path, Path]:
    """Two copies of the sources, with the C files of one game's rule only."""
    roots = folder / "old", folder / "new"
    for root in roots:
        shutil.copytree(sources.CSRC / "include", root / "include")
        shutil.copytree(sources.CSRC / "base", root / "base")
        rules = Path("envs", "atari", "games", "rules")
        shutil.copytree(
            sources.CSRC / "envs" / "atari",
            root / "envs" / "atari",
            ignore=lambda at, names: [
                name for name in names if name.endswith(".c") and name != "pong.c"
            ],
        )
        assert (root / rules / "pong.c").exists()
    return roots


@pytest.mark.slow
def test_a_rule_of_a_game(tmp_path: Path, compiler: Compiler) -> None:
    old, new = rule_trees(tmp_path)
    path = new / "envs" / "atari" / "games" / "rules" / "pong.c"
    path.write_text("/* a remark */\n" + path.read_text())
    compare_trees(old, new, compiler)
    path.write_text(path.read_text().replace("== 21", "== 22"))
    with pytest.raises(CannotCarry, match=r"games/rules/pong\.c: step differs"):
        compare_trees(old, new, compiler)


def test_only_proofs_of_the_old_sources_are_carried() -> None:
    proof = Proof("pong", "md5", 9, (0,), (0,), "0.1", None, ("base",), "0123")
    table = {
        "pong": proof,
        "qbert": Proof("qbert", "md5", 9, (0,), (0,), "0.1", None, ("base",), "older"),
        "alien": Proof("alien", "md5", 9, (0,), (0,), "0.1"),
    }
    hashes: Callable[[str], str] = {"pong": "0123", "qbert": "4567", "alien": "89ab"}.__getitem__
    (found,) = carry.carried(table, hashes, lambda rom: "cdef")
    assert (found.rom, found.sources, found.frames) == ("pong", "cdef", 9)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Copies of both tables of proofs, which the command may write."""
    copies = []
    for name in ("PATH", "PLAYERS"):
        copies.append(tmp_path / getattr(atari_proofs, name).name)
        shutil.copy(getattr(atari_proofs, name), copies[-1])
        monkeypatch.setattr(atari_proofs, name, copies[-1])
    return copies[0], copies[1]


PREPARE = """
#include "chip.h"
int pp_prepare(int rom) { return rom + SHIFT; }
"""
PRINT = """
#include <stdio.h>
int pp_prepare(int rom);
int main(void) { printf("pong %d\\n", pp_prepare(5)); return 0; }
"""


@pytest.fixture
def preparing(trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both trees have a file that only prepares cartridges, and a program prints what it makes."""
    for root in trees:
        (root / "envs" / "atari" / "prepare.c").write_text(PREPARE)
        (root.parent / "print.c").write_text(PRINT)
    monkeypatch.setattr(prepared, "PROGRAM", Path("print.c"))
    monkeypatch.setattr(prepared, "FILES", ("envs/atari/prepare.c",))
    monkeypatch.setattr(prepared, "LINKED", ("envs/atari/prepare.c",))
    monkeypatch.setattr(prepared, "roms", list)


@pytest.mark.slow
def test_the_command_writes_the_tables_only_if_nothing_differs(
    trees: tuple[Path, Path],
    preparing: None,
    compiler: Compiler,
    tables: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    old, new = trees
    monkeypatch.setattr(carry, "checkout", lambda revision: old.parent)
    monkeypatch.setattr(carry, "digest_of", lambda folder: lambda rom, root: f"old {rom}")
    monkeypatch.setattr(carry.Compiler, "of_checkout", lambda csrc: compiler)
    monkeypatch.setattr(sources, "CSRC", new)
    monkeypatch.setattr(sources, "digest", lambda rom: f"new {rom}")
    proof = atari_proofs.read(tables[0])["pong"]
    atari_proofs.merge([replace(proof, sources="old pong")], tables[0])
    before = [path.read_text() for path in tables]

    edit(new, "SHIFT = 8", "SHIFT = 9")
    assert cli.main(["prove-atari", "--carry", "HEAD", "--jobs", "1"]) == 1
    assert "nothing is carried: envs/atari/chip.c: pp_chip_read differs" in capsys.readouterr().err
    assert [path.read_text() for path in tables] == before

    edit(new, "SHIFT = 9", "SHIFT = 8")
    edit(new, "rom + SHIFT", "rom * 3")
    assert cli.main(["prove-atari", "--carry", "HEAD", "--jobs", "1"]) == 1
    words = "nothing is carried: another cartridge: pong 15, where it was pong 13"
    assert words in capsys.readouterr().err
    assert [path.read_text() for path in tables] == before

    edit(new, "rom * 3", "rom * 3 - 2")
    edit(new, "SHIFT = 8", "SHIFT = 0x8")
    assert cli.main(["prove-atari", "--carry", "HEAD", "--jobs", "1"]) == 0
    assert "atari_proofs.json: 1 of 104 proofs carried" in capsys.readouterr().out
    assert atari_proofs.read(tables[0])["pong"].sources == "new pong"
    assert tables[1].read_text() == before[1]


def test_a_revision_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["prove-atari", "--carry", "no-such-revision"]) == 1
    assert "--carry no-such-revision: nothing is carried: git " in capsys.readouterr().err


def test_carrying_plays_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["pong"], ["--frames", "600"], ["--long"], ["--write"], ["--build", "v3"]):
        with pytest.raises(SystemExit):
            cli.main(["prove-atari", "--carry", "HEAD", *option])
        assert "--carry: plays nothing: leave out all others" in capsys.readouterr().err


def test_other_files_are_no_objects() -> None:
    with pytest.raises(ValueError, match="not a 64-bit little-endian ELF file"):
        Object(b"\xfe\xed\xfa\xcf")


@pytest.mark.slow
def test_files_with_the_same_machine_code_may_move(
    trees: tuple[Path, Path], compiler: Compiler
) -> None:
    for root, folder in zip(trees, ("rules", "moved"), strict=True):
        rules = root / "envs" / "atari" / folder
        rules.mkdir()
        for name in ("combat", "boxing"):
            (rules / f"{name}.c").write_text(f"int pp_{name}(void) {{ return 1; }}")
    compare_trees(*trees, compiler)
